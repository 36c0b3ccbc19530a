package question

import (
	"fmt"

	"callhouse/internal/words"
)

// UnknownError is the error for an unknown name. It lists the known ones.
type UnknownError struct {
	What    string // report, table, dimension, agent, extracted field
	Name    string
	Nearest string // the most similar known name; may be empty
	Known   []string
}

func (e *UnknownError) Error() string { return fmt.Sprintf("unknown %s %q", e.What, e.Name) }

// Unknown returns an *UnknownError.
func Unknown(what, name string, known []string) error {
	return &UnknownError{What: what, Name: name, Nearest: words.Nearest(name, known), Known: known}
}

// GroupError is the error for groups, conditions or periods that a report does not support.
type GroupError struct{ What, Hint string }

func (e *GroupError) Error() string { return e.What }

// AmbiguousError is the error for a text that matches several objects.
type AmbiguousError struct {
	What string // agent, call, campaign
	Text string
	Fits Fit
	IDs  []string // of the matching objects, with their names where known
}

// Fit is the part of an object that a text matches.
type Fit string

// The parts that a text can match.
const (
	FitsID       Fit = "have an id that starts with"
	FitsName     Fit = "are named"
	FitsPart     Fit = "have a name that contains"
	FitsIDOrName Fit = "match by name or id"
)

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("several %ss %s %q", e.What, e.Fits, e.Text)
}
