package scratch_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"callhouse/internal/scratch"
	"callhouse/internal/test"
)

// age makes files and folders two days old.
func age(t *testing.T, dir string, names ...string) {
	t.Helper()
	old := time.Now().Add(-48 * time.Hour)
	for _, name := range names {
		test.OK(t, os.Chtimes(filepath.Join(dir, name), old, old))
	}
}

// Old files and folders beside a target that a killed program left are removed when another program
// writes into the same folder. Nothing else in it is touched.
func TestBesideSweeps(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "nowhere")) // it is not needed
	dir := t.TempDir()
	f, mine, err := scratch.File(filepath.Join(dir, strings.Repeat("x", 250)))
	test.OK(t, err)
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	kept := []string{".answer.csv.123.tmp", ".answer.csv.callhouse-12x.tmp", ".answer.csv.callhouse-.tmp", "answer.csv.callhouse-123.tmp",
		".answer.csv.callhouse-123.tmp.old", "answer.csv"}
	left := []string{".answer.csv.callhouse-1.tmp", ".answer.csv.callhouse-2.tmp"}
	young := ".answer.csv.callhouse-3.tmp"
	for _, name := range append(append(slices.Clone(kept), young), left...) {
		test.OK(t, os.WriteFile(filepath.Join(dir, name), []byte("secret"), 0o600))
	}
	test.OK(t, os.Mkdir(filepath.Join(dir, ".export.callhouse-4.tmp"), 0o700))
	age(t, dir, append(append(slices.Clone(kept), ".export.callhouse-4.tmp", filepath.Base(mine.Path)), left...)...)
	test.OK(t, os.Symlink(filepath.Join(dir, "answer.csv"), filepath.Join(dir, ".answer.csv.callhouse-7.tmp")))
	next, err := scratch.Folder(filepath.Join(dir, "next"))
	test.OK(t, err)
	if info, err := os.Stat(next.Path); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	want := append(kept, young, ".answer.csv.callhouse-7.tmp", filepath.Base(mine.Path), filepath.Base(next.Path))
	slices.Sort(want)
	var got []string
	entries, err := os.ReadDir(dir)
	test.OK(t, err)
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if !slices.Equal(got, want) {
		t.Errorf("there are %v\nwant %v", got, want)
	}
	for _, b := range []*scratch.Dir{mine, next} {
		if err := b.Remove(); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(b.Path); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", b.Path, err)
		}
	}
}

// Clear also removes files and folders beside their targets, except renamed ones.
func TestClearBeside(t *testing.T) {
	dir := t.TempDir()
	f, a, err := scratch.File(filepath.Join(dir, "a"))
	test.OK(t, err)
	defer f.Close()
	b, err := scratch.Folder(filepath.Join(dir, "b"))
	test.OK(t, err)
	test.OK(t, os.Rename(a.Path, filepath.Join(dir, "a")))
	scratch.Clear()
	defer scratch.Resume()
	if _, _, err := scratch.File(filepath.Join(dir, "c")); err == nil {
		t.Error("a file is made after the end")
	}
	for _, x := range []*scratch.Dir{a, b} {
		if err := x.Remove(); err != nil {
			t.Error(err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "a" {
		t.Errorf("there are %v, %v", entries, err)
	}
}
