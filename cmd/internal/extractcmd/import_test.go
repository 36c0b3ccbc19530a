package extractcmd

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/test"
)

// dumpFiles writes files of calls into a folder, and returns the folder.
func dumpFiles(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	start := time.Now().AddDate(0, 0, -9).UnixMilli()
	detail := func(id string) string {
		return fmt.Sprintf(`{"id":%q,"status":"ended","start_at":%d,"end_at":%d,"transcript":[{"role":"user","content":"of %s"}]}`, id, start, start+1000, id)
	}
	whole := detail("one") + "\n" + detail("two") + "\n"
	squeezed, err := parquet.Zstd.Encode(nil, []byte(detail("four")))
	test.OK(t, err)
	for name, content := range map[string][]byte{
		"whole.ndjson": []byte(whole), "bad.ndjson": []byte(detail("one") + "\nno call\n"),
		"packed.ndjson.gz": []byte(packed(detail("three"))), "squeezed.ndjson.zst": squeezed, "false.gz": []byte(whole),
	} {
		test.OK(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	return dir
}

func TestImport(t *testing.T) {
	dir := dumpFiles(t)
	for _, c := range []struct {
		name, stdin    string
		args           string // DIR is the folder of the files
		code           int
		stderr         string // must contain this
		calls, outcome string // of the warehouse, if there is one
	}{
		{"one file", "", "DIR/whole.ndjson", 0, "2 new, 0 changed", "one two", schema.OutcomeDone},
		{"several files", "", "DIR/whole.ndjson DIR/packed.ndjson.gz DIR/squeezed.ndjson.zst", 0, "4 new, 0 changed", "one two three four", schema.OutcomeDone},
		{"standard input", `{"id":"five","start_at":1763500000000}`, "-", 0, "1 new", "five", schema.OutcomeDone},
		{"an empty transcript", `{"id":"five","start_at":1763500000000,"status":"ended","transcript":[]}`, "-", 0, "1 pending", "five", schema.OutcomeDone},
		{"that says so", `{"id":"five","start_at":1763500000000,"status":"ended","transcript":[]}`, "--details -", 0, "0 pending", "five", schema.OutcomeDone},
		{"a bad line", "", "DIR/bad.ndjson", 3, "bad.ndjson:2: cannot be decoded: not a JSON object", "one", schema.OutcomeIncomplete},
		{"no file", "", "DIR/none.ndjson", 2, "does not exist", "", ""},
		{"a folder", "", "DIR", 2, "is a folder", "", ""},
		{"not compressed after all", "", "DIR/false.gz", 0, "2 new", "one two", schema.OutcomeDone},
		{"no files", "", "", 2, "no files given", "", ""},
		{"a bad date", "", "--as-of tomorrow DIR/whole.ndjson", 2, "--as-of", "", ""},
		{"quiet", "", "-q DIR/whole.ndjson", 0, "", "one two", schema.OutcomeDone},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "w")
			args := strings.Fields("import --warehouse " + root + " " + strings.ReplaceAll(c.args, "DIR", dir))
			code, stdout, stderr := call(t, c.stdin, args...)
			if code != c.code || stdout != "" || !strings.Contains(stderr, c.stderr) {
				t.Errorf("exit %d, stdout %q, stderr:\n%s", code, stdout, stderr)
			}
			if c.name == "quiet" && stderr != "" {
				t.Errorf("it says %q", stderr)
			}
			snapshot, err := layout.Current(root)
			if (err == nil) != (c.outcome != "") {
				t.Fatalf("snapshot: %v", err)
			}
			if err != nil {
				return
			}
			want := strings.Fields(c.calls)
			test.Same(t, int64(len(want)), snapshot.Manifest.Rows(schema.Calls.Name), "calls")
			for _, id := range want {
				if code, out, _ := call(t, "", "show", id, "--warehouse", root); code != 0 || !strings.Contains(out, `"id":"`+id+`"`) {
					t.Errorf("show %s: exit %d, %s", id, code, out)
				}
			}
			if code, out, _ := call(t, "", "verify", "--warehouse", root); code != 0 {
				t.Errorf("verify: exit %d, %s", code, out)
			}
		})
	}
}

// An import reports unexpected values as a run does: a line, and the counts in its row of runs.
func TestImportReportsDrift(t *testing.T) {
	root := filepath.Join(t.TempDir(), "w")
	body := `{"id":"a","start_at":"2026-10-25T10:00:00.123456+00:00","call_cost":{"total_cost":"1,200.50"},"call_analysis":{"summary":"caf` + "\xe9" + `"}}`
	code, _, stderr := call(t, body, "import", "-", "--warehouse", root)
	if code != 0 || !strings.Contains(stderr, "drift        3 unexpected values: (body) replaced 1, call_cost.total_cost misfit 1, start_at converted 1\n") {
		t.Errorf("exit %d, %s", code, stderr)
	}
	_, out, _ := call(t, "", "status", "--warehouse", root, "--format", "json")
	if !strings.Contains(out, `"last_run_drift": 3`) || !strings.Contains(out, `"call_cost.total_cost: misfit": 1`) {
		t.Error(out)
	}
}

func packed(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text)) // it cannot fail
	_ = z.Close()
	return b.String()
}

// Compressed files and other line ends are read. Of a file in another form nothing is committed.
func TestImportOfOtherForms(t *testing.T) {
	lines := ""
	var list []string
	for i := range 3 {
		one := fmt.Sprintf(`{"id":"c%d","status":"ended","start_at":1793000000000,"end_at":1793000001000,"metadata":{"a":[{"b":1}]}}`, i)
		lines, list = lines+one+"\n", append(list, one)
	}
	squeezed, err := parquet.Zstd.Encode(nil, []byte(lines))
	test.OK(t, err)
	array := "[" + strings.Join(list, ",") + "]"
	for _, c := range []struct {
		name, content string
		code          int
		hint          string
	}{
		{"gzip under another name", packed(lines), 0, ""},
		{"zstd under another name", string(squeezed), 0, ""},
		{"gzip in two parts", packed(list[0]+"\n") + packed(list[1]+"\n"+list[2]), 0, ""},
		{"Windows line ends", strings.ReplaceAll(lines, "\n", "\r\n"), 0, ""},
		{"joined files with byte order marks", "\uFEFF" + lines + "\uFEFF" + lines, 0, ""},
		{"zstd after a frame to skip", "\x50\x2a\x4d\x18\x04\x00\x00\x00skip" + string(squeezed), 0, ""},
		{"gzip padded with zeros", packed(lines) + strings.Repeat("\x00", 512), 1, "committed: 3 whole lines; the file is cut off or damaged: get it again"},
		{"an array", "\uFEFF\n" + array, 3, "nothing was committed: each line must be the JSON object of one call; jq -c '.[]' FILE makes"},
		{"a packed page of v2", packed(`{"calls":[` + list[0] + `]}`), 3, "nothing was committed"},
		{"JSON over lines", "{\n  \"id\": \"c0\",\n  \"start_at\": 1\n}\n", 3, "nothing was committed"},
		{"UTF-16", "\xff\xfe{\x00\"\x00", 3, "nothing was committed"},
		{"CSV", "id,status\nc0,ended\n", 3, "nothing was committed"},
		{"empty", "", 0, "the input is empty"},
		{"a first line that is no call", "Fetching, wait\n" + lines, 3, "committed: 3 whole lines"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			root, file := filepath.Join(dir, "w"), filepath.Join(dir, "calls")
			test.OK(t, os.WriteFile(file, []byte(c.content), 0o600))
			code, _, stderr := call(t, "", "import", file, "--warehouse", root)
			if code != c.code || !strings.Contains(stderr, c.hint) {
				t.Errorf("exit %d, %s", code, stderr)
			}
			snapshot, err := layout.Current(root)
			if c.code == 0 && c.content != "" && (err != nil || snapshot.Manifest.Rows(schema.Calls.Name) != 3) {
				t.Errorf("it is not imported: %v", err)
			}
			// The same content is recognized in a pipe.
			if code, _, stderr := call(t, c.content, "import", "-", "--warehouse", root); code != c.code {
				t.Errorf("from a pipe: exit %d, %s", code, stderr)
			}
		})
	}
}

// The whole lines before the end of a file that is cut off are committed, and the last line says so.
func TestImportOfACutFile(t *testing.T) {
	var text bytes.Buffer
	for i := range 3000 {
		fmt.Fprintf(&text, `{"id":"c%d","start_at":%d}`+"\n", i, 1793000000000+i*7919)
	}
	squeezed, err := parquet.Zstd.Encode(nil, text.Bytes())
	test.OK(t, err)
	for name, content := range map[string][]byte{"x.gz": []byte(packed(text.String())), "x.zst": squeezed} {
		for _, part := range []int{1, 50, 90} {
			dir := t.TempDir()
			root, file := filepath.Join(dir, "w"), filepath.Join(dir, name)
			test.OK(t, os.WriteFile(file, content[:len(content)*part/100], 0o600))
			code, _, stderr := call(t, "", "import", file, "--warehouse", root)
			snapshot, err := layout.Current(root)
			test.OK(t, err)
			n := snapshot.Manifest.Rows(schema.Calls.Name)
			want := map[bool]string{true: "nothing was committed", false: "committed: " + cli.Plural(n, "whole line")}[n == 0]
			if code != 1 || !strings.Contains(stderr, "cut off") || !strings.Contains(stderr, want) || n == 3000 || part == 90 && n == 0 && name == "x.gz" {
				t.Errorf("%d %% of %s: exit %d, %d calls, %s", part, name, code, n, stderr)
			}
		}
	}
}
