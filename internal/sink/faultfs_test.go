package sink

import (
	"fmt"
	"path/filepath"
	"regexp"
	"sync"
	"testing"

	"callhouse/internal/longtest"
	"callhouse/internal/sink/disk"
)

// faultFS passes operations that change the disk to another file system, logs them, and makes the
// k-th fail, or all from the k-th on, as if the process had died.
type faultFS struct {
	disk.FS
	root string
	err  error // the error of the failing operation
	at   int   // the failing operation; negative: none
	stop bool  // and all later ones

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

var digits = regexp.MustCompile(`[0-9]+`)

// chosen returns which operations of a log fail, one at a time: the first of each kind (what is done
// to which kind of file in which table), or with -long every n-th besides. With -short, for the race
// detector, it is every tenth of them.
func chosen(log []string, n int) (ops []int) {
	seen := map[string]bool{}
	for k, op := range log {
		kind := digits.ReplaceAllString(op, "#")
		if !seen[kind] && (!testing.Short() || len(seen)%10 == 0) || longtest.On() && k%n == 0 {
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
	if err := f.fs.op("write", f.name); err != nil {
		n, _ := f.File.Write(p[:len(p)/2])
		return n, err
	}
	return f.File.Write(p)
}

func (f *faultFile) Sync() error {
	return f.fs.do(f.File.Sync, "sync", f.name)
}
