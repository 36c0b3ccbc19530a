//go:build !linux

package querycmd

import "errors"

// exchange is not possible on this system.
func exchange(string, string) error { return errors.ErrUnsupported }
