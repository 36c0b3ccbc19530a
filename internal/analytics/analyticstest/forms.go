package analyticstest

import (
	"embed"
	"regexp"
	"strings"
)

// The lists of statements have one in each line.
//
//go:embed statements/*.sql
var statements embed.FS

func lines(name string) []string {
	raw, err := statements.ReadFile("statements/" + name + ".sql")
	if err != nil {
		panic(err)
	}
	return strings.Split(strings.TrimSpace(string(raw)), "\n")
}

var (
	// RelationForms are the spellings of a relation's name in a statement, also nested, and next to and
	// after a WITH of the same name: C is its database, S its schema, T its name, U its name in capitals,
	// K its name with the Kelvin sign, which DuckDB does not fold to k.
	RelationForms = lines("relations")
	// AsText are statements that pass a name or SQL to a function as text.
	AsText = lines("astext")
	// FunctionForms are the spellings of a call of function F with arguments A.
	FunctionForms = lines("functions")
	// TableFunctionForms are the same in FROM.
	TableFunctionForms = lines("tablefunctions")
)

// Unsafe returns statements that reach outside a warehouse (files and addresses; SQL in strings; the
// process, its settings and its memory) and must be refused in safe mode. out is a file that does not
// exist, file one of the warehouse, and link a link to another file.
func Unsafe(out, file, link string) (all []string) {
	replace := strings.NewReplacer("$OUT", out, "$FILE", file, "$LINK", link)
	for _, text := range lines("unsafe") {
		all = append(all, replace.Replace(text))
	}
	return append(all, "SELECT '"+strings.Repeat("x", 1<<20)+"'")
}

// Changing returns statements that would change something.
func Changing(out, file string) (all []string) {
	replace := strings.NewReplacer("$OUT", out, "$FILE", file)
	for _, text := range lines("changing") {
		all = append(all, replace.Replace(text))
	}
	return append(all, "-- SELECT 1\nATTACH '"+out+"' AS x")
}

// Relation is a relation known to DuckDB.
type Relation struct{ Database, Schema, Name string }

var formLetterRE = regexp.MustCompile(`\b[CSTUK]\b`)

// In writes the relation's name into a form.
func (r Relation) In(form string) string {
	return formLetterRE.ReplaceAllStringFunc(form, func(letter string) string {
		switch letter {
		case "C":
			return r.Database
		case "S":
			return r.Schema
		case "U":
			return strings.ToUpper(r.Name)
		case "K":
			return strings.Replace(r.Name, "k", "\u212a", 1)
		}
		return r.Name
	})
}
