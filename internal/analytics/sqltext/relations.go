// Package sqltext writes SQL for the tables of a snapshot and for local times, for this program's
// DuckDB and any other. It runs none.
package sqltext

import (
	"fmt"
	"strings"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// Relations returns the statements that create tables of a snapshot in the schema stored of any
// DuckDB, as stored.calls and so on, with exactly the declared columns.
func Relations(snap *layout.Snapshot, tables ...*schema.Table) string {
	var b strings.Builder
	for _, t := range tables {
		fmt.Fprintf(&b, "CREATE VIEW stored.%s AS %s;\n", t.Name, Relation(snap, snap.Manifest.NewestFirst(t.Name), t))
	}
	return b.String()
}

// Relation returns a SELECT of the rows of some of a table's files, in their order. It lists the
// files, never a pattern, so that it reads exactly one commit. DuckDB before 1.5 has no JSON in a
// schema, so it reads text and casts it.
func Relation(snap *layout.Snapshot, files []*layout.File, t *schema.Table) string {
	if len(files) == 0 {
		return Empty(t)
	}
	var b strings.Builder
	b.WriteString("SELECT *")
	options := "hive_partitioning = false"
	if t.ByMonth() {
		options += ", filename = true"
		b.WriteString(" EXCLUDE (filename)")
	}
	b.WriteString(jsonCasts(t))
	if t.ByMonth() {
		// The file's name begins with its day or month: a condition on it selects files.
		fmt.Fprintf(&b, ", left(parse_filename(filename), 7) AS %s", schema.Month)
	}
	var rows int64
	b.WriteString(" FROM read_parquet([")
	for i, f := range files {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(Quote(snap.Path(f)))
		rows += f.Rows
	}
	// The declared schema, by field id; DuckDB reads a text twice as fast as a MAP of literals. With the
	// schema it takes no month from folder names, opens no file to plan, and would expect 1,000 rows in each.
	fmt.Fprintf(&b, "], %s, explicit_cardinality = %d, schema = CAST('{", options, rows)
	for i, c := range t.Columns {
		if i > 0 {
			b.WriteString(", ")
		}
		typ := c.Type
		if typ == schema.JSON {
			typ = schema.Text
		}
		fmt.Fprintf(&b, "%d={name: %s, type: %q, default_value: NULL}", c.ID, c.Name, typ.DuckDB())
	}
	b.WriteString("}' AS MAP(INTEGER, STRUCT(name VARCHAR, type VARCHAR, default_value VARCHAR))))")
	return b.String()
}

// jsonCasts returns the casts of a table's JSON columns, to follow a star.
func jsonCasts(t *schema.Table) string {
	var casts []string
	for _, c := range t.Columns {
		if c.Type == schema.JSON {
			casts = append(casts, fmt.Sprintf("CAST(%s AS JSON) AS %s", Ident(c.Name), Ident(c.Name)))
		}
	}
	if len(casts) == 0 {
		return ""
	}
	return " REPLACE (" + strings.Join(casts, ", ") + ")"
}

// Empty returns a SELECT without rows, for a table without files.
func Empty(t *schema.Table) string {
	columns := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		columns[i] = fmt.Sprintf("CAST(NULL AS %s) AS %s", c.Type.DuckDB(), Ident(c.Name))
	}
	if t.ByMonth() {
		columns = append(columns, "CAST(NULL AS VARCHAR) AS "+schema.Month)
	}
	return "SELECT " + strings.Join(columns, ", ") + " WHERE false"
}

// Quote returns s as an SQL string literal. A zero byte would end the statement.
func Quote(s string) string {
	return "'" + strings.NewReplacer("'", "''", "\x00", "' || chr(0) || '").Replace(s) + "'"
}

// Ident returns s as a quoted SQL identifier.
func Ident(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
