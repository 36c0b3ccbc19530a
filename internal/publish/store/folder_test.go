package store

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"callhouse/internal/test"
)

// Files and folders are private, whatever the umask allows, also if a file cannot be linked, as on
// another file system.
func TestModes(t *testing.T) {
	for _, c := range []struct {
		name string
		put  func(s Store, uri, scratch string, mode fs.FileMode) error
	}{
		{"put", func(s Store, uri, _ string, _ fs.FileMode) error {
			return s.Put(t.Context(), uri, strings.NewReader("x"), 1)
		}},
		{"create", func(s Store, uri, _ string, _ fs.FileMode) error { return s.Create(t.Context(), uri, []byte("x")) }},
		{"link", func(s Store, uri, scratch string, mode fs.FileMode) error {
			return adopt(t, s, uri, scratch, mode, false)
		}},
		{"copy", func(s Store, uri, scratch string, mode fs.FileMode) error {
			return adopt(t, s, uri, scratch, mode, true)
		}},
	} {
		for umask, modes := range map[int][3]fs.FileMode{0o077: {0o700, 0o700, 0o600}, 0o022: {0o700, 0o750, 0o640}} {
			root := t.TempDir()
			defer syscall.Umask(syscall.Umask(umask))
			s, uri, err := Open(filepath.Join(root, "a"))
			if err == nil {
				err = c.put(s, uri+"/b/c", root, modes[2])
			}
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			for n, path := range []string{"a", "a/b", "a/b/c"} {
				if info, err := os.Stat(filepath.Join(root, path)); err != nil || info.Mode().Perm() != modes[n] {
					t.Errorf("%s: %s has mode %v, want %v (%v)", c.name, path, info.Mode().Perm(), modes[n], err)
				}
			}
		}
	}
}

// adopt adopts a file of a mode. Without a name, it can only be copied.
func adopt(t *testing.T, s Store, uri, dir string, mode fs.FileMode, nameless bool) error {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "part"))
	test.OK(t, err)
	defer f.Close()
	if _, err = f.WriteString("x"); err == nil {
		err = f.Chmod(mode)
	}
	if err == nil && nameless {
		err = os.Remove(f.Name())
	}
	test.OK(t, err)
	return s.Adopt(t.Context(), uri, f, 1)
}
