package disk

import (
	"os"

	"github.com/gofrs/flock"
)

// Hold is a lock on a file.
type Hold = flock.Flock

// NewHold returns a lock on the file at path, not yet taken. Taking it makes the file.
func NewHold(path string) *Hold { return flock.New(path, flock.SetPermissions(0o600)) }

// ProbeHold is like NewHold, but does not create the file, and only reads it.
func ProbeHold(path string) *Hold { return flock.New(path, flock.SetFlag(os.O_RDONLY)) }
