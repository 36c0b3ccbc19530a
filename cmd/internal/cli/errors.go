// Package cli is shared by all commands: exit codes, errors with hints, signals, dates and time
// zones. It has no logic of extract or query.
package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"callhouse/internal/words"
)

// Exit codes: a public contract.
const (
	ExitOK          = 0   // done
	ExitFailed      = 1   // failed, nothing lost
	ExitUsage       = 2   // wrong use or configuration
	ExitIncomplete  = 3   // committed, but incomplete: deadline, failing calls
	ExitLocked      = 4   // another run holds the warehouse
	ExitInterrupted = 130 // interrupted, committed
)

// Error is an error for users: the problem, a hint, and the exit code.
type Error struct {
	Code     int
	Err      error
	Hint     string // may be empty
	Reported bool   // already printed: Report only returns its code
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// Fail returns err with an exit code and a hint.
func Fail(code int, err error, hint string) error { return &Error{Code: code, Err: err, Hint: hint} }

// Usage returns a usage error.
func Usage(hint, format string, args ...any) error {
	return &Error{Code: ExitUsage, Err: fmt.Errorf(format, args...), Hint: hint}
}

// DidYouMean prepends a suggested name to a hint. An empty name leaves the hint as it is.
func DidYouMean(near, hint string) string {
	if near == "" {
		return hint
	}
	return strings.TrimSpace("did you mean: " + near + "? " + hint)
}

// Suggest prepends the most similar known name to a hint.
func Suggest(name string, known []string, hint string) string {
	return DidYouMean(words.Nearest(name, known), hint)
}

// Code returns the exit code of err: ExitFailed if it has none, ExitOK if it is nil.
func Code(err error) int {
	if err == nil {
		return ExitOK
	}
	return of(err).Code
}

// Hint returns the hint of err, which may be empty.
func Hint(err error) string { return of(err).Hint }

// Reported marks err as printed, so that Report does not print it again.
func Reported(err error) error {
	if err == nil {
		return nil
	}
	e := *of(err)
	e.Reported = true
	return &e
}

// Rehint returns err with a changed hint.
func Rehint(err error, change func(hint string) string) error {
	if err == nil {
		return nil
	}
	e := *of(err)
	e.Hint = change(e.Hint)
	return &e
}

// Is reports whether err is or wraps an error of a type.
func Is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// of returns err as an Error, possibly with the hint of a wrapped error. For a file that this user
// may not access, the hint is about its owner.
func of(err error) *Error {
	e := &Error{Code: ExitFailed, Err: err}
	if hinted, ok := errors.AsType[interface {
		error
		Hint() string
	}](err); ok {
		e.Hint = hinted.Hint()
	}
	errors.As(err, &e)
	if hint := deniedHint(err); hint != "" {
		e = &Error{Code: e.Code, Err: e.Err, Hint: hint, Reported: e.Reported}
	}
	return e
}

// Report writes err in at most two lines and returns its exit code.
func Report(stderr io.Writer, program string, err error) int {
	if err == nil {
		return ExitOK
	}
	e := of(err)
	if e.Reported {
		return e.Code
	}
	words.Fprintf(stderr, "%s: %v\n", program, err)
	if e.Hint != "" {
		words.Fprintf(stderr, "%*s  %s\n", len(program), "", e.Hint)
	}
	return e.Code
}

// deniedHint returns a hint for a file that this user may not use; empty for other errors.
func deniedHint(err error) string {
	var at *fs.PathError
	if !errors.Is(err, fs.ErrPermission) || !errors.As(err, &at) {
		return ""
	}
	return "check the path, its owner and its mode (ls -ld " + words.Shell(at.Path) + "), and run this as the warehouse's user"
}
