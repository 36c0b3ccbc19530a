// Package test has what tests of all packages share: an end on an unexpected error, and comparisons
// of values and with golden files. Only tests import it.
package test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files from what the code does now")

// OK ends the test if err is not nil.
func OK(t interface {
	Helper()
	Fatal(...any)
}, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Read returns the content of a file.
func Read(t testing.TB, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	OK(t, err)
	return raw
}

// Same compares two values; format says what they are, and which is - and which +.
func Same(t testing.TB, want, got any, format string, args ...any) {
	t.Helper()
	NoDiff(t, cmp.Diff(want, got), format, args...)
}

// NoDiff fails if a difference is not empty; format says what it is of.
func NoDiff(t testing.TB, diff, format string, args ...any) {
	t.Helper()
	if diff != "" {
		t.Errorf(format+":\n%s", append(args, diff)...)
	}
}

// Golden compares got with the file at path. With -update it writes the file
// instead.
func Golden(t testing.TB, path, got string) {
	t.Helper()
	if *update {
		OK(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	Same(t, string(Read(t, path)), got, "%s (-golden +got)", path)
}

// GoldenPart is Golden for the part of a file that lies between two marks.
func GoldenPart(t testing.TB, path, begin, end, got string) {
	t.Helper()
	head, rest, begins := strings.Cut(string(Read(t, path)), begin)
	_, tail, ends := strings.Cut(rest, end)
	if !begins || !ends {
		t.Fatalf("%s has nothing between %q and %q", path, begin, end)
	}
	Golden(t, path, head+begin+got+end+tail)
}
