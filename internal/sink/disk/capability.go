package disk

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"syscall"

	"callhouse/internal/layout"
)

// CapabilityError means that a file system lacks what a warehouse needs.
type CapabilityError struct {
	Root string
	What string // it cannot do this
	Err  error
}

func (e *CapabilityError) Error() string {
	return fmt.Sprintf("the file system of %s cannot %s: %v", e.Root, e.What, e.Err)
}

func (e *CapabilityError) Unwrap() error { return e.Err }

// Hint returns advice for the operator.
func (e *CapabilityError) Hint() string {
	return "put the warehouse (--warehouse) on another file system: ext4, xfs, btrfs, zfs, APFS or NFS; " +
		"FAT, exFAT and many mounts of CIFS and FUSE lack something"
}

const syncFolders = "make a folder durable (fsync)"

// passing are errors that say nothing about the abilities of a file system.
var passing = []syscall.Errno{syscall.EIO, syscall.EROFS, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EINTR}

// cannot returns the *CapabilityError for a failed operation, or err itself if it says nothing about
// abilities.
func cannot(root, what string, err error) error {
	if err == nil || IsNoSpace(err) || IsGone(err) || isAny(err, passing) {
		return err
	}
	return &CapabilityError{Root: root, What: what, Err: err}
}

// Probe tries what commits need, before anything is fetched: a commit that fails for ever would
// waste every request. It returns a *CapabilityError. It works in a temporary folder next to the
// snapshots, which the next opening removes if this process is killed. A full disk is no reason to
// fail: what frees space must run.
func Probe(fsys FS, root string) error {
	snapshots := filepath.Join(root, layout.SnapshotsName)
	temp := func() string { return filepath.Join(snapshots, layout.TempName(layout.SnapshotName(0), NewID())) }
	dir, moved := temp(), temp()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := fsys.Mkdir(dir); err != nil {
		return probed(err)
	}
	steps := []struct {
		what string
		do   func() error
	}{
		{"make a file durable (fsync)", func() error { return syncNew(fsys, at("file")) }},
		{"make hard links", func() error { return fsys.Link(at("file"), at("link")) }},
		{"make symbolic links", func() error { return fsys.Symlink("file", at("symlink")) }},
		{"replace a file by a rename", func() error { return fsys.Rename(at("symlink"), at("link")) }},
		{syncFolders, func() error { return fsys.SyncDir(dir) }},
		{"rename a folder", func() error { return fsys.Rename(dir, moved) }},
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			_ = RemoveTree(fsys, dir) // otherwise the next opening does
			return probed(cannot(root, step.what, err))
		}
	}
	return probed(RemoveTree(fsys, moved))
}

// probed returns the error of a probe, except that of a full disk.
func probed(err error) error {
	var capability *CapabilityError
	switch {
	case err == nil || IsNoSpace(err):
		return nil
	case errors.As(err, &capability):
		return err
	}
	return fmt.Errorf("try the file system: %w", err)
}

// syncNew makes an empty file and makes it durable.
func syncNew(fsys FS, name string) error {
	f, err := fsys.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// IsNoSpace reports whether a full disk, an exhausted quota, or the limit on the size of a
// process's files caused err.
func IsNoSpace(err error) bool {
	return isAny(err, []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG})
}

func isAny(err error, kinds []syscall.Errno) bool {
	return slices.ContainsFunc(kinds, func(kind syscall.Errno) bool { return errors.Is(err, kind) })
}
