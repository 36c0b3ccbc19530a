package querycmd_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"callhouse/internal/test"
)

// aged makes everything in a folder two days old.
func aged(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	test.OK(t, err)
	old := time.Now().Add(-48 * time.Hour)
	for _, e := range entries {
		if err := os.Chtimes(filepath.Join(dir, e.Name()), old, old); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
}

// hidden returns the hidden files and folders in a folder.
func hidden(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, ".*"))
	test.OK(t, err)
	return names
}

// ended runs the command to its end.
func ended(t *testing.T, temp, args, statement string) {
	t.Helper()
	if code := spawn(t, temp, args, statement, nil).ends(); code != 0 {
		t.Errorf("%s ends with %d", args, code)
	}
}

// killedOutput kills a query that writes next to its target, which leaves its files there.
func killedOutput(t *testing.T, temp, dir string) {
	t.Helper()
	p := spawn(t, temp, "sql - --format csv --output "+filepath.Join(dir, "rows.csv"), "FROM range(1000000000)", nil)
	written := func() bool {
		for _, name := range hidden(t, dir) {
			if st, err := os.Stat(name); err == nil && st.Size() > 0 {
				return true
			}
		}
		return false
	}
	p.wait("rows in its file", written)
	_ = p.cmd.Process.Kill()
	if p.ends(); !written() {
		t.Fatalf("a killed query leaves nothing: %v", hidden(t, dir))
	}
}

// A command that writes into the same folder removes what a killed one left there a day ago. Files of
// running commands stay.
func TestNextCommandRemovesLeftovers(t *testing.T) {
	house(t)
	temp, dir := t.TempDir(), t.TempDir()
	killedOutput(t, temp, dir)
	running := spawn(t, temp, "sql - --format csv --output "+filepath.Join(dir, "more.csv"), "FROM range(1000000000)", nil)
	running.wait("its file", func() bool { return len(hidden(t, dir)) > 1 })
	aged(t, dir)
	ended(t, t.TempDir(), "sql - --output "+filepath.Join(dir, "one.csv"), "SELECT 1")
	if left := hidden(t, dir); len(left) != 1 {
		t.Errorf("the file of a running query is not left alone: %v", left)
	}
	_ = running.cmd.Process.Kill()
	running.ends()
	aged(t, dir)
	ended(t, t.TempDir(), "export "+filepath.Join(dir, "export")+" --tables calls", "")
	if left := hidden(t, dir); len(left) > 0 {
		t.Errorf("an export into the same folder leaves %v", left)
	}
}

// The same for an export, and for the folder of a statement with limits.
func TestNextCommandRemovesLeftFolders(t *testing.T) {
	house(t)
	temp, dir := t.TempDir(), t.TempDir()
	for try := 0; len(hidden(t, dir)) == 0; try++ { // an export that ends before the kill leaves nothing
		if try == 50 {
			t.Fatal("no export could be killed")
		}
		p := spawn(t, temp, "export "+filepath.Join(dir, "export"), "", nil)
		p.wait("its folder", func() bool { return len(hidden(t, dir)) > 0 || len(p.left) > 0 })
		_ = p.cmd.Process.Kill()
		p.ends()
	}
	p := spawn(t, temp, "sql --safe -", endless, nil)
	p.wait("its folder", func() bool { return len(p.temporary()) > 0 })
	_ = p.cmd.Process.Kill()
	p.ends()
	for range 2 { // a statement's process may briefly outlive its parent
		aged(t, dir)
		aged(t, temp)
		ended(t, temp, "sql - --output "+filepath.Join(dir, "one.csv"), "SELECT 1")
	}
	if left := hidden(t, dir); len(left) > 0 {
		t.Errorf("beside the export are %v", left)
	}
	if left := p.temporary(); len(left) > 0 {
		t.Errorf("in TMPDIR are %v", left)
	}
}
