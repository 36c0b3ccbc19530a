package sink

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"callhouse/internal/layout"
	"callhouse/internal/sink/disk"
	"callhouse/internal/sink/erase"
	"callhouse/internal/sink/snapshot"
	"callhouse/internal/test"
)

// layeredFS cannot rename the folders of snapshots, like overlayfs those of a lower layer: only a
// new folder gets its name.
type layeredFS struct{ disk.FS }

func (l *layeredFS) Rename(from, to string) error {
	if _, is := layout.ParseSnapshotName(filepath.Base(from)); is {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: syscall.EXDEV}
	}
	return l.FS.Rename(from, to)
}

// layered makes a warehouse of four snapshots, one a day, and returns the next run of it. Each run
// adds a call.
func layered(t *testing.T) (m *memFS, root string, open func(fsys disk.FS) *Warehouse) {
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
		mustFinish(t, w)
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

// On a file system in layers, old and forgotten snapshots are removed all the same.
func TestSnapshotsInLayersAreRemoved(t *testing.T) {
	m, root, open := layered(t)
	fsys := &layeredFS{m}
	before := numbers(t, fsys, root)
	for range 2 {
		w := open(fsys)
		test.OK(t, w.Put(context.Background(), storyRecord("e", 1)))
		mustFinish(t, w)
		test.OK(t, w.Close())
	}
	kept := numbers(t, fsys, root)
	if kept[0] <= before[0] {
		t.Errorf("of the snapshots %v stay %v", before, kept)
	}
	w := open(fsys)
	mustForget(t, w, erase.Selection{CallIDs: []string{"a"}})
	if left := numbers(t, fsys, root); left[0] <= kept[len(kept)-1] {
		t.Errorf("of the snapshots %v with a forgotten call stay %v", kept, left)
	}
	checkForgotten(t, fsys, root, w.Snapshot(), "a")
	if err := snapshot.Remove(fsys, w.Snapshot().Dir); err == nil {
		t.Error("the current snapshot is removed")
	}
}

// Whichever operation of a removal in place is the last one: what is left is the whole snapshot, or
// none, and the next run removes it.
func TestRemovalInLayersIsInterrupted(t *testing.T) {
	m, root, open := layered(t)
	number := numbers(t, m, root)[0]
	victim := layout.SnapshotName(number)
	for k := 0; ; k++ {
		for _, powerCut := range []bool{false, true} {
			after := m.afterPowerCut() // a copy
			f := &faultFS{FS: &layeredFS{after}, root: root, at: k, err: errors.New("killed"), stop: true}
			err := snapshot.Remove(f, filepath.Join(root, layout.SnapshotsName, victim))
			if !f.fired {
				if err != nil || k < 10 {
					t.Fatalf("after %d operations: %v", k, err)
				}
				return
			}
			if powerCut {
				after = after.afterPowerCut()
			}
			fsys := &layeredFS{after}
			if s, err := layout.OpenSnapshot(fsys, root, number); err == nil && layout.Complete(fsys, s) != nil || err != nil && !disk.IsGone(err) {
				t.Fatalf("%s: the rest of a snapshot is taken for one (%v)", f.log[k], err)
			}
			w := open(fsys)
			mustFinish(t, w)
			test.OK(t, w.Close())
			if _, err := fsys.Lstat(filepath.Join(root, layout.SnapshotsName, victim)); !disk.IsGone(err) {
				t.Fatalf("%s: the rest of the snapshot stays (%v)", f.log[k], err)
			}
		}
	}
}
