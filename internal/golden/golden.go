// Package golden compares what a test gets with a file that holds what it
// should get. It is for tests only.
package golden

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callhouse/internal/longtest"
)

var update = flag.Bool("update", false, "rewrite the golden files from what the code does now")

// Each returns which files of a table are to be compared, by their place: every n-th in the
// quick tests, and all for make long or to rewrite them.
func Each(n int) (tried func(i int) bool) {
	if *update {
		n = 1
	}
	return longtest.Each(n)
}

// Check compares got with the file at path. With -update it writes the file
// instead.
func Check(t testing.TB, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-golden +got):\n%s", path, d)
	}
}

// Part is Check for the part of a file that lies between two marks.
func Part(t testing.TB, path, begin, end, got string) {
	t.Helper()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, begins := strings.Cut(string(whole), begin)
	_, tail, ends := strings.Cut(rest, end)
	if !begins || !ends {
		t.Fatalf("%s has nothing between %q and %q", path, begin, end)
	}
	Check(t, path, head+begin+got+end+tail)
}
