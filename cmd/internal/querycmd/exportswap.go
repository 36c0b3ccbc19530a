package querycmd

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// swapInTwo exchanges two folders by two renames. target is never incomplete, but it is briefly
// missing.
func swapInTwo(made, target string) error {
	old := made + ".old"
	if err := os.Rename(target, old); err != nil {
		return err
	}
	if err := os.Rename(made, target); err != nil {
		return errors.Join(err, os.Rename(old, target))
	}
	return os.Rename(old, made)
}

// refill replaces the files of an export in target by those in made, where target cannot be renamed:
// in a lower layer of overlayfs. target is briefly incomplete, but its manifest always names its
// files, so that an interrupted export can be repeated.
func refill(made, target string) error {
	entries, err := os.ReadDir(made)
	for name := range writtenIn(target) {
		if name != exportName {
			err = cmp.Or(err, gone(os.Remove(filepath.Join(target, name))))
		}
	}
	move := func(name string) {
		if err == nil {
			err = os.Rename(filepath.Join(made, name), filepath.Join(target, name))
		}
	}
	move(exportName)
	for _, e := range entries {
		if e.Name() != exportName {
			move(e.Name())
		}
	}
	return err
}

// gone returns err, unless it says that the file does not exist.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
