// Package proven compares the data files of a snapshot with the checksums in its manifest before
// they are read, and remembers the result for a day, so that only the first query of a day pays for
// it.
//
// The record is in the user's cache folder, outside of all warehouses: a reader changes nothing in
// a warehouse. A file counts as compared while its inode, size and times are the same. If nothing
// can be stored, files are compared every time.
package proven

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/sourcegraph/conc/pool"

	"callhouse/internal/layout"
)

// forget is how long a comparison is valid.
const forget = 24 * time.Hour

// Ledger remembers the files of one warehouse. It is safe for concurrent use.
type Ledger struct {
	path string // of its file; empty: nothing can be stored
	now  func() time.Time

	mu    sync.Mutex
	seen  map[string]time.Time // when files were compared, by stamp
	added bool                 // some are not saved yet
}

// Open returns the ledger of the warehouse at root.
func Open(root string, now func() time.Time) *Ledger {
	l := &Ledger{now: now, seen: map[string]time.Time{}}
	cache, err := os.UserCacheDir()
	if err != nil {
		return l
	}
	if abs, err := filepath.Abs(root); err == nil {
		root = abs
	}
	sum := sha256.Sum256([]byte(root))
	l.path = filepath.Join(cache, "callhouse", "proven-"+hex.EncodeToString(sum[:8])+".json")
	if raw, err := os.ReadFile(l.path); err == nil && json.Unmarshal(raw, &l.seen) != nil {
		l.seen = map[string]time.Time{}
	}
	maps.DeleteFunc(l.seen, func(_ string, at time.Time) bool { return !l.fresh(at) })
	return l
}

// fresh reports whether a comparison is still valid.
func (l *Ledger) fresh(at time.Time) bool {
	age := l.now().Sub(at)
	return age >= 0 && age < forget
}

// Prove compares the files of a snapshot that were not compared within a day. A file that differs
// from the manifest is a *layout.DamageError.
func (l *Ledger) Prove(ctx context.Context, s *layout.Snapshot, files []*layout.File) error {
	d, err := layout.OpenDir(s.Root())
	if err != nil {
		return fmt.Errorf("open the warehouse: %w", err)
	}
	defer d.Close()
	work := pool.New().WithContext(ctx).WithCancelOnError().WithFirstError().WithMaxGoroutines(runtime.GOMAXPROCS(0))
	for _, f := range files {
		work.Go(func(ctx context.Context) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return l.prove(d, s.Path(f), f)
		})
	}
	if err := work.Wait(); err != nil {
		return err
	}
	return l.save()
}

func (l *Ledger) prove(d *layout.Dir, path string, f *layout.File) error {
	info, err := d.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &layout.DamageError{Path: path, What: "it is not there"}
	}
	if err != nil {
		return err
	}
	id := stamp(info, f)
	l.mu.Lock()
	_, known := l.seen[id]
	l.mu.Unlock()
	if known {
		return nil
	}
	file, err := d.Open(path)
	if err != nil {
		return err
	}
	if err := errors.Join(layout.Prove(file, path, f), file.Close()); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen[id], l.added = l.now(), true
	return nil
}

// stamp identifies a file among all that were ever in its place.
func stamp(info fs.FileInfo, f *layout.File) string {
	changed := ""
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		changed = fmt.Sprint(st.Dev, st.Ino, changeTime(st))
	}
	return fmt.Sprint(f.SHA256[:min(16, len(f.SHA256))], " ", info.Size(), " ", info.ModTime().UnixNano(), " ", changed)
}

// save writes the ledger. A failure only costs time.
func (l *Ledger) save() error {
	l.mu.Lock()
	if l.path == "" || !l.added {
		l.mu.Unlock()
		return nil
	}
	raw, err := json.Marshal(l.seen)
	l.added = false
	l.mu.Unlock()
	if err != nil {
		return err
	}
	if os.MkdirAll(filepath.Dir(l.path), 0o700) != nil {
		return nil
	}
	tmp, err := os.CreateTemp(filepath.Dir(l.path), filepath.Base(l.path)+".*")
	if err != nil {
		return nil
	}
	_, err = tmp.Write(raw)
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), l.path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
	}
	return nil
}
