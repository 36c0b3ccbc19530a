package serve

import (
	"cmp"
	"context"
	"errors"
	"io"
	"strings"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/guard"
	"callhouse/internal/analytics/opened"
	"callhouse/internal/layout"
	"callhouse/internal/postgres"
	"callhouse/internal/serve/dialect"
	"callhouse/internal/words"
)

// explain converts an error of a statement to a Postgres error, without the path of the warehouse
// at root.
func explain(root string, err error) error {
	told := told(err)
	var p *postgres.Error
	switch {
	case told == nil, errors.Is(err, io.EOF), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
	case errors.As(told, &p):
		p.Message = layout.Inside(root, p.Message)
	default:
		return &postgres.Error{Code: "XX000", Message: layout.Inside(root, told.Error())}
	}
	return told
}

// told is explain with paths unchanged.
func told(err error) error {
	var already *postgres.Error
	var d *duck.Error
	var unsafe *guard.UnsafeError
	var zone *opened.ZoneError
	var damage *layout.DamageError
	var unsupported *dialect.UnsupportedError
	coded := func(code, hint string) error {
		return &postgres.Error{Code: code, Message: words.Directed(err.Error()), Hint: words.Directed(hint)}
	}
	switch {
	case err == nil, errors.Is(err, io.EOF), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded),
		errors.As(err, &already):
		return err
	case errors.As(err, &unsafe):
		return coded("42501", "a statement can only read the tables of the schema public")
	case analytics.Denied(err):
		return coded("42501", "")
	case errors.Is(err, guard.ErrNotReading):
		return coded("25006", "the warehouse is read-only; only extract changes it")
	case errors.Is(err, guard.ErrTooDeep):
		return coded("54001", "rewrite it using WITH")
	case errors.Is(err, duck.ErrManyStatements), errors.Is(err, duck.ErrNoStatement):
		return coded("42601", "")
	case errors.As(err, &unsupported):
		return coded(cmp.Or(unsupported.Code, "0A000"), unsupported.Hint)
	case errors.As(err, &zone):
		return coded("22023", "")
	case errors.As(err, &damage):
		return coded("XX001", "ask the administrator of the warehouse to run extract repair, which replaces damaged files")
	case errors.As(err, &d):
		return &postgres.Error{Code: stateOf(d), Message: words.Directed(d.Text()), Hint: words.Directed(strings.Join(d.Nearest, ", "))}
	}
	return err
}

// stateOf returns the SQLSTATE of a DuckDB error.
func stateOf(d *duck.Error) string {
	if _, ok := d.MissingTable(); ok {
		return "42P01"
	}
	if _, _, ok := d.MissingColumn(); ok {
		return "42703"
	}
	says := func(texts ...string) bool {
		for _, t := range texts {
			if strings.Contains(d.Message, t) {
				return true
			}
		}
		return false
	}
	switch d.Kind {
	case "Parser", "Syntax":
		if strings.HasPrefix(d.Message, "memory exhausted") {
			return "54001" // the parser's stack is full
		}
		return "42601"
	case "Catalog":
		switch {
		case says("Function with name"):
			return "42883"
		case says("Type with name"):
			return "42704"
		case says("Schema with name"):
			return "3F000"
		}
		return "42P01"
	case "Binder":
		switch {
		case says("not found in FROM clause", "because the FROM clause is missing", "does not have a column named"):
			return "42703"
		case says("No function matches", "Could not choose a best candidate"):
			return "42883"
		case says("Ambiguous reference"):
			return "42702"
		case says("must appear in the GROUP BY", "aggregate"):
			return "42803"
		case says("Cannot compare", "Cannot mix"):
			return "42804"
		}
		return "42P10"
	case "Conversion":
		if says("overflow", "out of range") {
			return "22003"
		}
		return "22P02"
	case "Invalid Input":
		if says("division by zero") {
			return "22012"
		}
		return "22023"
	case "Out of Range":
		return "22003"
	case duck.TooLarge:
		return "54000"
	case "Out of Memory":
		return "53200"
	case "Not implemented", "Parameter Not Allowed":
		return "0A000"
	case "INTERNAL":
		if says("allocation") {
			return "53200"
		}
	case "FATAL": // caused by another statement
		return "58000"
	case "Permission":
		return "42501"
	case "IO":
		return "58030"
	case "Interrupt", "INTERRUPT":
		return "57014"
	case "Type":
		return "42804"
	}
	return "XX000"
}
