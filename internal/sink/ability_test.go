package sink

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"callhouse/internal/layout"
	"callhouse/internal/sink/disk"
	"callhouse/internal/sink/snapshot"
	"callhouse/internal/test"
)

// lackingFS has a file system's operation fail with err.
type lackingFS struct {
	disk.FS
	op  string
	err error
}

func (l *lackingFS) fails(op string) error {
	if op == l.op {
		return &os.PathError{Op: op, Path: "x", Err: l.err}
	}
	return nil
}

func (l *lackingFS) Link(from, to string) error {
	return errors.Join(l.fails("link"), l.FS.Link(from, to))
}

func (l *lackingFS) Symlink(target, name string) error {
	if err := l.fails("symlink"); err != nil {
		return err
	}
	return l.FS.Symlink(target, name)
}

func (l *lackingFS) Rename(from, to string) error {
	op := "rename"
	if _, isDir := l.ReadDir(from); isDir == nil {
		op = "rename folder"
	}
	if err := l.fails(op); err != nil {
		return err
	}
	return l.FS.Rename(from, to)
}

func (l *lackingFS) SyncDir(name string) error {
	return errors.Join(l.fails("syncdir"), l.FS.SyncDir(name))
}

func (l *lackingFS) Create(name string) (disk.File, error) {
	f, err := l.FS.Create(name)
	return &lackingFile{f, l}, err
}

type lackingFile struct {
	disk.File
	fs *lackingFS
}

func (l *lackingFile) Sync() error { return errors.Join(l.fs.fails("sync"), l.File.Sync()) }

// temps returns the temporary names among the snapshots.
func temps(t *testing.T, fsys disk.FS, root string) (names []string) {
	t.Helper()
	entries, err := fsys.ReadDir(filepath.Join(root, layout.SnapshotsName))
	if err != nil && !disk.IsGone(err) {
		t.Fatal(err)
	}
	for _, e := range entries {
		if layout.IsTempName(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names
}

// Where a commit could never succeed, the warehouse does not open, before anything is requested. A
// full disk or a failing one says nothing about what its file system can do.
func TestWhatAFileSystemMustDo(t *testing.T) {
	for op, what := range map[string]string{"link": "make hard links", "symlink": "make symbolic links", "rename": "replace a file by a rename",
		"rename folder": "rename a folder", "sync": "make a file durable", "syncdir": "make a folder durable"} {
		for _, errno := range []syscall.Errno{syscall.EPERM, syscall.ENOTSUP, syscall.ENOSYS, syscall.EINVAL, syscall.EIO, syscall.ENOSPC} {
			for _, existing := range []bool{false, true} {
				m, root := storyRoot(t)
				if existing {
					w := night(t, m, root, 0)
					test.OK(t, w.Put(context.Background(), storyRecord("a", 1)))
					mustFinish(t, w)
					test.OK(t, w.Close())
				}
				fsys := &lackingFS{m, op, errno}
				w, err := Open(Options{Root: root, RunID: layout.RunID(testDay, 7), FS: fsys})
				var lacks *disk.AbilityError
				switch is := errors.As(err, &lacks); {
				case errno == syscall.ENOSPC && existing && err != nil, errno == syscall.EIO && (is || err == nil):
					t.Errorf("%s, %v: %v", op, errno, err)
				case errno != syscall.ENOSPC && errno != syscall.EIO && (!is || !strings.HasPrefix(lacks.What, what) || !strings.HasPrefix(lacks.Root, root)):
					t.Errorf("%s, %v: %v", op, errno, err)
				}
				if w != nil {
					err = w.Close()
				}
				if left := temps(t, m, root); len(left) > 0 {
					t.Errorf("%s, %v: left are %q (%v)", op, errno, left, err)
				}
			}
		}
	}
}

// A process that is killed while it tries the file system leaves what the next opening removes.
func TestTrialIsInterrupted(t *testing.T) {
	m, root := storyRoot(t)
	test.OK(t, m.Mkdir(filepath.Join(root, layout.SnapshotsName)))
	for k := 0; ; k++ {
		f := &faultFS{FS: m, root: root, at: k, err: errors.New("killed"), stop: true}
		if err := disk.Probe(f, root); !f.fired {
			if err != nil || k < 8 || k > 16 || len(temps(t, m, root)) > 0 {
				t.Fatalf("%d operations: %v; left are %q", k, err, temps(t, m, root))
			}
			break
		}
		test.OK(t, snapshot.Sweep(m, root, nil))
		if left := temps(t, m, root); len(left) > 0 {
			t.Fatalf("%s: left are %q", slices.Clone(f.log)[k], left)
		}
	}
}
