package postgres

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgproto3"
)

// Error is a Postgres error. Code is an SQLSTATE.
type Error struct {
	Code, Message, Hint string
}

func (e *Error) Error() string { return e.Message }

// The SQLSTATEs of this package's own errors.
const (
	codeProtocol        = "08P01"
	codeUnsupported     = "0A000"
	codeBadValue        = "22P02"
	codeBadParameter    = "22023"
	codeNoTransaction   = "25P01"
	codeFailed          = "25P02"
	codeIdle            = "25P03"
	codeNoStatement     = "26000"
	codeBadLogin        = "28000"
	codeBadPassword     = "28P01"
	codeNoCursor        = "34000"
	codeSyntax          = "42601"
	codeUnknownSetting  = "42704"
	codeTwice           = "42P05"
	codeTooMany         = "53300"
	codeCannotChange    = "55P02"
	codeCancelled       = "57014"
	codeShutdown        = "57P01"
	codeInternal        = "XX000"
	codeReadOnly        = "25006"
	codeNotUTF8         = "22021"
	codeTooLong         = "54000"
	codeIncompatibleTLS = "28000"
)

func fail(code, message string) error { return &Error{Code: code, Message: message} }

// readable refuses text that is not UTF-8, as Postgres does.
func readable(text []byte) error {
	if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
		return fail(codeNotUTF8, `invalid byte sequence for encoding "UTF8"`)
	}
	return nil
}

// Reasons why a statement was stopped.
var (
	errCancelled = fail(codeCancelled, "canceling statement due to user request")
	errTimeout   = fail(codeCancelled, "canceling statement due to statement timeout")
	errAborted   = fail(codeFailed, "current transaction is aborted, commands ignored until end of transaction block")
	errGone      = errors.New("the client has disconnected")
	errIdle      = &Error{Code: codeIdle, Message: "terminating connection due to idle-in-transaction timeout",
		Hint: "end transactions after use"}
	errIdleSession = &Error{Code: "57P05", Message: "terminating connection due to idle-session timeout"}
	errShutdown    = fail(codeShutdown, "terminating connection due to administrator command")
)

// asError converts an error to one with an SQLSTATE.
func asError(err error) *Error {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: codeCancelled, Message: "canceling statement due to user request"}
	}
	return &Error{Code: codeInternal, Message: err.Error()}
}

func (e *Error) response(severity string) *pgproto3.ErrorResponse {
	clean := func(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
	return &pgproto3.ErrorResponse{Severity: severity, SeverityUnlocalized: severity, Code: e.Code,
		Message: clean(e.Message), Hint: clean(e.Hint)}
}
