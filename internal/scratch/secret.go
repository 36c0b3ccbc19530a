package scratch

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ExposedError means that others may read a file with a secret.
type ExposedError struct {
	Path string
	Mode fs.FileMode
	Ours bool // this user owns it, and may change its mode
}

func (e *ExposedError) Error() string {
	return fmt.Sprintf("%s can be read by others (mode %04o)", e.Path, e.Mode.Perm())
}

// Hint returns advice that this user can follow.
func (e *ExposedError) Hint() string {
	if e.Ours {
		return "chmod 600 " + e.Path
	}
	return "its owner can run chmod 600 " + e.Path + "; in a container, mount it read-only (Kubernetes: a secret with " +
		"defaultMode: 0400 and fsGroup; Docker: a secret); under systemd, use LoadCredential="
}

// secretPlaces are the folders in which Docker, Podman and Kubernetes mount secrets.
var secretPlaces = []string{"/run/secrets", "/var/run/secrets"}

// ReadSecret reads a file that only its user may read, or returns an *ExposedError. Orchestrators
// mount secrets with wider modes that this user cannot change. So the mode does not matter on a
// read-only file system; a file of root, and one in a folder of secrets, may be readable by its
// group, and a file of root in such a folder by everybody. credentials is the folder of systemd's
// credentials, or empty.
func ReadSecret(path, credentials string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if st.IsDir() {
		return nil, fmt.Errorf("%s is a folder", path)
	}
	if exposed(st, inSecretPlace(path, credentials)) && !OnReadOnly(f) {
		return nil, &ExposedError{Path: path, Mode: st.Mode(), Ours: UserOf(st) == os.Geteuid()}
	}
	return io.ReadAll(f)
}

// exposed reports whether a file's mode shows a secret to others. placed means that it is in a
// folder of secrets.
func exposed(st fs.FileInfo, placed bool) bool {
	roots := UserOf(st) == 0
	refused := fs.FileMode(0o077)
	switch {
	case roots && placed:
		refused = 0o022
	case roots || placed:
		refused = 0o027
	}
	return st.Mode().Perm()&refused != 0
}

// inSecretPlace reports whether the file that a path leads to is in a folder of secrets.
func inSecretPlace(path, credentials string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	return err == nil && slices.ContainsFunc(append([]string{credentials}, secretPlaces...), func(dir string) bool {
		dir, err := filepath.EvalSymlinks(dir)
		return err == nil && filepath.IsAbs(dir) && strings.HasPrefix(real, filepath.Clean(dir)+string(filepath.Separator))
	})
}
