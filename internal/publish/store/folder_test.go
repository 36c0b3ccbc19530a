package store

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
		for mode, dir := range map[fs.FileMode]fs.FileMode{0: 0o700, 0o640: 0o750} {
			root := t.TempDir()
			s, uri, err := Open(filepath.Join(root, "a"), mode)
			file := cmp.Or(mode, 0o600)
			if err == nil {
				err = c.put(s, uri+"/b/c", root, file)
			}
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			for path, want := range map[string]fs.FileMode{"a": dir, "a/b": dir, "a/b/c": file} {
				if info, err := os.Stat(filepath.Join(root, path)); err != nil || info.Mode().Perm() != want {
					t.Errorf("%s: %s has mode %v, want %v (%v)", c.name, path, info.Mode().Perm(), want, err)
				}
			}
		}
	}
}

// adopt adopts a file of a mode. Without a name, it can only be copied.
func adopt(t *testing.T, s Store, uri, dir string, mode fs.FileMode, nameless bool) error {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "part"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err = f.WriteString("x"); err == nil {
		err = f.Chmod(mode)
	}
	if err == nil && nameless {
		err = os.Remove(f.Name())
	}
	if err != nil {
		t.Fatal(err)
	}
	return s.Adopt(t.Context(), uri, f, 1)
}
