package disk

import (
	"errors"
	"fmt"
	"syscall"
)

// Shortage says what a disk had no more of.
type Shortage uint8

// What there can be too little of.
const (
	NoBytes    Shortage = iota // a full disk
	NoInodes                   // as many files as the file system can hold
	NoQuota                    // of bytes, or of files
	NoFileSize                 // the limit on the size of a process's files
)

// NoSpaceError says that nothing more could be written. The last snapshot stands, and what
// was fetched stays in the journal.
type NoSpaceError struct {
	Root  string
	Wants int64 // bytes that the next try will need, about
	Of    Shortage
	Err   error
}

// NoSpace returns the *NoSpaceError for an error of [IsNoSpace]. It looks at the file system,
// so it must come before what was written is removed again.
func NoSpace(root string, wants int64, err error) *NoSpaceError {
	return &NoSpaceError{Root: root, Wants: wants, Of: shortageOf(err, roomUnder(root), wants), Err: err}
}

func (e *NoSpaceError) Error() string {
	wants := fmt.Sprintf("a commit now wants about %d MB", (e.Wants>>20)+1)
	switch e.Of {
	case NoInodes:
		return fmt.Sprintf("no inodes left under %s, so that no file can be made, whatever space is free: %v", e.Root, e.Err)
	case NoQuota:
		return fmt.Sprintf("the disk quota is used up under %s (%s): %v", e.Root, wants, e.Err)
	case NoFileSize:
		return fmt.Sprintf("a file under %s reached the limit on the size of files: %v", e.Root, e.Err)
	case NoBytes:
	}
	return fmt.Sprintf("no space left under %s (%s): %v", e.Root, wants, e.Err)
}

func (e *NoSpaceError) Unwrap() error { return e.Err }

// Hint says what to do about it.
func (e *NoSpaceError) Hint() string {
	switch e.Of {
	case NoInodes:
		return "remove files from that file system (df -i counts them), or make it anew with more inodes, and run again: nothing fetched is lost"
	case NoQuota:
		return "free some space, or have the quota of space or files raised (quota shows both), and run again: nothing fetched is lost"
	case NoFileSize:
		return "raise the limit (ulimit -f, or LimitFSIZE= of the service) and run again: nothing fetched is lost"
	case NoBytes:
	}
	return "free some space and run again: nothing fetched is lost"
}

// room is what a file system has left.
type room struct {
	known, hasInodes bool // some file systems make inodes as they need them
	bytes, inodes    int64
}

// fewInodes is how many free inodes point to a lack of them, where there is space enough: what
// failed may have given some back.
const fewInodes = 256

// shortageOf says what an error of [IsNoSpace] came of.
func shortageOf(err error, left room, wants int64) Shortage {
	switch {
	case errors.Is(err, syscall.EDQUOT):
		return NoQuota
	case errors.Is(err, syscall.EFBIG):
		return NoFileSize
	case left.known && left.hasInodes && (left.inodes == 0 || left.inodes < fewInodes && left.bytes > wants+1<<20):
		return NoInodes
	}
	return NoBytes
}

// IsNoSpace reports whether err came of a full disk, an exhausted quota, or the
// limit on the size of a process's files.
func IsNoSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}
