package disk

import (
	"errors"
	"io/fs"

	"callhouse/internal/layout"
)

// DamageError says that a file of the warehouse does not hold what was once
// made durable in it.
type DamageError = layout.DamageError

// IsGone reports whether err came of a file that is not there.
func IsGone(err error) bool { return errors.Is(err, fs.ErrNotExist) }
