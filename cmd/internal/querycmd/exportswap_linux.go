package querycmd

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// exchange exchanges two names.
func exchange(a, b string) error {
	if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err != nil {
		return &fs.PathError{Op: "rename", Path: b, Err: err}
	}
	return nil
}
