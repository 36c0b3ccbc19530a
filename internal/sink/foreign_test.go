package sink

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
	"callhouse/internal/sink/erase"
	"callhouse/internal/sink/verify"
	"callhouse/internal/test"
)

// strangers are names that file systems and other programs put into the folder of a volume.
var strangers = []string{"lost+found", ".Trash-1000", "@eaDir", ".snapshot", ".zfs", "System Volume Information",
	"snapshots/lost+found", "snapshots/@eaDir", "journal/lost+found", "000001", "20261119T020000Z-0000002a", "calls.csv"}

// strangeFS refuses access to these names, as to those of root.
type strangeFS struct {
	disk.FS
	root string

	mu      sync.Mutex
	touched []string
}

func (s *strangeFS) check(name string) error {
	for _, stranger := range strangers {
		if path := filepath.Join(s.root, filepath.FromSlash(stranger)); name == path || strings.HasPrefix(name, path+string(filepath.Separator)) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.touched = append(s.touched, name)
			return &fs.PathError{Op: "open", Path: name, Err: syscall.EACCES}
		}
	}
	return nil
}

func (s *strangeFS) ReadFile(name string) ([]byte, error) {
	if err := s.check(name); err != nil {
		return nil, err
	}
	return s.FS.ReadFile(name)
}

func (s *strangeFS) Open(name string) (disk.File, error) {
	if err := s.check(name); err != nil {
		return nil, err
	}
	return s.FS.Open(name)
}

func (s *strangeFS) Lstat(name string) (fs.FileInfo, error) {
	if err := s.check(name); err != nil {
		return nil, err
	}
	return s.FS.Lstat(name)
}

func (s *strangeFS) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := s.check(name); err != nil {
		return nil, err
	}
	return s.FS.ReadDir(name)
}

func (s *strangeFS) Remove(name string) error {
	if err := s.check(name); err != nil {
		return err
	}
	return s.FS.Remove(name)
}

// Names in a warehouse that are not callhouse's are neither opened nor changed, and stop nothing.
func TestStrangersAreLeftAlone(t *testing.T) {
	root := filepath.Join(t.TempDir(), "w")
	for _, name := range strangers {
		path := filepath.Join(root, filepath.FromSlash(name))
		if filepath.Ext(name) == ".csv" {
			test.OK(t, os.WriteFile(path, []byte("call-a"), 0o600))
			continue
		}
		test.OK(t, os.MkdirAll(filepath.Join(path, "deep"), 0o700))
	}
	plain, err := disk.Open(root)
	test.OK(t, err)
	s := &strangeFS{FS: plain, root: root}
	ctx := context.Background()
	var w *Warehouse
	for n := range 5 {
		w = night(t, s, root, 48*n)
		test.OK(t, w.Put(ctx, storyRecord(string(rune('a'+n)), 1), storyRecord("z", 1+n)))
		mustFinish(t, w)
		if n < 4 {
			test.OK(t, w.Close())
		}
	}
	test.OK(t, compact(w, "2026-10"))
	if _, err := w.Rollback(ctx, 0, func(*layout.Snapshot) schema.Run {
		return schema.Run{ID: layout.RunID(testDay, 77), StartedAt: 1, Outcome: schema.OutcomeRolledBack}
	}); err != nil {
		t.Error(err)
	}
	mustForget(t, w, erase.Selection{CallIDs: []string{"a"}})
	if v, err := verify.Warehouse(ctx, verify.Options{Root: root, FS: s, All: true}); err != nil || !v.Whole() || len(v.Leftovers) > 0 {
		t.Errorf("verify: %+v, %v", v, err)
	}
	test.OK(t, w.Close())
	if len(s.touched) > 0 {
		t.Errorf("touched: %q", s.touched)
	}
	for _, name := range strangers {
		if _, err := os.Lstat(filepath.Join(root, filepath.FromSlash(name))); err != nil {
			t.Error(err)
		}
	}
}
