package extractcmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/cmdtest"
	"callhouse/internal/layout"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/test"
)

// tended creates a warehouse with two runs: two old calls, one of which the second run changed.
func tended(t *testing.T) (root string) {
	t.Helper()
	root = filepath.Join(t.TempDir(), "w")
	start := time.Now().AddDate(0, -3, 0).UTC()
	for n := range 2 {
		now := time.Now().Add(time.Duration(n-9) * time.Minute)
		w, err := sink.Open(sink.Options{Root: root, RunID: layout.RunID(now, uint32(n)), Now: func() time.Time { return now }})
		test.OK(t, err)
		for i, id := range []string{"one", "two"}[n:] {
			at := start.AddDate(0, 0, i).UnixMilli()
			body := fmt.Sprintf(`{"id":%q,"status":"ended","from_number":"+5550100","to_number":"1","start_at":%d,"end_at":%d,`+
				`"transcript":[{"role":"user","content":"run %d"}]}`, id, at, at+1000, n)
			rec := schema.Record{Kind: schema.KindDetail, CallID: id, FetchedAt: now.UnixMilli(), Body: []byte(body)}
			test.OK(t, w.Put(t.Context(), rec))
		}
		err = w.Commit(t.Context(), func(s sink.Stats, _ int64) schema.Run {
			return schema.Run{ID: w.RunID(), StartedAt: now.UnixMilli(), Outcome: schema.OutcomeDone, CallsNew: s.New}
		})
		test.OK(t, err)
		test.OK(t, w.Close())
	}
	return root
}

// call runs extract, and returns its exit code and output.
func call(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Run(context.Background(), cmdtest.Env(), args, strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}

func TestMaintenance(t *testing.T) {
	month := time.Now().AddDate(0, -3, 0).UTC().Format("2006-01")
	root := ""
	for _, c := range []struct {
		name           string
		args           string
		code           int
		stdout, stderr string // must contain these
	}{
		{"verify", "verify", 0, "OK: ", ""},
		{"verify as JSON", "verify --format json", 0, `"problem_list": []`, ""},
		{"verify in another format", "verify --format xml", 2, "", "--format takes text or json"},
		{"verify with an argument", "verify it", 2, "", `takes no arguments, got "it"`},
		{"show", "show two", 0, `"content":"run 1"`, ""},
		{"show nobody", "show three", 1, "", `no call "three" in snapshot 2`},
		{"show nothing", "show", 2, "", "show requires the id of one call"},
		{"compact", "compact", 0, "", "compacted " + month},
		{"compact quietly", "compact -q", 0, "", ""},
		{"list the snapshots", "rollback --list", 0, "SNAPSHOT  COMMITTED", ""},
		{"rollback", "rollback", 0, "", "snapshot 3 restores snapshot 1: 2 calls"},
		{"rollback to", "rollback --to 1", 0, "", "snapshot 3 restores snapshot 1"},
		{"rollback to its folder", "rollback --to 000001", 0, "", "snapshot 3 restores snapshot 1"},
		{"rollback to the current one", "rollback --to 2", 0, "", "snapshot 2 is the current one: nothing to do"},
		{"rollback to the current folder", "rollback --to=000002", 0, "", "snapshot 2 is the current one: nothing to do"},
		{"rollback to nowhere", "rollback --to 9", 2, "", "snapshot 9 does not exist\n         nothing was changed; extract rollback --warehouse /"},
		{"rollback in decimal", "rollback --to 000010", 2, "", "snapshot 10 does not exist"},
		{"rollback to zero", "rollback --to 0", 2, "", "--to requires the number of a snapshot"},
		{"rollback to less", "rollback --to -1", 2, "", "--to requires the number of a snapshot"},
		{"rollback to a word", "rollback --to current", 2, "", `--to requires the number of a snapshot, got "current"`},
		{"rollback to an empty word", "rollback --to=", 2, "", `--to requires the number of a snapshot, got ""`},
		{"forget nothing", "forget --yes", 2, "", "no calls selected"},
		{"forget an empty id", "forget --yes --call-id=", 2, "", "must not be empty"},
		{"forget without a yes", "forget --call-id one", 2, "", "stdin is not a terminal"},
		{"forget, to see", "forget --call-id one --dry-run", 0, "", "would erase 1 call with 1 turn"},
		{"forget a number", "forget --number +5550100 --yes", 0, `"calls": 2`, "erasing 2 calls"},
		{"forget a number as somebody wrote it", "forget --number 555-0100 --yes", 0, `"mentioned": 0`, "erasing 2 calls"},
		{"forget a number of nobody", "forget --number +82-10-1234-5678 --dry-run", 0, "", "no calls from or to this number, and no customers with it"},
		{"forget in no country", "forget --number 010 --country Korea --yes", 2, "", "--country Korea is not a country"},
		{"forget what is there and what is not", "forget --call-id one --call-id nobody --call-id one --yes", 3, `"calls": 1`, `nothing was stored under ["nobody"]`},
		{"forget what is almost there", "forget --call-id one. --call-id ONE --yes=true", 3, `"calls": 0`, `nothing was stored under ["one." "ONE"]`},
		{"forget a customer that is not there", "forget --customer-id a/b --number +5550100 --yes", 3, `"calls": 2`, `nothing was stored under ["a/b"]`},
		{"forget what is not there, to see", "forget --call-id nobody --dry-run --yes", 0, "", `nothing was stored under ["nobody"]`},
		{"forget before a bad date", "forget --before someday --yes", 2, "", "--before: "},
	} {
		if root == "" { // the case before changed it
			root = tended(t)
		}
		t.Run(c.name, func(t *testing.T) {
			code, stdout, stderr := call(t, "", append(strings.Fields(c.args), "--warehouse", root)...)
			if code != c.code || !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.stderr) {
				t.Errorf("extract %s: exit code %d, want %d\nstdout: %s\nstderr: %s", c.args, code, c.code, stdout, stderr)
			}
			if code != 0 && code != cli.ExitIncomplete && stdout != "" {
				t.Errorf("an error, and on stdout: %s", stdout)
			}
			if s, err := layout.Current(root); err != nil || c.code == cli.ExitUsage && s.Manifest.Snapshot != 2 {
				t.Errorf("wrong use changed the warehouse: %v", err)
			} else if code, stdout, _ := call(t, "", "verify", "--warehouse", root); code != 0 {
				t.Errorf("afterwards the warehouse is damaged: %s", stdout)
			} else if s.Manifest.Snapshot != 2 {
				root = ""
			}
		})
	}
}

// What cannot be written is an error, not an empty success.
func TestFullOutput(t *testing.T) {
	root := tended(t)
	for _, args := range []string{"verify", "config", "status", "verify --format json"} {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Skip(err)
		}
		var errs bytes.Buffer
		code := Run(t.Context(), cmdtest.Env(), append(strings.Fields(args), "--warehouse", root), nil, full, &errs)
		if code != cli.ExitFailed || !strings.Contains(errs.String(), "no space left on device") {
			t.Errorf("%s: exit code %d: %s", args, code, errs.String())
		}
		_ = full.Close()
	}
}

func TestMaintenanceWithoutAWarehouse(t *testing.T) {
	root := filepath.Join(t.TempDir(), "none")
	for _, args := range []string{"verify", "show x", "compact", "rollback", "rollback --list", "forget --call-id x --yes"} {
		code, _, stderr := call(t, "{}", append(strings.Fields(args), "--warehouse", root)...)
		if code != cli.ExitFailed || !strings.Contains(stderr, "no warehouse at "+root+" yet") || !strings.Contains(stderr, "run: extract run --warehouse "+root) {
			t.Errorf("extract %s: exit code %d, %s", args, code, stderr)
		}
	}
	if _, err := os.Stat(root); err == nil {
		t.Error("a command that works on what is there made a warehouse")
	}
}

// A receipt contains neither the call's id nor its numbers.
func TestForgetReceipt(t *testing.T) {
	root := tended(t)
	code, receipt, stderr := call(t, "", "forget", "--call-id", "one", "--yes", "--warehouse", root)
	if code != 0 || strings.Contains(receipt, `"one"`) || strings.Contains(receipt, "5550100") {
		t.Fatalf("exit code %d\n%s\n%s", code, receipt, stderr)
	}
	if code, _, _ := call(t, "", "show", "one", "--warehouse", root); code != cli.ExitFailed {
		t.Error("the call can still be shown")
	}
}

// forget reports where else a number occurs besides the calls that it erases, and counts calls and customers.
func TestForgetReportsPlaces(t *testing.T) {
	root := filepath.Join(t.TempDir(), "w")
	now := time.Now()
	w, err := sink.Open(sink.Options{Root: root, RunID: layout.RunID(now, 1)})
	test.OK(t, err)
	at := now.UnixMilli()
	for id, more := range map[string]string{
		"one": `"from_number":"01012345678"`, "two": `"from_number":"1","metadata":{"callback":"+82 10-1234-5678"}`,
		"three": `"from_number":"2","transcript":[{"role":"user","content":"I am on 010-1234-5678."}]`, "four": `"from_number":"0287654321"`,
	} {
		body := fmt.Sprintf(`{"id":%q,"status":"ended","to_number":"1","start_at":%d,"end_at":%d,%s}`, id, at, at+1, more)
		test.OK(t, w.Put(t.Context(), schema.Record{Kind: schema.KindDetail, CallID: id, FetchedAt: at, Body: []byte(body)}))
	}
	for id, number := range map[string]string{"customer-1": "+821012345678", "customer-2": "+82 2 1111 2222", "auth0|7/x": "a@b"} {
		body := fmt.Sprintf(`{"id":%q,"name":"N","identifiers":[{"type":"phone","value":%q}]}`, id, number)
		test.OK(t, w.Put(t.Context(), schema.Record{Resource: "customers", Kind: schema.KindItem, CallID: resource.Part(id), FetchedAt: at, Body: []byte(body)}))
	}
	test.OK(t, errors.Join(w.Commit(t.Context(), func(s sink.Stats, _ int64) schema.Run {
		return schema.Run{ID: w.RunID(), StartedAt: at, Outcome: schema.OutcomeDone, CallsNew: s.New}
	}), w.Close()))
	forget := func(code int, args string, want ...string) (stdout string) {
		t.Helper()
		got, stdout, stderr := call(t, "", append(strings.Fields("forget --country kr "+args), "--warehouse", root)...)
		for _, text := range want {
			if got != code || !strings.Contains(stderr+stdout, text) {
				t.Errorf("forget %s: exit code %d, want %d and %q\n%s%s", args, got, code, text, stderr, stdout)
			}
		}
		return stdout
	}
	forget(0, "--customer-id auth0|7/x --call-id three --dry-run", "would erase 1 call with 1 turn and 0 analysis items, 1 customer\n")
	forget(0, "--number 0211112222 --dry-run", "would erase 0 calls", "1 customer\n")
	forget(0, "--number +82287654321 --dry-run", "would erase 1 call")
	forget(0, "--number +821012345678 --dry-run", "would erase 1 call with 0 turns and 0 analysis items, 1 customer", "also occur in 2 texts of other rows", "1 calls.metadata, 1 transcript_turns.content\n")
	receipt := forget(0, "--number +821012345678 --yes", "also occur in 2 texts of other rows", `"id": "three"`, `"id": "two"`)
	if _, stdout, _ := call(t, "", "show", "three", "--warehouse", root); !strings.Contains(stdout, "I am on 010-1234-5678.") {
		t.Errorf("the other call is %s", stdout)
	}
	if strings.Contains(receipt, "1234") && strings.Contains(receipt, "01012345678") {
		t.Errorf("the receipt holds the number:\n%s", receipt)
	}
}

func TestVerifyReportsDamage(t *testing.T) {
	root := tended(t)
	s, err := layout.Current(root)
	test.OK(t, err)
	test.OK(t, os.Remove(s.Path(&s.Manifest.Files[0])))
	code, stdout, stderr := call(t, "", "verify", "--warehouse", root)
	if code != cli.ExitFailed || !strings.HasPrefix(stdout, "snapshots/000002/calls/") || !strings.Contains(stdout, "the file is not there\ndamaged: ") ||
		!strings.Contains(stderr, "the warehouse is damaged: 1 problem found") {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	code, stdout, _ = call(t, "", "verify", "--warehouse", root, "--format", "json")
	var report sink.VerifyReport
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || code != cli.ExitFailed || report.Count != 1 || report.Problems[0].Kind != "missing" {
		t.Errorf("exit code %d, %v\n%s", code, err, stdout)
	}
}

// An interrupt stops compact before it merges the files of a month, and loses nothing: the
// remaining files are unchanged, and the next compact merges them.
func TestCompactIsInterrupted(t *testing.T) {
	root := tended(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	code := Run(ctx, cmdtest.Env(), []string{"compact", "--warehouse", root}, strings.NewReader(""), &out, &errs)
	if code != cli.ExitInterrupted || !strings.Contains(errs.String(), "interrupted") || strings.Contains(errs.String(), "compacted") {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
	if code, stdout, _ := call(t, "", "verify", "--warehouse", root); code != cli.ExitOK || !strings.Contains(stdout, "OK: 3 files") {
		t.Errorf("exit code %d: %s", code, stdout)
	}
	if code, _, stderr := call(t, "", "compact", "--warehouse", root); code != cli.ExitOK || !strings.Contains(stderr, "compacted") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// A rollback explains why a snapshot is no target: it is the current one, damaged, of a newer
// format, or removed. Nothing is changed.
func TestRollbackTargets(t *testing.T) {
	root := tended(t)
	older := filepath.Join(root, layout.SnapshotsName, layout.SnapshotName(1))
	manifest, err := os.ReadFile(filepath.Join(older, layout.ManifestName))
	test.OK(t, err)
	for _, c := range []struct {
		manifest, args string
		code           int
		says           string
	}{
		{"{", "--to 1", 1, "000001/manifest.json is damaged: "},
		{string(manifest[:len(manifest)/2]), "--to 1", 1, "000001/manifest.json is damaged: "},
		{`{"format_version":99}`, "--to 1", 1, "format version 99"},
		{"{", "--to 2", 0, "snapshot 2 is the current one: nothing to do"},
		{"", "--to 1", 2, "snapshot 1 does not exist\n         nothing was changed; extract rollback --warehouse /"},
		{"", "--to 2", 0, "snapshot 2 is the current one: nothing to do"},
	} {
		test.OK(t, os.WriteFile(filepath.Join(older, layout.ManifestName), []byte(c.manifest), 0o600))
		if c.manifest == "" {
			test.OK(t, os.RemoveAll(older))
			older = t.TempDir()
		}
		code, _, stderr := call(t, "", append(strings.Fields("rollback "+c.args), "--warehouse", root)...)
		if s, err := layout.Current(root); code != c.code || !strings.Contains(stderr, c.says) || err != nil || s.Manifest.Snapshot != 2 {
			t.Errorf("rollback %s beside %.20q: exit code %d, %v\n%s", c.args, c.manifest, code, err, stderr)
		}
	}
}

// An unknown id is reported once: then it is known.
func TestForgetUnknown(t *testing.T) {
	root := tended(t)
	for _, c := range []struct {
		args     string
		code     int
		snapshot int64
	}{
		{"forget --yes --call-id nobody --call-id one", 3, 3},
		{"forget --yes --call-id nobody --call-id one", 0, 3}, // repeated
		{"forget --yes --customer-id nobody", 0, 3},           // ids of calls and customers are one set
		{"forget --yes --customer-id auth0|1", 3, 4},
	} {
		code, _, stderr := call(t, "", append(strings.Fields(c.args), "--warehouse", root)...)
		if s, err := layout.Current(root); err != nil || code != c.code || s.Manifest.Snapshot != c.snapshot {
			t.Errorf("%s: exit code %d, want %d; snapshot %d, want %d, %v\n%s", c.args, code, c.code, s.Manifest.Snapshot, c.snapshot, err, stderr)
		}
	}
}
