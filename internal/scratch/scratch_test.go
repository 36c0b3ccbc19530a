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

// list returns the names in TMPDIR.
func list(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(os.TempDir())
	test.OK(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func make1(t *testing.T, prefix scratch.Kind) *scratch.Dir {
	t.Helper()
	d, err := scratch.Make(prefix)
	test.OK(t, err)
	test.OK(t, os.WriteFile(filepath.Join(d.Path, "rows"), []byte("secret"), 0o644))
	return d
}

// Making a folder removes our own old folders that nobody holds; held and young ones, and those of
// other programs, stay.
func TestMakeSweeps(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	held := make1(t, "callhouse-ours-")
	if info, err := os.Stat(held.Path); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	elsewhere := t.TempDir()
	for _, dir := range []string{"callhouse-ours-123", "callhouse-ours-12x", "callhouse-ours-", "callhouse-ours-123.d", "theirs-123"} { // only the first could be left by a killed program
		test.OK(t, os.MkdirAll(filepath.Join(tmp, dir, "deeper"), 0o700))
	}
	test.OK(t, os.WriteFile(filepath.Join(tmp, "callhouse-ours-7"), nil, 0o600))
	test.OK(t, os.Symlink(elsewhere, filepath.Join(tmp, "callhouse-ours-8")))
	test.OK(t, os.Mkdir(filepath.Join(tmp, "callhouse-ours-456"), 0o700))
	age(t, tmp, "callhouse-ours-123", "callhouse-ours-12x", "callhouse-ours-", "callhouse-ours-123.d", "theirs-123", "callhouse-ours-7", filepath.Base(held.Path))
	next := make1(t, "callhouse-ours-")
	want := []string{"callhouse-ours-456", filepath.Base(held.Path), filepath.Base(next.Path), "callhouse-ours-", "callhouse-ours-12x", "callhouse-ours-123.d", "callhouse-ours-7", "callhouse-ours-8", "theirs-123"}
	slices.Sort(want)
	test.Same(t, want, list(t), "the folder")
	if _, err := os.Stat(filepath.Join(held.Path, "rows")); err != nil {
		t.Error(err)
	}
	for _, d := range []*scratch.Dir{held, next} {
		if err := d.Remove(); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(d.Path); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", d.Path, err)
		}
	}
}

// Clear removes everything of this process; removing it again is not an error.
func TestClear(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	a, b := make1(t, "a-"), make1(t, "b-")
	scratch.Clear()
	defer scratch.Resume()
	if _, err := scratch.Make("a-"); err == nil {
		t.Error("a folder is made after the end")
	}
	if left := list(t); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	for _, d := range []*scratch.Dir{a, b} {
		if err := d.Remove(); err != nil {
			t.Error(err)
		}
	}
}

// Without a folder for temporary data, Make says what to set, and seldom needed folders are omitted.
func TestNoPlace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	test.OK(t, os.WriteFile(file, nil, 0o600))
	for _, dir := range []string{file, filepath.Join(t.TempDir(), "none"), "/dev/null"} {
		t.Setenv("TMPDIR", dir)
		if _, err := scratch.Make("a-"); err == nil || !strings.Contains(err.Error(), "TMPDIR") {
			t.Errorf("%s: %v", dir, err)
		}
		d, err := scratch.MakeIfPossible("a-")
		if d != nil || err != nil || d.Where() != "" || d.Remove() != nil || !strings.Contains(scratch.Missing(), "TMPDIR") {
			t.Errorf("%s: %v, %v", dir, d, err)
		}
	}
	t.Setenv("TMPDIR", t.TempDir())
	if d, err := scratch.MakeIfPossible("a-"); err != nil || d.Where() == "" || d.Remove() != nil || scratch.Missing() != "" || len(list(t)) > 0 {
		t.Errorf("%v, %v; left are %v", d, err, list(t))
	}
	scratch.Clear()
	defer scratch.Resume()
	if _, err := scratch.MakeIfPossible("a-"); err == nil {
		t.Error("a database is opened after the end")
	}
}

// age makes files and folders two days old.
func age(t *testing.T, dir string, names ...string) {
	t.Helper()
	old := time.Now().Add(-48 * time.Hour)
	for _, name := range names {
		test.OK(t, os.Chtimes(filepath.Join(dir, name), old, old))
	}
}

// Old files and folders next to a target that a killed program left are removed when another program
// writes into the same folder. Nothing else in it is touched.
func TestTemporarySweeps(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "nowhere")) // it is not needed
	dir := t.TempDir()
	f, mine, err := scratch.File(filepath.Join(dir, strings.Repeat("x", 250)))
	test.OK(t, err)
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	remaining := []string{".answer.csv.123.tmp", ".answer.csv.callhouse-12x.tmp", ".answer.csv.callhouse-.tmp", "answer.csv.callhouse-123.tmp",
		".answer.csv.callhouse-123.tmp.old", "answer.csv"}
	left := []string{".answer.csv.callhouse-1.tmp", ".answer.csv.callhouse-2.tmp"}
	young := ".answer.csv.callhouse-3.tmp"
	for _, name := range append(append(slices.Clone(remaining), young), left...) {
		test.OK(t, os.WriteFile(filepath.Join(dir, name), []byte("secret"), 0o600))
	}
	test.OK(t, os.Mkdir(filepath.Join(dir, ".export.callhouse-4.tmp"), 0o700))
	age(t, dir, append(append(slices.Clone(remaining), ".export.callhouse-4.tmp", filepath.Base(mine.Path)), left...)...)
	test.OK(t, os.Symlink(filepath.Join(dir, "answer.csv"), filepath.Join(dir, ".answer.csv.callhouse-7.tmp")))
	next, err := scratch.Folder(filepath.Join(dir, "next"))
	test.OK(t, err)
	if info, err := os.Stat(next.Path); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	want := append(remaining, young, ".answer.csv.callhouse-7.tmp", filepath.Base(mine.Path), filepath.Base(next.Path))
	slices.Sort(want)
	var got []string
	entries, err := os.ReadDir(dir)
	test.OK(t, err)
	for _, e := range entries {
		got = append(got, e.Name())
	}
	test.Same(t, want, got, "the folder")
	for _, b := range []*scratch.Dir{mine, next} {
		if err := b.Remove(); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(b.Path); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", b.Path, err)
		}
	}
}

// Clear also removes files and folders next to their targets, except renamed ones.
func TestClearTemporary(t *testing.T) {
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
