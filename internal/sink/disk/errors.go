package disk

import (
	"errors"
	"io/fs"

	"callhouse/internal/layout"
)

// DamageError means that a file of the warehouse no longer holds the data that was made durable in
// it.
type DamageError = layout.DamageError

// IsGone reports whether a missing file caused err.
func IsGone(err error) bool { return errors.Is(err, fs.ErrNotExist) }
