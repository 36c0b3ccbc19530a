// Package cli holds what all commands share: exit codes, errors that tell the
// reader what to do, signals, and the reading of dates and time zones.
//
// It holds no logic of extract or query.
package cli

import (
	"errors"
	"fmt"
	"io"
)

// Exit codes: a public contract, scripts branch on them.
const (
	ExitOK          = 0   // done
	ExitFailed      = 1   // failed, nothing lost
	ExitUsage       = 2   // wrong use or configuration
	ExitIncomplete  = 3   // committed, but not all: deadline, calls that failed
	ExitLocked      = 4   // another run holds the warehouse
	ExitInterrupted = 130 // interrupted, committed
)

// Error is an error as a user meets it: what is wrong, what to do about it,
// and the exit code.
type Error struct {
	Code int
	Err  error
	Hint string // what to do; may be empty
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// Fail returns err with an exit code and a hint.
func Fail(code int, err error, hint string) error { return &Error{Code: code, Err: err, Hint: hint} }

// Usage returns an error of wrong use.
func Usage(hint, format string, args ...any) error {
	return &Error{Code: ExitUsage, Err: fmt.Errorf(format, args...), Hint: hint}
}

// Report writes err for a person, at most two lines, and returns the exit code
// that it carries; an error that carries none is ExitFailed.
func Report(stderr io.Writer, program string, err error) int {
	if err == nil {
		return ExitOK
	}
	e := &Error{Code: ExitFailed, Err: err}
	errors.As(err, &e)
	fmt.Fprintf(stderr, "%s: %v\n", program, err)
	if e.Hint != "" {
		fmt.Fprintf(stderr, "%*s  %s\n", len(program), "", e.Hint)
	}
	return e.Code
}
