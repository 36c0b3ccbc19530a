package querycmd

import (
	"errors"
	"os"
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
