// Package test has what tests of all packages share: an end on an unexpected error, comparisons
// of values and with golden files, and the bytes of a folder. Only tests import it.
package test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
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
func Same[T any](t testing.TB, want, got T, format string, args ...any) {
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

// EveryByte calls see with all bytes of every file under a folder, both raw and decompressed: the values in
// a Parquet file's pages are whole in its zstd frames, and those of its metadata in the file.
func EveryByte(t testing.TB, root string, see func(where string, raw []byte)) {
	t.Helper()
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	OK(t, err)
	defer d.Close()
	err = filepath.Walk(root, func(path string, info os.FileInfo, err error) error {
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		raw := Read(t, path)
		at, _ := filepath.Rel(root, path)
		see(at, raw)
		for rest := raw; ; {
			i := bytes.Index(rest, []byte{0x28, 0xB5, 0x2F, 0xFD})
			if i < 0 {
				return nil
			}
			rest = rest[i:]
			if d.Reset(bytes.NewReader(rest)) == nil {
				var out bytes.Buffer
				_, _ = out.ReadFrom(d) // until the end of the valid frames
				see(at+" decompressed", out.Bytes())
			}
			rest = rest[4:]
		}
	})
	OK(t, err)
}
