package analytics

import (
	"fmt"

	"callhouse/internal/words"
)

// UnknownError says that a name is not known, and which are.
type UnknownError struct {
	What    string // report, table, dimension, agent, extracted field
	Name    string
	Nearest string // the known name most like it; may be empty
	Known   []string
}

func (e *UnknownError) Error() string { return fmt.Sprintf("unknown %s %q", e.What, e.Name) }

func unknown(what, name string, known []string) error {
	return &UnknownError{What: what, Name: name, Nearest: words.Nearest(name, known), Known: known}
}
