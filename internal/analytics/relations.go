package analytics

import (
	"fmt"
	"strings"

	"callhouse/internal/layout"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
)

// storedRelations returns the statements that make the tables of a snapshot
// known to any DuckDB, as stored.calls and so on, with exactly the declared columns.
func storedRelations(snap *layout.Snapshot) string {
	var b strings.Builder
	b.WriteString("CREATE SCHEMA stored;\n")
	for _, t := range resource.Tables {
		fmt.Fprintf(&b, "CREATE VIEW stored.%s AS %s;\n", t.Name, relation(snap, snap.Manifest.FilesOf(t.Name), t, true))
	}
	return b.String()
}

// relation returns a SELECT of the rows of some of a table's files. It names the
// files one by one, never a pattern, so that it reads one commit and nothing else.
// DuckDB before 1.5 knows no JSON in a schema: portable reads text and casts it.
func relation(snap *layout.Snapshot, files []*layout.File, t *schema.Table, portable bool) string {
	if len(files) == 0 {
		return emptyRelation(t)
	}
	var b strings.Builder
	b.WriteString("SELECT *")
	options := "hive_partitioning = false"
	if t.ByMonth() {
		b.WriteString(" EXCLUDE (filename)")
		options += ", filename = true"
	}
	if portable {
		b.WriteString(jsonCasts(t))
	}
	if t.ByMonth() {
		// Of the file's own name, which begins with its day or month: a condition on it
		// says which files to read.
		fmt.Fprintf(&b, ", left(parse_filename(filename), 7) AS %s", schema.Month)
	}
	b.WriteString(" FROM read_parquet([")
	for i, f := range files {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(quote(snap.Path(f)))
	}
	// The declared schema, by field id: a column that an older file lacks is
	// null, and no file's own types matter. DuckDB reads no month of the folders'
	// names beside it.
	b.WriteString("], " + options + ", schema = MAP {")
	for i, c := range t.Columns {
		if i > 0 {
			b.WriteString(", ")
		}
		typ := c.Type
		if portable && typ == schema.JSON {
			typ = schema.Text
		}
		fmt.Fprintf(&b, "%d: {name: %s, type: %s, default_value: NULL}", c.ID, quote(c.Name), quote(typ.DuckDB()))
	}
	b.WriteString("})")
	return b.String()
}

// jsonCasts returns what makes JSON of a table's columns of JSON, behind a star.
func jsonCasts(t *schema.Table) string {
	var casts []string
	for _, c := range t.Columns {
		if c.Type == schema.JSON {
			casts = append(casts, fmt.Sprintf("CAST(%s AS JSON) AS %s", ident(c.Name), ident(c.Name)))
		}
	}
	if len(casts) == 0 {
		return ""
	}
	return " REPLACE (" + strings.Join(casts, ", ") + ")"
}

// emptyRelation returns a SELECT without rows, for a table without files.
func emptyRelation(t *schema.Table) string {
	columns := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		columns[i] = fmt.Sprintf("CAST(NULL AS %s) AS %s", c.Type.DuckDB(), ident(c.Name))
	}
	if t.ByMonth() {
		columns = append(columns, "CAST(NULL AS VARCHAR) AS "+schema.Month)
	}
	return "SELECT " + strings.Join(columns, ", ") + " WHERE false"
}

// quote returns s as a string literal of SQL.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// ident returns s as a quoted identifier of SQL.
func ident(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
