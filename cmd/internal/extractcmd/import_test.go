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

	"github.com/DataDog/zstd"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
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
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte(detail("three"))); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	squeezed, err := zstd.Compress(nil, []byte(detail("four")))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"whole.ndjson": []byte(whole), "bad.ndjson": []byte(detail("one") + "\nno call\n"),
		"packed.ndjson.gz": packed.Bytes(), "squeezed.ndjson.zst": squeezed, "false.gz": []byte(whole),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
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
		{"strict", "", "--strict DIR/whole.ndjson", 0, "2 new", "one two", schema.OutcomeDone},
		{"strict, a bad line", "", "--strict DIR/whole.ndjson DIR/bad.ndjson", 1, "nothing was imported", "", ""},
		{"strict, standard input", "", "--strict -", 2, "write it to a file first", "", ""},
		{"no file", "", "DIR/none.ndjson", 2, "does not exist", "", ""},
		{"a folder", "", "DIR", 2, "is a folder", "", ""},
		{"not compressed after all", "", "DIR/false.gz", 1, "unpack", "", schema.OutcomeFailed},
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
			if n := snapshot.Manifest.Rows(schema.Calls.Name); n != int64(len(want)) {
				t.Errorf("%d calls", n)
			}
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

// However a call gets or loses its start, from newer or older data, in one import or in several, its
// rows are in the file of the day it started, or of the day it was first seen.
func TestImportPlacesCalls(t *testing.T) {
	dir, now := t.TempDir(), time.Now().UTC().Truncate(24*time.Hour)
	file := func(name string, age int, start string) string {
		path := filepath.Join(dir, name)
		at := now.AddDate(0, 0, -age)
		if err := os.WriteFile(path, []byte(`{"id":"c","status":"ended"`+start+"}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var files []string
	for i, start := range []string{"", `,"start_at":null`, fmt.Sprintf(`,"start_at":%d`, now.AddDate(0, 0, -60).UnixMilli())} {
		files = append(files, file(fmt.Sprint("new", i), 5, start), file(fmt.Sprint("old", i), 15, start))
	}
	for _, a := range files {
		for _, b := range files {
			if a == b {
				continue
			}
			for _, imports := range [][]string{{a, b}, {a + " " + b}} {
				root := filepath.Join(t.TempDir(), "w")
				for _, names := range imports {
					if code, _, stderr := call(t, "", append([]string{"import", "-q", "--warehouse", root}, strings.Fields(names)...)...); code != 0 {
						t.Fatalf("%s: exit %d, %s", names, code, stderr)
					}
				}
				if code, out, _ := call(t, "", "verify", "--warehouse", root); code != 0 {
					t.Errorf("%s: verify: exit %d, %s", strings.Join(imports, ", then "), code, out)
				}
			}
		}
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
	if !strings.Contains(out, `"drift": 3`) || !strings.Contains(out, `"call_cost.total_cost: misfit": 1`) {
		t.Error(out)
	}
}
