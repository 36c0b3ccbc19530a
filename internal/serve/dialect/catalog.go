package dialect

import (
	"cmp"
	_ "embed"
	"encoding/csv"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"callhouse/internal/analytics/database"
	"callhouse/internal/analytics/guard"
	"callhouse/internal/analytics/rights"
	"callhouse/internal/analytics/sqltext"
	"callhouse/internal/postgres"
	"callhouse/internal/resource"
	sqlfiles "callhouse/sql"
)

// schemaOf is the schema of all definitions of the catalog.
const schemaOf = "pg"

//go:embed empty.txt
var empty string

//go:embed catalog.sql
var catalog string

//go:embed functions.sql
var functions string

//go:embed pg_type.csv
var types string

//go:embed pg_proc.csv
var procs string

var (
	relationRE      = regexp.MustCompile(`(?m)^CREATE VIEW pg\.(\w+)`)
	tableFunctionRE = regexp.MustCompile(`(?m)^CREATE MACRO pg\.(\w+)\([^)]*\) AS TABLE`)
	classRE         = regexp.MustCompile(`\((\d+), '(pg_\w+)'\)`)
	functionRE      = regexp.MustCompile(`(?m)^CREATE MACRO pg\.(\w+)`)
)

// namesIn returns the names that a text defines.
func namesIn(re *regexp.Regexp, text string) map[string]bool {
	out := map[string]bool{}
	for _, m := range re.FindAllStringSubmatch(text, -1) {
		out[m[1]] = true
	}
	return out
}

// Relations are the names of the relations. Those of information_schema begin with info_.
var Relations = sync.OnceValue(func() map[string]bool {
	out := namesIn(relationRE, catalog)
	for _, line := range strings.Split(strings.TrimSpace(empty), "\n") {
		name, _, _ := strings.Cut(strings.TrimPrefix(line, "pg."), " ")
		out[name] = true
	}
	return out
})

// Functions are the names of the functions.
var Functions = sync.OnceValue(func() map[string]bool { return namesIn(functionRE, catalog+functions) })

// tableFunctions are the functions that return rows.
var tableFunctions = sync.OnceValue(func() map[string]bool { return namesIn(tableFunctionRE, functions) })

// classes maps the names of the catalog's own tables to their numbers.
var classes = sync.OnceValue(func() map[string]int {
	_, classes, _ := strings.Cut(catalog, "CREATE VIEW pg.fact_class")
	classes, _, _ = strings.Cut(classes, ";")
	out := map[string]int{}
	for _, m := range classRE.FindAllStringSubmatch(classes, -1) {
		out[m[2]], _ = strconv.Atoi(m[1])
	}
	return out
})

// columnTypes maps columns of the warehouse's tables to their DuckDB types.
var columnTypes = sync.OnceValue(func() map[string][]string {
	out := map[string][]string{}
	for _, v := range sqlfiles.Views() {
		for _, c := range v.Columns {
			out[c.Name] = append(out[c.Name], c.Type)
		}
	}
	return out
})

// Catalog returns the names that a reader's statements may use besides the warehouse's tables.
func Catalog(r rights.Rights) *database.Dialect {
	return &database.Dialect{Definitions: definitions() + without(r),
		Also: guard.Also{Schema: schemaOf, Relations: Relations(), Functions: Functions()}}
}

// without removes from the catalog the objects that a reader may not see.
func without(r rights.Rights) string {
	var closed []string
	for _, v := range sqlfiles.Views() {
		if r.May(v.Name) != nil {
			closed = append(closed, sqltext.Quote(v.Name))
		}
	}
	if closed == nil {
		return ""
	}
	return fmt.Sprintf(`DELETE FROM pg.fact_table WHERE name IN (%s);
DELETE FROM pg.fact_column WHERE relid NOT IN (SELECT oid FROM pg.fact_table);
DELETE FROM pg.fact_key WHERE relid NOT IN (SELECT oid FROM pg.fact_table) OR ref <> 0 AND ref NOT IN (SELECT oid FROM pg.fact_table);
`, strings.Join(closed, ", "))
}

// definitions are the same for every snapshot, since the tables do not depend on it.
var definitions = sync.OnceValue(func() string {
	var b strings.Builder
	b.WriteString("SET GLOBAL integer_division = true;\nCREATE SCHEMA pg;\n") // as in Postgres, 5 / 2 is 2
	for _, line := range strings.Split(strings.TrimSpace(empty), "\n") {
		fields := strings.Fields(line)
		fmt.Fprintf(&b, "CREATE TABLE %s (", fields[0])
		for i, f := range fields[1:] {
			name, typ, _ := strings.Cut(f, ":")
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "%q %s", name, typ)
		}
		b.WriteString(");\n")
	}
	facts(&b)
	b.WriteString(catalog)
	b.WriteString(functions) // after the views, which they use
	return b.String()
})

// facts writes the base tables of the catalog.
func facts(b *strings.Builder) {
	b.WriteString(`CREATE TABLE pg.fact_table (oid UINTEGER, name VARCHAR, comment VARCHAR, columns BIGINT, rows BIGINT);
CREATE TABLE pg.fact_column (relid UINTEGER, number SMALLINT, name VARCHAR, type UINTEGER, mod INTEGER, required BOOLEAN, comment VARCHAR);
CREATE TABLE pg.fact_key (oid UINTEGER, index_oid UINTEGER, relid UINTEGER, name VARCHAR, type VARCHAR, columns SMALLINT[], ref UINTEGER, ref_columns SMALLINT[]);
CREATE TABLE pg.fact_keyword (keyword_name VARCHAR, keyword_category VARCHAR);
INSERT INTO pg.fact_keyword SELECT keyword_name, keyword_category FROM duckdb_keywords();
`)
	fromCSV(b, "fact_type", types, map[string]string{"oid": "UINTEGER", "typlen": "SMALLINT", "typbyval": "BOOLEAN",
		"typispreferred": "BOOLEAN", "typelem": "UINTEGER", "typarray": "UINTEGER", "typcollation": "UINTEGER"})
	fromCSV(b, "fact_proc", procs, map[string]string{"oid": "UINTEGER", "prorettype": "UINTEGER"})
	fromCSV(b, "fact_setting", postgres.Settings, nil)
	var tables, columns, keys []string
	views := sqlfiles.ViewsByName()
	oids, indexes := map[string]int{}, map[string]int{}
	for i, v := range views {
		oids[v.Name] = firstOID + i
	}
	for _, v := range views {
		oid, key := oids[v.Name], keyOf(v)
		tables = append(tables, fmt.Sprintf("(%d, '%s', %s, %d, -1)", oid, v.Name, sqltext.Quote(v.Answers+"; "+v.Grain), len(v.Columns)))
		for i, c := range v.Columns {
			t := postgres.TypeOf(c.Type)
			columns = append(columns, fmt.Sprintf("(%d, %d, '%s', %d, %d, %t, %s)", oid, i+1, c.Name, t.OID, t.Mod, c.NotNull ||
				slices.Contains(key, c.Name), sqltext.Quote(comment(c))))
		}
		if len(key) > 0 {
			oid := firstKey + 2*len(keys)
			indexes[v.Name] = oid + 1
			keys = append(keys, fmt.Sprintf("(%d, %d, %d, '%s_pkey', 'p', %s, 0, [])", oid, oid+1, oids[v.Name], v.Name, numbers(v, key)))
		}
	}
	for _, v := range views {
		for _, c := range v.Columns {
			ref := refersTo(v, c.Name)
			if ref == nil {
				continue
			}
			// The index of a foreign key is that of the referenced key.
			keys = append(keys, fmt.Sprintf("(%d, %d, %d, '%s_%s_fkey', 'f', %s, %d, %s)", firstKey+2*len(keys), indexes[ref.Name],
				oids[v.Name], v.Name, c.Name, numbers(v, []string{c.Name}), oids[ref.Name], numbers(ref, keyOf(ref))))
		}
	}
	for name, rows := range map[string][]string{"table": tables, "column": columns, "key": keys} {
		fmt.Fprintf(b, "INSERT INTO pg.fact_%s VALUES %s;\n", name, strings.Join(rows, ",\n"))
	}
}

// The numbers of tables, keys and indexes.
const (
	firstOID = 16_384
	firstKey = 20_000
)

// fromCSV writes a table of Postgres 15. Columns not in kinds are texts.
func fromCSV(b *strings.Builder, table, text string, kinds map[string]string) {
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		panic(err) // the file is embedded
	}
	var columns, rows []string
	for _, name := range lines[0] {
		columns = append(columns, name+" "+cmp.Or(kinds[name], "VARCHAR"))
	}
	for _, cells := range lines[1:] {
		for i := range cells {
			cells[i] = sqltext.Quote(cells[i])
		}
		rows = append(rows, "("+strings.Join(cells, ", ")+")")
	}
	fmt.Fprintf(b, "CREATE TABLE pg.%s (%s);\nINSERT INTO pg.%s VALUES %s;\n", table, strings.Join(columns, ", "), table,
		strings.Join(rows, ",\n"))
}

// ofCalls are the keys of the tables that are not resources.
var ofCalls = map[string][]string{"calls": {"call_id"}, "transcript_turns": {"call_id", "turn"}, "tool_calls": {"call_id", "turn"},
	"analysis_items": {"call_id", "position"}, "recordings": {"call_id"}, "runs": {"run_id"}}

// keyOf returns the columns of a table's key, if declared.
func keyOf(v *sqlfiles.File) []string {
	for _, r := range resource.All {
		if r.Table.Name == v.Name {
			return r.Key
		}
	}
	return ofCalls[v.Name]
}

// refersTo returns the table whose keys a column holds: of several with the same key, such as calls
// and recordings, the first. nil: none, or the column is that table's own key.
func refersTo(v *sqlfiles.File, column string) *sqlfiles.File {
	for _, prefix := range []string{"", "inbound_", "outbound_", "parent_"} {
		for _, other := range sqlfiles.Views() {
			if key := keyOf(other); len(key) == 1 && prefix+key[0] == column {
				if other.Name == v.Name && prefix == "" {
					return nil
				}
				return other
			}
		}
	}
	return nil
}

// numbers returns the positions of columns as a list.
func numbers(v *sqlfiles.File, columns []string) string {
	var out []string
	for _, name := range columns {
		at := slices.IndexFunc(v.Columns, func(c sqlfiles.Column) bool { return c.Name == name })
		out = append(out, fmt.Sprint(at+1))
	}
	return "[" + strings.Join(out, ", ") + "]"
}

func comment(c sqlfiles.Column) string {
	switch c.Unit {
	case "", "number", "prose":
		return c.Meaning
	}
	return c.Meaning + " (" + c.Unit + ")"
}
