package opened

import (
	"regexp"
	"slices"
	"strings"

	"callhouse/internal/analytics/guard"
	"callhouse/internal/layout"
	"callhouse/internal/resource"
	sqlfiles "callhouse/sql"
)

var (
	fromStoredRE = regexp.MustCompile(`\bFROM stored\.(\w+)`)
	fromCallsRE  = regexp.MustCompile(`\bFROM calls\b`)
)

// newest returns the definitions of the views in the schema newest. They have the same rows as the
// views of the same names, but list the newest files first. DuckDB reads files in the listed order,
// and skips those that cannot hold one of the first rows, given the rows read so far. So it finds
// the newest rows without reading the other files.
func (db *DB) newest() (out []definition) {
	add := func(name, sql string) {
		name = guard.NewestSchema + "." + name
		out = append(out, definition{name, "CREATE VIEW " + name + " AS " + sql})
	}
	for _, t := range resource.Tables {
		if t.ByMonth() {
			files := db.snap.Manifest.FilesOf(t.Name)
			slices.SortFunc(files, func(a, b *layout.File) int { return strings.Compare(b.Path, a.Path) })
			add("stored_"+t.Name, db.relation(files, t))
		}
	}
	for _, v := range sqlfiles.Views() {
		if guard.Newest[v.Name] != "" {
			add(v.Name, reading(guard.NewestSchema, v))
		}
	}
	return out
}

// reading returns the text of a view that reads the stored_… tables and the view calls of a schema.
func reading(schema string, v *sqlfiles.File) string {
	return fromCallsRE.ReplaceAllString(fromStoredRE.ReplaceAllString(v.SQL, "FROM "+schema+".stored_$1"), "FROM "+schema+".calls")
}
