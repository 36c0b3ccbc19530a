// Package guard decides whether a statement only reads and, if it is untrusted, whether it reads only the warehouse.
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

// plainExplainRE matches EXPLAIN as safe mode allows it: with a format, but not ANALYZE in any
// spelling, whose output contains absolute paths of the warehouse's files.
var plainExplainRE = regexp.MustCompile(`(?is)^EXPLAIN\s*(?:\(\s*FORMAT\s+\w+\s*\))?\s*$`)

// commentRE matches the comments that explainRE allows.
var commentRE = regexp.MustCompile(`(?s)--[^\n]*\n|/\*.*?\*/`)

// ErrNotReading means that a statement may change something.
var ErrNotReading = errors.New("only read-only statements are allowed: SELECT, FROM, WITH, VALUES, DESCRIBE, SHOW, SUMMARIZE, EXPLAIN")

// The text before an explained statement: spaces, comments, options of EXPLAIN.
var explainRE = regexp.MustCompile(`(?is)^(?:\s|--[^\n]*\n|/\*.*?\*/)*EXPLAIN\b(?:\s|--[^\n]*\n|/\*.*?\*/)*` +
	`(?:ANALY[ZS]E\b(?:\s|--[^\n]*\n|/\*.*?\*/)*)?(?:\([^()]*\))?`)

// Also lists the additional names that a statement may use, besides the warehouse's tables and
// DuckDB's harmless functions: the program's own relations and functions.
type Also struct {
	Schema               string
	Relations, Functions map[string]bool
}

// Rewrite changes the tree of a statement before it is checked, and reports whether it did. at
// returns the statement's text from a location in the tree on.
type Rewrite func(tree map[string]any, at func(location any) string) (changed bool, err error)

// Check configures how a statement is checked.
type Check struct {
	Safe    bool // it may read only the warehouse
	Also    *Also
	Rewrite Rewrite
	// May returns the reason why a table of the warehouse may not be read; nil: all may.
	May func(table string) error
	// Shared refuses functions that end the process on a deeply nested value, because statements of
	// several readers share it.
	Shared bool
	// NoPlans refuses EXPLAIN, which counts rows that the tables hide.
	NoPlans bool
}

// Text returns the text to run for one read-only statement, possibly under EXPLAIN, as given or rewritten. Any other statement is
// an error; if Safe, so is EXPLAIN ANALYZE, which executes. It decides from the parse tree, before planning: planning
// EXPORT DATABASE already creates a folder.
func (k Check) Text(ctx context.Context, conn *duck.Conn, text string) (string, error) {
	if strings.IndexByte(text, 0) >= 0 { // C code would end the text there
		return "", &duck.Error{Kind: "Parser", Message: "the statement contains a zero byte"}
	}
	if k.Safe && len(text) > MaxText {
		return "", &UnsafeError{"a statement of more than 1 MiB"}
	}
	whole, explains := text, ""
	if at := explainRE.FindStringIndex(text); at != nil {
		explains, text = text[:at[1]], text[at[1]:]
	}
	if k.NoPlans && explains != "" {
		return "", &UnsafeError{"EXPLAIN, which counts the rows of all users,"}
	}
	raw, tree, err := parse(ctx, conn, text)
	switch {
	case err != nil:
		return "", err
	case tree.Error && tree.Type == "parser":
		if err := conn.Parse(text); err != nil {
			return "", err
		}
		return "", ErrNotReading
	case tree.Error: // DuckDB serializes only reading statements
		return "", ErrNotReading
	case len(tree.Statements) == 0:
		return "", duck.ErrNoStatement
	case len(tree.Statements) > 1:
		return "", duck.ErrManyStatements
	}
	if k.Safe && explains != "" && !plainExplainRE.MatchString(strings.TrimSpace(commentRE.ReplaceAllString(explains, " "))) {
		return "", &UnsafeError{"EXPLAIN with ANALYZE, which shows file paths, or with an option other than FORMAT,"}
	}
	if k.Rewrite != nil {
		changed, err := k.rewritten(ctx, conn, text, raw)
		if err != nil {
			return "", err
		}
		if changed != "" { // the new text is parsed and checked again: the checked text is the one that runs
			k.Rewrite = nil
			return k.Text(ctx, conn, explains+changed)
		}
	}
	if !k.Safe {
		return whole, nil
	}
	unknown, err := safe(tree.Statements, k)
	if err != nil || unknown == "" {
		return whole, err
	}
	return whole, missing(ctx, conn, whole, unknown)
}

// rewritten returns the text of a statement after its tree was changed; empty if unchanged.
func (k Check) rewritten(ctx context.Context, conn *duck.Conn, text, raw string) (string, error) {
	var tree map[string]any
	d := json.NewDecoder(strings.NewReader(raw))
	d.UseNumber() // keeps digits of large numbers
	if err := d.Decode(&tree); err != nil {
		return "", ErrTooDeep // DuckDB wrote valid JSON
	}
	at := func(location any) string {
		n, ok := location.(json.Number)
		if i, err := n.Int64(); ok && err == nil && i >= 0 && i < int64(len(text)) {
			return text[i:]
		}
		return ""
	}
	changed, err := k.Rewrite(tree, at)
	if err != nil || !changed {
		return "", err
	}
	out, err := json.Marshal(tree)
	if err != nil {
		return "", err
	}
	row, err := one(ctx, conn, "SELECT json_deserialize_sql(CAST(CAST(? AS VARCHAR) AS JSON))", string(out))
	if err != nil {
		return "", fmt.Errorf("rewrite the statement: %w", err)
	}
	made, _ := row.(string)
	return made, nil
}

// missing returns DuckDB's own error for a missing table, because that has the position. A name
// that DuckDB resolves to something other than the warehouse's tables is refused.
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

// tree is the result of DuckDB's json_serialize_sql.
type tree struct {
	Error      bool              `json:"error"`
	Type       string            `json:"error_type"`
	Statements []json.RawMessage `json:"statements"`
}

// parse returns the serialized and the decoded tree of a text.
func parse(ctx context.Context, conn *duck.Conn, text string) (string, *tree, error) {
	v, err := one(ctx, conn, "SELECT json_serialize_sql(CAST(? AS VARCHAR))", text)
	if err != nil {
		return "", nil, fmt.Errorf("parse the statement: %w", err)
	}
	t := new(tree)
	raw, _ := v.(value.JSON)
	if err := json.Unmarshal([]byte(raw), t); err != nil { // DuckDB wrote valid JSON
		return "", nil, fmt.Errorf("parse the statement: %w", ErrTooDeep)
	}
	return string(raw), t, nil
}

// one runs a built-in statement on a text and returns its single value.
func one(ctx context.Context, conn *duck.Conn, sql, text string) (any, error) {
	stmt, err := conn.Cached(ctx, sql)
	if err != nil {
		return nil, err
	}
	rows, err := stmt.QueryReuse(ctx, text)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	row, err := rows.Next(ctx)
	if err != nil {
		return nil, err
	}
	return row[0], nil
}
