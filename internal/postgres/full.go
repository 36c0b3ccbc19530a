package postgres

import (
	"errors"
	"syscall"
)

// isFull reports whether the process has no room for another connection.
func isFull(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ECONNABORTED)
}
