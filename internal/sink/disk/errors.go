package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"callhouse/internal/layout"
)

// DamageError says that a file of the warehouse does not hold what was once
// made durable in it.
type DamageError = layout.DamageError

// NoSpaceError says that the disk was full. The last snapshot stands, and what
// was fetched stays in the journal.
type NoSpaceError struct {
	Root  string
	Wants int64 // bytes that the next try will need, about
	Err   error
}

func (e *NoSpaceError) Error() string {
	return fmt.Sprintf("no space left under %s (a commit now wants about %d MB): %v", e.Root, (e.Wants>>20)+1, e.Err)
}

func (e *NoSpaceError) Unwrap() error { return e.Err }

// IsNoSpace reports whether err came of a full disk, an exhausted quota, or the
// limit on the size of a process's files.
func IsNoSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// IsGone reports whether err came of a file that is not there.
func IsGone(err error) bool { return errors.Is(err, fs.ErrNotExist) }
