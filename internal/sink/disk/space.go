package disk

import (
	"errors"
	"fmt"
	"slices"
	"syscall"
)

// Shortage is the exhausted resource of a disk.
type Shortage uint8

// Exhausted resources.
const (
	NoBytes    Shortage = iota // a full disk
	NoInodes                   // the maximum number of files
	NoQuota                    // quota of bytes, or of files
	NoFileSize                 // the limit on the size of a process's files
)

// NoSpaceError means that nothing more could be written. The last snapshot is unaffected, and
// fetched data stays in the journal.
type NoSpaceError struct {
	Root  string
	Wants int64 // estimated bytes for the next attempt
	Of    Shortage
	Err   error
}

// NoSpace returns the *NoSpaceError for an error of [IsNoSpace]. It examines the file system, so it
// must be called before the written files are removed again.
func NoSpace(root string, wants int64, err error) *NoSpaceError {
	return &NoSpaceError{Root: root, Wants: wants, Of: shortageOf(err, roomUnder(root), wants), Err: err}
}

// shortages describes the resources and the advice for the operator.
var shortages = map[Shortage]struct{ what, advice string }{
	NoBytes:  {"no space left under %s", "free some space and run again"},
	NoInodes: {"no inodes left under %s, so no file can be created", "remove files there (df -i counts them) and run again"},
	NoQuota:  {"the disk quota is used up under %s", "free some space, or raise the quota (of space or files), and run again"},
	NoFileSize: {"a file under %s reached the limit on the size of files",
		"raise the limit (ulimit -f, or LimitFSIZE= of the service) and run again"},
}

func (e *NoSpaceError) Error() string {
	return fmt.Sprintf(shortages[e.Of].what+" (a commit now needs about %d MB): %v", e.Root, (e.Wants>>20)+1, e.Err)
}

func (e *NoSpaceError) Unwrap() error { return e.Err }

// Hint returns advice for the operator.
func (e *NoSpaceError) Hint() string { return shortages[e.Of].advice + ": no fetched data is lost" }

// room is the free space on a file system.
type room struct {
	known, hasInodes bool // some file systems create inodes on demand
	bytes, inodes    int64
}

// fewInodes is the number of free inodes below which they count as exhausted if there is enough
// space. The failed operation may have freed some.
const fewInodes = 256

// shortageOf returns the cause of an error of [IsNoSpace].
func shortageOf(err error, left room, wants int64) Shortage {
	switch {
	case isAny(err, overQuota):
		return NoQuota
	case errors.Is(err, syscall.EFBIG):
		return NoFileSize
	case left.known && left.hasInodes && (left.inodes == 0 || left.inodes < fewInodes && left.bytes > wants+1<<20):
		return NoInodes
	}
	return NoBytes
}

// IsNoSpace reports whether a full disk, an exhausted quota, or the limit on the size of a
// process's files caused err.
func IsNoSpace(err error) bool {
	return isAny(err, full) || isAny(err, overQuota) || errors.Is(err, syscall.EFBIG)
}

// The errors of a full disk and of an exhausted quota.
var full, overQuota = []syscall.Errno{syscall.ENOSPC}, []syscall.Errno{syscall.EDQUOT}

func isAny(err error, kinds []syscall.Errno) bool {
	return slices.ContainsFunc(kinds, func(kind syscall.Errno) bool { return errors.Is(err, kind) })
}

// roomUnder returns the free space of a file system.
func roomUnder(path string) room {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return room{}
	}
	size := int64(s.Bsize) //nolint:unconvert // 32 bits on macOS
	return room{known: true, bytes: int64(s.Bavail) * size, inodes: int64(s.Ffree), hasInodes: s.Files > 0}
}
