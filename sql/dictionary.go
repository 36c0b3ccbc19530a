package sqlfiles

import (
	"fmt"
	"slices"
	"strings"
)

// dictionaryHead stands above the tables of the data dictionary.
const dictionaryHead = `# Data dictionary

Every table that SQL can read, and every column. ` + "`query describe TABLE`" + ` prints the same.
Made from the tables in internal/schema and the headers of the files in sql/views; do not edit it: ` + "`go test ./sql -update`" + ` writes it anew.

- **TIMESTAMP WITH TIME ZONE** is an instant, stored in UTC; it is printed in the zone of ` + "`--tz`" + ` (UTC unless given).
- **TIMESTAMP**, **DATE** and hours are wall clock and calendar in the zone of ` + "`--tz`" + `; in files that other programs read there are only instants.
- **Unit**: ms and s are times, percent is 0 to 100, money is in the account's currency, count is a number of things.
- **Null** says no where a value is always there.

`

// Dictionary returns the data dictionary: the views' headers as Markdown.
func Dictionary() string {
	var b strings.Builder
	b.WriteString(dictionaryHead)
	b.WriteString("| Table | Holds | One row for each |\n| --- | --- | --- |\n")
	for _, v := range ViewsByName() {
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s |\n", code(v.Name), v.Name, cell(v.Answers), cell(strings.TrimPrefix(v.Grain, "one row per ")))
	}
	for _, v := range ViewsByName() {
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n", v.Name, strings.ToUpper(v.Answers[:1])+v.Answers[1:])
		for _, p := range strings.Split(v.Text, "\n\n") {
			if p != "" {
				fmt.Fprintf(&b, "\n%s\n", p)
			}
		}
		b.WriteString("\n| Column | Type | Null | Unit | Meaning |\n| --- | --- | --- | --- | --- |\n")
		for _, c := range v.Columns {
			null := "yes"
			if c.NotNull {
				null = "no"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", code(c.Name), c.Type, null, c.Unit, cell(c.Meaning))
		}
	}
	return b.String()
}

// ViewsByName returns the views as people look for them.
func ViewsByName() []*File {
	all := Views()
	slices.SortFunc(all, func(a, b *File) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func code(s string) string { return "`" + s + "`" }

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
