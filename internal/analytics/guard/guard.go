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

// plainExplainRE is what EXPLAIN may be followed by in safe mode: a format, and not ANALYZE in any spelling,
// whose answer names the warehouse's files with their absolute paths.
var plainExplainRE = regexp.MustCompile(`(?is)^EXPLAIN\s*(?:\(\s*FORMAT\s+\w+\s*\))?\s*$`)

// commentRE are the comments that explainRE lets pass.
var commentRE = regexp.MustCompile(`(?s)--[^\n]*\n|/\*.*?\*/`)

// ErrNotReading says that a statement may change something.
var ErrNotReading = errors.New("only statements that read are run: SELECT, FROM, WITH, VALUES, DESCRIBE, SHOW, SUMMARIZE, EXPLAIN")

// What may stand in a text before the statement that EXPLAIN is about: spaces,
// comments, its options.
var explainRE = regexp.MustCompile(`(?is)^(?:\s|--[^\n]*\n|/\*.*?\*/)*EXPLAIN\b(?:\s|--[^\n]*\n|/\*.*?\*/)*` +
	`(?:ANALY[ZS]E\b(?:\s|--[^\n]*\n|/\*.*?\*/)*)?(?:\([^()]*\))?`)

// Also is what a statement may name beside the warehouse's tables and DuckDB's harmless
// functions: relations and functions of a schema of the program's own.
type Also struct {
	Schema               string
	Relations, Functions map[string]bool
}

// Rewrite changes the tree of a statement before it is judged, and says whether it did.
// at returns the text of the statement from a place on that the tree tells.
type Rewrite func(tree map[string]any, at func(location any) string) (changed bool, err error)

// Check says how a statement is judged.
type Check struct {
	Safe    bool // it must read nothing but the warehouse
	Also    *Also
	Rewrite Rewrite
	// May returns why a table of the warehouse may not be read; nil: all may.
	May func(table string) error
	// Shared says that other people's statements run in the same process: functions are refused
	// that a value which is nested deeply enough lets end it.
	Shared bool
	// NoPlans refuses EXPLAIN: it counts rows that the tables do not show.
	NoPlans bool
}

// Reads returns nil for the text of one statement that only reads, possibly
// under EXPLAIN, whose ANALYZE runs what it explains and is refused with isSafe. It decides from the parse
// tree alone and before DuckDB plans anything: planning EXPORT DATABASE already
// makes a folder. With isSafe it must also read nothing but the warehouse.
func Reads(ctx context.Context, conn *duck.Conn, text string, isSafe bool) error {
	_, err := Check{Safe: isSafe}.Text(ctx, conn, text)
	return err
}

// Text is Reads for a statement that may be rewritten. It returns the text that was judged,
// which is the one to run.
func (k Check) Text(ctx context.Context, conn *duck.Conn, text string) (string, error) {
	if strings.IndexByte(text, 0) >= 0 { // where C would take the text to end
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
	case tree.Error: // DuckDB makes a tree of what reads and of nothing else
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
		if changed != "" { // what runs is what is judged: the new text, from its own tree
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

// rewritten returns the text of a statement after its tree was changed; empty if it was not.
func (k Check) rewritten(ctx context.Context, conn *duck.Conn, text, raw string) (string, error) {
	var tree map[string]any
	d := json.NewDecoder(strings.NewReader(raw))
	d.UseNumber() // or large numbers lose digits
	if err := d.Decode(&tree); err != nil {
		return "", ErrTooDeep // DuckDB wrote it, so it is JSON
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

// parse returns the tree of a text, as DuckDB writes it and read.
func parse(ctx context.Context, conn *duck.Conn, text string) (string, *tree, error) {
	v, err := one(ctx, conn, "SELECT json_serialize_sql(CAST(? AS VARCHAR))", text)
	if err != nil {
		return "", nil, fmt.Errorf("parse the statement: %w", err)
	}
	t := new(tree)
	raw, _ := v.(value.JSON)
	if err := json.Unmarshal([]byte(raw), t); err != nil { // DuckDB wrote it, so it is JSON
		return "", nil, fmt.Errorf("parse the statement: %w", ErrTooDeep)
	}
	return string(raw), t, nil
}

// one returns the one value that a statement of ours has for a text.
func one(ctx context.Context, conn *duck.Conn, sql, text string) (any, error) {
	stmt, err := conn.Kept(ctx, sql)
	if err != nil {
		return nil, err
	}
	rows, err := stmt.QueryKept(ctx, text)
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
