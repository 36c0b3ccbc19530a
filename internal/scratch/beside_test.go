package scratch_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callhouse/internal/scratch"
)

// TestLeave is not a test: it is a program that leaves a file and a folder beside each target in
// CALLHOUSE_TEST_LEAVE.
func TestLeave(t *testing.T) {
	targets := os.Getenv("CALLHOUSE_TEST_LEAVE")
	if targets == "" {
		t.Skip("it is what another test starts")
	}
	for target := range strings.SplitSeq(targets, ":") {
		f, _, err := scratch.File(target)
		if err == nil {
			_, err = f.WriteString("secret")
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := scratch.Folder(target)
		if err == nil {
			err = os.WriteFile(filepath.Join(b.Path, "rows"), []byte("secret"), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	p, _ := os.FindProcess(os.Getpid())
	_ = p.Kill()
}

// leave runs a program that is killed and leaves a file and a folder beside each target.
func leave(t *testing.T, targets ...string) {
	t.Helper()
	before := 0
	for _, target := range targets {
		before += len(besides(t, filepath.Dir(target)))
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestLeave$")
	cmd.Env = append(os.Environ(), "CALLHOUSE_TEST_LEAVE="+strings.Join(targets, ":"))
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, target := range targets {
		before -= len(besides(t, filepath.Dir(target)))
	}
	if before != -2*len(targets) {
		t.Fatalf("a killed program leaves %d files", -before)
	}
}

func besides(t *testing.T, dir string) (names []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, ".*.callhouse-*.tmp"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// Files left by a killed program beside its targets are removed when another program makes any
// temporary folder, wherever they are.
func TestNotesLeadToFiles(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	one, two := t.TempDir(), t.TempDir()
	leave(t, filepath.Join(one, "answer.csv"), filepath.Join(two, strings.Repeat("x", 250)))
	if names := list(t); len(names) != 4 {
		t.Errorf("it left the notes %v", names)
	}
	d := make1(t, "ours-")
	if left := append(besides(t, one), besides(t, two)...); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
	if err := d.Remove(); err != nil {
		t.Error(err)
	}
	if names := list(t); len(names) > 0 {
		t.Errorf("left are %v", names)
	}
}

// With another TMPDIR they are removed when another program writes into the same folder. Nothing
// else in it is touched.
func TestBesideSweeps(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dir := t.TempDir()
	f, mine, err := scratch.File(filepath.Join(dir, "mine"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	t.Setenv("TMPDIR", t.TempDir())
	leave(t, filepath.Join(dir, "answer.csv"))
	t.Setenv("TMPDIR", filepath.Join(dir, "nowhere")) // notes cannot be written
	foreign := []string{".answer.csv.123.tmp", ".answer.csv.callhouse-12x.tmp", ".answer.csv.callhouse-.tmp", "answer.csv.callhouse-123.tmp", ".answer.csv.callhouse-123.tmp.old", "answer.csv"}
	for _, name := range foreign {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "answer.csv"), filepath.Join(dir, ".answer.csv.callhouse-7.tmp")); err != nil {
		t.Fatal(err)
	}
	next, err := scratch.Folder(filepath.Join(dir, "next"))
	if err != nil {
		t.Fatal(err)
	}
	want := append(slices.Clone(foreign), ".answer.csv.callhouse-7.tmp", filepath.Base(mine.Path), filepath.Base(next.Path))
	slices.Sort(want)
	var got []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if !slices.Equal(got, want) {
		t.Errorf("there are %v\nwant %v", got, want)
	}
	for _, b := range []*scratch.Beside{mine, next} {
		if err := b.Remove(); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(b.Path); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", b.Path, err)
		}
	}
}

// A note about a file that is not ours, or is in use, removes nothing.
func TestNotesOfOthers(t *testing.T) {
	tmp, dir := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", tmp)
	f, held, err := scratch.File(filepath.Join(dir, "held"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	precious := filepath.Join(dir, "precious")
	if err := os.WriteFile(precious, []byte("rows"), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{held.Path, precious, dir, "/", "relative", ""} {
		note := filepath.Join(tmp, string(scratch.Output)+string(rune('1'+i)))
		if err := os.Mkdir(note, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(note, "beside"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := make1(t, "ours-")
	for _, path := range []string{precious, held.Path} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	if err := d.Remove(); err != nil {
		t.Error(err)
	}
	if names := list(t); len(names) != 2 { // the held file's own note, and the one planted for it
		t.Errorf("left are %v", names)
	}
	if err := held.Remove(); err != nil {
		t.Error(err)
	}
}

// Clear also removes files and folders beside their targets, except renamed ones.
func TestClearBeside(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dir := t.TempDir()
	f, a, err := scratch.File(filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := scratch.Folder(filepath.Join(dir, "b"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(a.Path, filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	scratch.Clear()
	defer scratch.Resume()
	if _, _, err := scratch.File(filepath.Join(dir, "c")); err == nil {
		t.Error("a file is made after the end")
	}
	for _, x := range []*scratch.Beside{a, b} {
		if err := x.Remove(); err != nil {
			t.Error(err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "a" || len(list(t)) > 0 {
		t.Errorf("there are %v and %v, %v", entries, list(t), err)
	}
}
