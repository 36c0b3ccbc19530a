//go:build !linux

package querycmd

import (
	"errors"
	"io/fs"
	"os"
)

// swapFolder puts the folder made in the place of target. Where target is, it
// is away for a moment, since this system cannot exchange two names.
func swapFolder(made, target string) error {
	if _, err := os.Lstat(target); errors.Is(err, fs.ErrNotExist) {
		return os.Rename(made, target)
	}
	return swapInTwo(made, target)
}
