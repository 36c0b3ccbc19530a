package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/cmdtest"
	"callhouse/cmd/internal/querycmd"
	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
	"callhouse/internal/test"
)

// queryAs runs query with exactly the given arguments.
func queryAs(t *testing.T, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	code := querycmd.Run(t.Context(), cmdtest.Env(), args, strings.NewReader(""), &out, &errs)
	return result{code, out.String(), errs.String(), fmt.Sprint(args)}
}

// nowhere checks that no file under a folder contains any of the texts.
func nowhere(t *testing.T, dir string, texts ...string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		for _, text := range texts {
			if bytes.Contains(raw, []byte(text)) {
				t.Errorf("%q is in %s", text, path)
			}
		}
		return err
	})
	test.OK(t, err)
}

// everything returns all rows of all tables as text.
func (c *company) everything() string {
	c.t.Helper()
	var all strings.Builder
	for _, table := range []string{"calls", "transcript_turns", "analysis_items", "runs"} {
		fmt.Fprintln(&all, c.sql("SELECT * FROM "+table))
	}
	return all.String()
}

// Masked numbers never reach the disk, from lists, details or imports. Equal numbers stay equal, so
// counts are the same as without masks. forget finds them, but only with their key.
func TestMaskedNumbers(t *testing.T) {
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 5, Calls: 60, Days: 2}})
	plain := *c
	plain.warehouse = filepath.Join(t.TempDir(), "plain")
	plain.mustExtract()
	var raw []string
	for _, row := range plain.sql("SELECT from_number AS n FROM calls WHERE from_number <> '' UNION SELECT to_number FROM calls WHERE to_number <> ''") {
		raw = append(raw, fmt.Sprint(row["n"]))
	}
	if len(raw) < 20 {
		t.Fatalf("only %d numbers", len(raw))
	}
	r := c.mustExtract("--mask=from_number,to_number,dynamic_variables,metadata")
	said := r.stderr
	dump := filepath.Join(t.TempDir(), "dump.jsonl")
	const imported = "+15550001111"
	body := `{"call_id":"imported","call_from":"` + imported + `","call_to":null,"start_timestamp":` + fmt.Sprint(c.clock.Now().Add(-time.Hour).UnixMilli()) + "}\n"
	test.OK(t, os.WriteFile(dump, []byte(body), 0o600))
	// Without the flag, fields masked in the warehouse stay masked.
	for _, args := range [][]string{{"import", dump}, {"run"}} {
		r := extractAt(t.Context(), c.clock.Now, append([]string{"--warehouse", c.warehouse, "--base-url", c.service.URL, "--api-key-file", c.keyFile,
			"--requests-per-second", "2000", "--requests-per-minute", "100000"}, args...)...)
		r.exits(t, cli.ExitOK)
		said += r.stderr
	}
	rows := c.everything() + said
	for _, n := range append(raw, imported) {
		if strings.Contains(rows, n) {
			at := strings.Index(rows, n)
			t.Errorf("%s got through: …%s…", n, rows[max(0, at-80):min(len(rows), at+40)])
		}
	}
	nowhere(t, c.warehouse, append(raw, imported)...)
	same := "SELECT count(DISTINCT from_number)::VARCHAR || ' ' || count(DISTINCT to_number) || ' ' || count(*) FILTER (WHERE from_number IS NULL) FROM calls WHERE call_id <> 'imported'"
	if got, want := c.one(same), plain.one(same); got != want {
		t.Errorf("distinct numbers %v, without masks %v", got, want)
	}
	if n := c.one("SELECT count(*) FROM calls WHERE dynamic_variables IS NOT NULL AND NOT regexp_full_match(dynamic_variables::VARCHAR, '(\\{\\}|null|\\{(\"[^\"]+\":(\"masked:[0-9a-f]{32}\"|null|\"\"),?)*\\})')"); n != json.Number("0") {
		t.Errorf("%v calls have dynamic variables that are not masked", n)
	}
	wh := []string{"--warehouse", c.warehouse}
	extract(t.Context(), append(wh, "verify")...).exits(t, cli.ExitOK)
	if v := extract(t.Context(), append(wh, "show", "imported")...); !strings.Contains(v.stdout, `"call_from":"masked:`) {
		t.Errorf("show: %s%s", v.stdout, v.stderr)
	}

	key := filepath.Join(c.warehouse, layout.MaskKeyName)
	away := filepath.Join(t.TempDir(), "mask.key")
	test.OK(t, os.Rename(key, away))
	forget := func(args ...string) result {
		return extract(t.Context(), append(append(wh, "forget", "--number", imported, "--yes"), args...)...)
	}
	forget().reports(t, cli.ExitUsage, "--mask-key-file")
	other := filepath.Join(t.TempDir(), "other.key")
	test.OK(t, os.WriteFile(other, []byte(strings.Repeat("ab", 32)), 0o600))
	forget("--mask-key-file", other).reports(t, cli.ExitUsage, "not the key")
	if f := c.extract(t.Context()); f.code != cli.ExitUsage {
		t.Errorf("a run without the key: exit code %d:\n%s", f.code, f.stderr)
	}
	if f := forget("--mask-key-file", away); f.code != cli.ExitOK || c.one("SELECT count(*) FROM calls WHERE call_id = 'imported'") != json.Number("0") {
		t.Errorf("forget with the key: exit code %d:\n%s", f.code, f.stderr)
	}
	c.extract(t.Context(), "--mask=from_nubmer").reports(t, cli.ExitUsage, "did you mean: from_number?")
}

// modes checks the mode of every file and folder in a warehouse.
func modes(t *testing.T, root string, file, folder fs.FileMode) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		want := file
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		switch {
		case rel == layout.JournalName || rel == ".":
			want = 0o700
		case d.IsDir():
			want = folder
		case rel == layout.LockName || rel == layout.StateName || rel == layout.RequestsName || rel == layout.MaskKeyName:
			want = 0o600
		}
		if st.Mode().Perm() != want {
			t.Errorf("%s has mode %04o, want %04o", rel, st.Mode().Perm(), want)
		}
		return nil
	})
	test.OK(t, err)
}

// The mode of the warehouse's folder and the umask decide whether the group reads the files of runs and
// maintenance. Journal, lock and mask key are the owner's alone.
func TestModes(t *testing.T) {
	longtest.Only(t)
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 3, Calls: 40, Days: 40}})
	wh := []string{"--warehouse", c.warehouse}
	night := func(args ...string) {
		t.Helper()
		c.clock.Advance(24 * time.Hour)
		c.mustExtract(append([]string{"--mask=to_number"}, args...)...)
		id := fmt.Sprint(c.one("SELECT min(call_id) FROM calls"))
		for _, m := range [][]string{{"compact"}, {"forget", "--yes", "--call-id", id}, {"verify"}} {
			if r := extractAt(t.Context(), c.clock.Now, append(append(append([]string{}, wh...), m...), args...)...); r.code != cli.ExitOK && m[0] != "compact" && m[0] != "verify" {
				t.Fatalf("%v: exit code %d:\n%s", m, r.code, r.stderr)
			}
		}
	}
	defer syscall.Umask(syscall.Umask(0))
	night()
	modes(t, c.warehouse, 0o640, 0o750)
}

// A crash dump of all goroutines does not contain the key.
func TestKeyNotInADump(t *testing.T) {
	longtest.Only(t)
	bin := linkProgram(t, t.TempDir(), "extract")
	c := foundNow(t, sandbox.Options{World: sandbox.Config{Calls: 300, Days: 3}, Latency: 20 * time.Millisecond})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, "run", "--warehouse", c.warehouse, "--base-url", c.service.URL, "--requests-per-second=50", "--requests-per-minute=3000")
	dir := t.TempDir()
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CALLHOUSE_API_KEY="+testKey, "GOTRACEBACK=system")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	test.OK(t, cmd.Start())
	for c.service.Server.Stats().Requests < 20 && ctx.Err() == nil {
		time.Sleep(5 * time.Millisecond) // wait until the key is in use
	}
	test.OK(t, cmd.Process.Signal(syscall.SIGQUIT))
	err := cmd.Wait()
	if err == nil || !strings.Contains(errs.String(), "goroutine ") {
		t.Fatalf("it did not crash: %v\n%s", err, errs.String())
	}
	if strings.Contains(errs.String(), testKey) {
		t.Error("the dump has the key")
	}
	nowhere(t, dir, testKey)
	nowhere(t, c.warehouse, testKey)
}
