package sink

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/sink/disk"
	"callhouse/internal/test"
)

// removable makes a warehouse of four snapshots, one a day, and returns the next run of it. Each run adds a call.
func removable(t *testing.T) (m *memFS, root string, open func(fsys disk.FS) *Warehouse) {
	t.Helper()
	m, root = storyRoot(t)
	n := 0
	open = func(fsys disk.FS) *Warehouse {
		n++
		return night(t, fsys, root, 48*n)
	}
	for _, id := range []string{"a", "b", "c", "d"} {
		w := open(m)
		test.OK(t, w.Put(context.Background(), storyRecord(id, 1)))
		test.OK(t, w.Finish(context.Background(), doneRow(w)))
		test.OK(t, w.Close())
	}
	return m, root, open
}

func numbers(t *testing.T, fsys disk.FS, root string) []int64 {
	t.Helper()
	all, err := layout.SnapshotNumbers(fsys, root)
	test.OK(t, err)
	return all
}

// Old snapshots, and those with forgotten calls, are removed, but never the current one.
func TestSnapshotsAreRemoved(t *testing.T) {
	m, root, open := removable(t)
	var fsys disk.FS = m
	before := numbers(t, fsys, root)
	for range 2 {
		w := open(fsys)
		test.OK(t, w.Put(context.Background(), storyRecord("e", 1)))
		test.OK(t, w.Finish(context.Background(), doneRow(w)))
		test.OK(t, w.Close())
	}
	remaining := numbers(t, fsys, root)
	if remaining[0] <= before[0] {
		t.Errorf("of the snapshots %v stay %v", before, remaining)
	}
	w := open(fsys)
	mustForget(t, w, Selection{CallIDs: []string{"a"}})
	if left := numbers(t, fsys, root); left[0] <= remaining[len(remaining)-1] {
		t.Errorf("of the snapshots %v with a forgotten call stay %v", remaining, left)
	}
	checkForgotten(t, fsys, root, w.Snapshot(), "a")
	if err := removeSnapshot(fsys, w.Snapshot().Dir); err == nil {
		t.Error("the current snapshot is removed")
	}
}

// Whichever operation of a removal is the last one: what is left is the whole snapshot, or
// none, and the next run removes it.
func TestRemovalIsInterrupted(t *testing.T) {
	longtest.Only(t)
	m, root, open := removable(t)
	number := numbers(t, m, root)[0]
	victim := layout.SnapshotName(number)
	for k := 0; ; k++ {
		for _, powerCut := range []bool{false, true} {
			after := m.afterPowerCut() // a copy
			f := &faultFS{FS: after, root: root, at: k, err: errors.New("killed"), stop: true}
			err := removeSnapshot(f, filepath.Join(root, layout.SnapshotsName, victim))
			if !f.fired {
				if err != nil || k < 10 {
					t.Fatalf("after %d operations: %v", k, err)
				}
				return
			}
			if powerCut {
				after = after.afterPowerCut()
			}
			var fsys disk.FS = after
			if s, err := layout.OpenSnapshot(fsys, root, number); err == nil && layout.Complete(fsys, s) != nil || err != nil && !disk.IsGone(err) {
				t.Fatalf("%s: the rest of a snapshot is taken for one (%v)", f.log[k], err)
			}
			w := open(fsys)
			test.OK(t, w.Finish(context.Background(), doneRow(w)))
			test.OK(t, w.Close())
			if _, err := fsys.Lstat(filepath.Join(root, layout.SnapshotsName, victim)); !disk.IsGone(err) {
				t.Fatalf("%s: the rest of the snapshot stays (%v)", f.log[k], err)
			}
		}
	}
}

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

func unlessStrange[T any](s *strangeFS, name string, do func(string) (T, error)) (out T, err error) {
	if err = s.check(name); err == nil {
		return do(name)
	}
	return out, err
}

func (s *strangeFS) ReadFile(name string) ([]byte, error) {
	return unlessStrange(s, name, s.FS.ReadFile)
}
func (s *strangeFS) Open(name string) (disk.File, error) { return unlessStrange(s, name, s.FS.Open) }
func (s *strangeFS) Lstat(name string) (fs.FileInfo, error) {
	return unlessStrange(s, name, s.FS.Lstat)
}
func (s *strangeFS) ReadDir(name string) ([]fs.DirEntry, error) {
	return unlessStrange(s, name, s.FS.ReadDir)
}

func (s *strangeFS) Remove(name string) error {
	if err := s.check(name); err != nil {
		return err
	}
	return s.FS.Remove(name)
}

// Names in a warehouse that are not callhouse's are neither opened nor changed, and stop nothing.
func TestForeignFilesStay(t *testing.T) {
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
		test.OK(t, w.Finish(context.Background(), doneRow(w)))
		if n < 4 {
			test.OK(t, w.Close())
		}
	}
	test.OK(t, compact(w, "2026-10"))
	_, err = w.Rollback(ctx, 0, rolledBack(w))
	test.OK(t, err)
	mustForget(t, w, Selection{CallIDs: []string{"a"}})
	if v, err := Verify(ctx, VerifyOptions{Root: root, FS: s}); err != nil || !v.Whole() {
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
