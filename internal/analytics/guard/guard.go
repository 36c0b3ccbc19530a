// Package guard says whether a statement only reads and, where somebody else
// wrote it, whether it reads the warehouse and nothing else.
package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/value"
)

// ErrNotReading says that a statement may change something.
var ErrNotReading = errors.New("only statements that read are run: SELECT, FROM, WITH, VALUES, DESCRIBE, SHOW, SUMMARIZE, EXPLAIN")

// What may stand in a text before the statement that EXPLAIN is about: spaces,
// comments, its options.
var explainRE = regexp.MustCompile(`(?is)^(?:\s|--[^\n]*\n|/\*.*?\*/)*EXPLAIN\b(?:\s|--[^\n]*\n|/\*.*?\*/)*` +
	`(?:ANALY[ZS]E\b(?:\s|--[^\n]*\n|/\*.*?\*/)*)?(?:\([^()]*\))?`)

// Reads returns nil for the text of one statement that only reads, possibly
// under EXPLAIN, whose ANALYZE runs what it explains. It decides from the parse
// tree alone and before DuckDB plans anything: planning EXPORT DATABASE already
// makes a folder. With isSafe it must also read nothing but the warehouse.
func Reads(ctx context.Context, conn *duck.Conn, text string, isSafe bool) error {
	if strings.IndexByte(text, 0) >= 0 { // where C would take the text to end
		return &duck.Error{Kind: "Parser", Message: "there is a zero byte in the statement"}
	}
	if isSafe && len(text) > MaxText {
		return &UnsafeError{"a statement of more than 1 MiB"}
	}
	whole := text
	if at := explainRE.FindStringIndex(text); at != nil {
		text = text[at[1]:]
	}
	tree, err := parse(ctx, conn, text)
	switch {
	case err != nil:
		return err
	case tree.Error && tree.Type == "parser":
		if err := conn.Parse(text); err != nil {
			return err
		}
		return ErrNotReading
	case tree.Error: // DuckDB makes a tree of what reads and of nothing else
		return ErrNotReading
	case len(tree.Statements) == 0:
		return duck.ErrNoStatement
	case len(tree.Statements) > 1:
		return duck.ErrManyStatements
	}
	if !isSafe {
		return nil
	}
	unknown, err := safe(tree.Statements)
	if err != nil || unknown == "" {
		return err
	}
	return missing(ctx, conn, whole, unknown)
}

// missing returns DuckDB's own error for a statement with a table that is not
// there, because it tells the place. If DuckDB knows the name, it is that of
// something else than the warehouse's tables, and refused.
func missing(ctx context.Context, conn *duck.Conn, text, name string) error {
	stmt, err := conn.Prepare(ctx, text)
	if err == nil {
		stmt.Close()
	}
	var d *duck.Error
	if errors.As(err, &d) {
		if _, ok := d.MissingTable(); ok {
			return err
		}
	}
	if ctx.Err() != nil {
		return err
	}
	return noTable(name)
}

// tree is what DuckDB's json_serialize_sql tells of a text.
type tree struct {
	Error      bool              `json:"error"`
	Type       string            `json:"error_type"`
	Statements []json.RawMessage `json:"statements"`
}

func parse(ctx context.Context, conn *duck.Conn, text string) (*tree, error) {
	rows, err := conn.Query(ctx, "SELECT json_serialize_sql(CAST(? AS VARCHAR))", text)
	if err != nil {
		return nil, fmt.Errorf("parse the statement: %w", err)
	}
	defer rows.Close()
	row, err := rows.Next(ctx)
	if err != nil {
		return nil, fmt.Errorf("parse the statement: %w", err)
	}
	t := new(tree)
	raw, _ := row[0].(value.JSON)
	if err := json.Unmarshal([]byte(raw), t); err != nil { // DuckDB wrote it, so it is JSON
		return nil, fmt.Errorf("parse the statement: %w", ErrTooDeep)
	}
	return t, nil
}
