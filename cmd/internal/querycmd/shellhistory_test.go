package querycmd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callhouse/cmd/internal/querycmd/shell"
	"callhouse/internal/test"
)

func open(t *testing.T, file string) *shell.History {
	t.Helper()
	h, err := shell.OpenHistory(file)
	test.OK(t, err)
	return h
}

func add(t *testing.T, h *shell.History, entries ...string) {
	t.Helper()
	for _, e := range entries {
		test.OK(t, h.Add(e))
	}
}

func TestHistory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state", "callhouse", "history")
	one, other := open(t, file), open(t, file)
	add(t, one, "select 1;", "select 1;", " ", "select\n'안녕',\t2;\n")
	add(t, other, ".tables")
	want := []string{"select 1;", "select\n'안녕',\t2;", ".tables"}
	if got := open(t, file).Entries(); !slices.Equal(got, want) {
		t.Errorf("the file keeps %q, want %q", got, want)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v; want it readable by its owner alone", info.Mode(), err)
	}
	if info, err := os.Stat(filepath.Dir(file)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("its folder is %v, %v", info.Mode(), err)
	}
}

// Lines written by other programs, and truncated ones, are skipped.
func TestHistoryOfOthers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "history")
	test.OK(t, os.WriteFile(file, []byte("select 1;\n\"a\"\n{}\n\"b"), 0o600))
	if got := open(t, file).Entries(); !slices.Equal(got, []string{"a"}) {
		t.Errorf("got %q", got)
	}
}

func TestHistoryIsCutDown(t *testing.T) {
	file := filepath.Join(t.TempDir(), "history")
	var b strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&b, "\"select %d;\"\n", i)
	}
	test.OK(t, os.WriteFile(file, []byte(b.String()), 0o600))
	open(t, file)
	got := open(t, file).Entries()
	if len(got) != 2000 || got[0] != "select 2000;" || got[1999] != "select 3999;" {
		t.Errorf("%d entries are left, from %s", len(got), got[0])
	}
	left, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(left) != 1 {
		t.Errorf("the folder holds %v, %v", left, err)
	}
}

// Without a file the history still works.
func TestHistoryNowhere(t *testing.T) {
	h := open(t, "")
	add(t, h, "select 1;")
	blocked := filepath.Join(t.TempDir(), "file")
	test.OK(t, os.WriteFile(blocked, nil, 0o600))
	other, err := shell.OpenHistory(filepath.Join(blocked, "history"))
	if err == nil {
		t.Error("a file was taken for a folder")
	}
	add(t, other, "select 2;")
	if len(h.Entries()) != 1 || len(other.Entries()) != 1 {
		t.Errorf("got %q and %q", h.Entries(), other.Entries())
	}
}
