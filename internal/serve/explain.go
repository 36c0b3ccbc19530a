package serve

import (
	"cmp"
	"context"
	"errors"
	"io"
	"strings"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/database"
	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/guard"
	"callhouse/internal/layout"
	"callhouse/internal/postgres"
	"callhouse/internal/serve/dialect"
	"callhouse/internal/words"
)

// explain converts an error of a statement to a Postgres error, without the path of the warehouse
// at root.
func explain(root string, err error) error {
	var already *postgres.Error
	var d *duck.Error
	var unsafe *guard.UnsafeError
	var zone *database.ZoneError
	var damage *layout.DamageError
	var unsupported *dialect.UnsupportedError
	coded := func(code, message, hint string) error {
		return &postgres.Error{Code: code, Message: layout.Inside(root, words.Directed(message)), Hint: words.Directed(hint)}
	}
	switch {
	case err == nil, errors.Is(err, io.EOF), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded),
		errors.As(err, &already):
		return err
	case errors.As(err, &unsafe):
		return coded("42501", err.Error(), "a statement can only read the tables of the schema public")
	case analytics.Denied(err):
		return coded("42501", err.Error(), "")
	case errors.Is(err, guard.ErrNotReading):
		return coded("25006", err.Error(), "the warehouse is read-only; only extract changes it")
	case errors.Is(err, guard.ErrTooDeep):
		return coded("54001", err.Error(), "rewrite it using WITH")
	case errors.Is(err, duck.ErrManyStatements), errors.Is(err, duck.ErrNoStatement):
		return coded("42601", err.Error(), "")
	case errors.As(err, &unsupported):
		return coded(cmp.Or(unsupported.Code, "0A000"), err.Error(), unsupported.Hint)
	case errors.As(err, &zone):
		return coded("22023", err.Error(), "")
	case errors.As(err, &damage):
		return coded("XX001", err.Error(), "ask the administrator of the warehouse to run extract repair, which replaces damaged files")
	case errors.As(err, &d):
		return coded(stateOf(d), d.Text(), strings.Join(d.Nearest, ", "))
	}
	return coded("XX000", err.Error(), "")
}

// states are the SQLSTATEs of DuckDB's errors by kind and by a part of the message. The first match
// applies.
var states = []struct{ kind, part, code string }{
	{"Parser", "memory exhausted", "54001"}, // the parser's stack is full
	{"Syntax", "memory exhausted", "54001"},
	{"Parser", "for ANY/ALL subquery", "0A000"}, // LIKE ANY
	{"Parser", "", "42601"},
	{"Syntax", "", "42601"},
	{"Catalog", "Table with name", "42P01"},
	{"Catalog", "Function with name", "42883"},
	{"Catalog", "Type with name", "42704"},
	{"Catalog", "Schema with name", "3F000"},
	{"Catalog", "", "42P01"},
	{"Binder", "not found in FROM clause", "42703"},
	{"Binder", "because the FROM clause is missing", "42703"},
	{"Binder", "does not have a column named", "42703"},
	{"Binder", "No function matches", "42883"},
	{"Binder", "Could not choose a best candidate", "42883"},
	{"Binder", "Ambiguous reference", "42702"},
	{"Binder", "must appear in the GROUP BY", "42803"},
	{"Binder", "aggregate", "42803"},
	{"Binder", "Cannot compare", "42804"},
	{"Binder", "Cannot mix", "42804"},
	{"Binder", "", "42P10"},
	{"Conversion", "overflow", "22003"},
	{"Conversion", "out of range", "22003"},
	{"Conversion", "", "22P02"},
	{"Invalid Input", "division by zero", "22012"},
	{"Invalid Input", "", "22023"},
	{"Out of Range", "", "22003"},
	{duck.TooLarge, "", "54000"},
	{"Out of Memory", "", "53200"},
	{"Not implemented", "", "0A000"},
	{"Parameter Not Allowed", "", "0A000"},
	{"INTERNAL", "allocation", "53200"},
	{"Serialization", "allocation failed", "53200"}, // of a statement's tree
	{"FATAL", "", "58000"},                          // caused by another statement
	{"Permission", "", "42501"},
	{"IO", "", "58030"},
	{"Interrupt", "", "57014"},
	{"INTERRUPT", "", "57014"},
	{"Type", "", "42804"},
}

// stateOf returns the SQLSTATE of a DuckDB error.
func stateOf(d *duck.Error) string {
	if _, _, ok := d.MissingColumn(); ok {
		return "42703"
	}
	for _, s := range states {
		if s.kind == d.Kind && strings.Contains(d.Message, s.part) {
			return s.code
		}
	}
	return "XX000"
}
