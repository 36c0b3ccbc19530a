package layout

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// Hold keeps a snapshot, even when superseded, until release is called or the process ends, by a
// shared lock on its manifest. On a file system without locks, it stays for as long as any other.
func (s *Snapshot) Hold() (release func() error) {
	lock := flock.New(filepath.Join(s.Dir, ManifestName), flock.SetFlag(os.O_RDONLY))
	_, _ = lock.TryRLock()
	return lock.Close
}

// InUse reports whether a process of this host holds a lock on a file.
func InUse(path string) bool {
	lock := flock.New(path, flock.SetFlag(os.O_RDONLY))
	free, err := lock.TryLock()
	_ = lock.Close()
	return !free && !errors.Is(err, fs.ErrNotExist)
}
