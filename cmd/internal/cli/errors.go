// Package cli holds what all commands share: exit codes, errors that tell the
// reader what to do, signals, and the reading of dates and time zones.
//
// It holds no logic of extract or query.
package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"callhouse/internal/words"
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
	Code     int
	Err      error
	Hint     string // what to do; may be empty
	Reported bool   // it was printed already: Report only returns its code
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// Fail returns err with an exit code and a hint.
func Fail(code int, err error, hint string) error { return &Error{Code: code, Err: err, Hint: hint} }

// Usage returns an error of wrong use.
func Usage(hint, format string, args ...any) error {
	return &Error{Code: ExitUsage, Err: fmt.Errorf(format, args...), Hint: hint}
}

// DidYouMean puts the name that was probably meant before a hint; "" is none.
func DidYouMean(near, hint string) string {
	if near == "" {
		return hint
	}
	return strings.TrimSpace("did you mean: " + near + "? " + hint)
}

// Suggest puts the known name that was probably meant before a hint.
func Suggest(name string, known []string, hint string) string {
	return DidYouMean(words.Nearest(name, known), hint)
}

// Code returns the exit code of err: ExitFailed if it carries none, ExitOK if it is
// nil.
func Code(err error) int {
	if err == nil {
		return ExitOK
	}
	return of(err).Code
}

// Hint returns what to do about err; it may be empty.
func Hint(err error) string { return of(err).Hint }

// Reported marks err as printed already, so that Report does not print it again.
func Reported(err error) error {
	if err == nil {
		return nil
	}
	e := *of(err)
	e.Reported = true
	return &e
}

// WasReported says whether err was printed already.
func WasReported(err error) bool { return err != nil && of(err).Reported }

// Is says whether err is, or wraps, an error of a type.
func Is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// of returns err as an Error. Its hint may be the error's own. For a file that this
// user may not read or write, the hint says whose file it is.
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

// Report writes err for a person, at most two lines, and returns the exit code
// that it carries; an error that carries none is ExitFailed.
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
