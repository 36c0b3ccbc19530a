package sink

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/sink/disk"
	"callhouse/internal/test"
)

// faultFS passes operations that change the disk to another file system, logs them, and makes the
// k-th fail, or all from the k-th on, as if the process had died.
type faultFS struct {
	disk.FS
	root string
	err  error // the error of the failing operation
	at   int   // the failing operation; negative: none
	stop bool  // and all later ones
	// before is called before each operation that does not fail, or in the middle of a write.
	before func(k int)

	mu    sync.Mutex
	n     int
	fired bool
	log   []string
}

func (f *faultFS) op(name string, paths ...string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := f.n
	f.n++
	for _, p := range paths {
		name += " " + f.plain(p)
	}
	f.log = append(f.log, name)
	if k == f.at || f.stop && f.at >= 0 && k > f.at {
		f.fired = true
		return fmt.Errorf("%s: %w", name, f.err)
	}
	if f.before != nil {
		f.before(k)
	}
	return nil
}

// do performs an operation unless it fails.
func (f *faultFS) do(op func() error, name string, paths ...string) error {
	if err := f.op(name, paths...); err != nil {
		return err
	}
	return op()
}

var randomID = regexp.MustCompile(`[0-9a-f]{16}`)

// plain makes a path reproducible.
func (f *faultFS) plain(path string) string {
	if rel, err := filepath.Rel(f.root, path); err == nil {
		path = rel
	}
	return randomID.ReplaceAllString(filepath.ToSlash(path), "<id>")
}

var digits, tables = regexp.MustCompile(`[0-9]+`), regexp.MustCompile(`/(calls|transcript_turns|analysis_items|tool_calls)\b`)

// chosen returns which operations of a log fail, one at a time: the first of each kind (what is done
// to which kind of file), or with -long the first in each table, and every n-th besides.
func chosen(log []string, n int) (ops []int) {
	seen := map[string]bool{}
	for k, op := range log {
		kind := digits.ReplaceAllString(op, "#")
		if !longtest.On() {
			kind = tables.ReplaceAllString(kind, "/TABLE")
		}
		if !seen[kind] || longtest.On() && k%n == 0 {
			ops = append(ops, k)
		}
		seen[kind] = true
	}
	return ops
}

func (f *faultFS) Create(name string) (disk.File, error) {
	if err := f.op("create", name); err != nil {
		return nil, err
	}
	file, err := f.FS.Create(name)
	return &faultFile{File: file, fs: f, name: name}, err
}

func (f *faultFS) Mkdir(name string) error {
	return f.do(func() error { return f.FS.Mkdir(name) }, "mkdir", name)
}
func (f *faultFS) Rename(from, to string) error {
	return f.do(func() error { return f.FS.Rename(from, to) }, "rename", from, to)
}
func (f *faultFS) Link(from, to string) error {
	return f.do(func() error { return f.FS.Link(from, to) }, "link", to)
}
func (f *faultFS) Symlink(target, name string) error {
	return f.do(func() error { return f.FS.Symlink(target, name) }, "symlink", name)
}
func (f *faultFS) Remove(name string) error {
	return f.do(func() error { return f.FS.Remove(name) }, "remove", name)
}
func (f *faultFS) SyncDir(name string) error {
	return f.do(func() error { return f.FS.SyncDir(name) }, "syncdir", name)
}

type faultFile struct {
	disk.File
	fs   *faultFS
	name string
}

// Write fails like a full disk, after a part of the data.
func (f *faultFile) Write(p []byte) (int, error) {
	half, err := f.File.Write(p[:len(p)/2])
	if err == nil {
		err = f.fs.op("write", f.name)
	}
	if err != nil {
		return half, err
	}
	rest, err := f.File.Write(p[half:])
	return half + rest, err
}

func (f *faultFile) Sync() error { return f.fs.do(f.File.Sync, "sync", f.name) }

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
	return errors.Join(l.fails("symlink"), l.FS.Symlink(target, name))
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
					test.OK(t, w.Finish(context.Background(), doneRow(w)))
					test.OK(t, w.Close())
				}
				fsys := &lackingFS{m, op, errno}
				w, err := Open(Options{Root: root, RunID: layout.RunID(testDay, 7), FS: fsys})
				var lacks *disk.CapabilityError
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
		test.OK(t, sweep(m, root, nil))
		if left := temps(t, m, root); len(left) > 0 {
			t.Fatalf("%s: left are %q", slices.Clone(f.log)[k], left)
		}
	}
}
