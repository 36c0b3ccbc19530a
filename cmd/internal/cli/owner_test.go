package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"callhouse/internal/layout"
)

// chown is suggested only for a warehouse, and for its whole folder.
func TestOwnerOfAWarehouseAlone(t *testing.T) {
	denied := func(path string) string {
		return Hint(Fail(ExitFailed, &fs.PathError{Op: "open", Path: path, Err: syscall.EACCES}, ""))
	}
	for _, path := range []string{"/", "/callhose", "/usr/callhose/lock", "/root", "/root/w/lock", "/etc/passwd", "/var/lib", "/no/such/folder"} {
		if hint := denied(path); strings.Contains(hint, "chown") || hint == "" {
			t.Errorf("%s: %q", path, hint)
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	root := filepath.Join(t.TempDir(), "w")
	lock := filepath.Join(root, layout.LockName)
	for _, name := range []string{layout.SnapshotsName, layout.JournalName} {
		if err := os.MkdirAll(filepath.Join(root, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(lock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const nobody = 65534
	for _, path := range []string{root, lock, filepath.Join(root, layout.JournalName)} {
		if err := os.Chown(path, nobody, nobody); err != nil {
			t.Fatal(err)
		}
		hint := denied(path)
		if !strings.HasPrefix(hint, path+" belongs to ") || !strings.HasSuffix(hint, "chown -R root "+root) {
			t.Errorf("%s: %q", path, hint)
		}
	}
	if err := os.Remove(filepath.Join(root, layout.SnapshotsName)); err != nil {
		t.Fatal(err)
	}
	if hint := denied(lock); strings.Contains(hint, "chown") {
		t.Errorf("a folder that is no warehouse: %q", hint)
	}
}

// chown takes the number of a user without a name.
func TestLoginOfANamelessUser(t *testing.T) {
	const nameless = 2_000_000_123
	if login, name := loginOf(nameless), userName(nameless); login != "2000000123" || name != "the user 2000000123" {
		t.Errorf("%q, %q", login, name)
	}
	if login, name := loginOf(0), userName(0); login != "root" || name != "root" {
		t.Errorf("%q, %q", login, name)
	}
}
