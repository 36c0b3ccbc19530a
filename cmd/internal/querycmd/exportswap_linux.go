package querycmd

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// swapFolder replaces target by the folder made: by a rename or, if target exists, by an exchange.
// After an exchange, made is the old folder.
func swapFolder(made, target string) error {
	err := unix.Renameat2(unix.AT_FDCWD, made, unix.AT_FDCWD, target, unix.RENAME_EXCHANGE)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return os.Rename(made, target)
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EINVAL): // the file system does not support exchanges
		return swapInTwo(made, target)
	}
	return &os.PathError{Op: "rename", Path: target, Err: err}
}
