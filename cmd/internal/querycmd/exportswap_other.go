//go:build !linux

package querycmd

import (
	"errors"
	"io/fs"
	"os"
)

// swapFolder replaces target by the folder made. An existing target is briefly missing, since this
// system cannot exchange two names.
func swapFolder(made, target string) error {
	if _, err := os.Lstat(target); errors.Is(err, fs.ErrNotExist) {
		return os.Rename(made, target)
	}
	return swapInTwo(made, target)
}
