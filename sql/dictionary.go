package sqlfiles

import (
	"fmt"
	"slices"
	"strings"

	"callhouse/internal/resource"
)

// dictionaryHead stands above the tables of the data dictionary.
const dictionaryHead = `# Data dictionary

All tables and columns that SQL can read, as ` + "`query describe TABLE`" + ` prints them. This
page is generated from ` + "`internal/schema`, `internal/resource` and `sql/views` by\n`go test ./sql -args -update`" + `.

- **TIMESTAMP WITH TIME ZONE** is an instant, stored in UTC and printed in the zone of ` + "`--tz`" + ` (default UTC).
- **TIMESTAMP**, **DATE** and hours are local to ` + "`--tz`" + `. Files for other programs have instants only.
- **Unit**: ms and s are times, percent is 0 to 100, money is in the account's currency, count is a
  number of things.
- **Null**: whether the value can be null.

`

// resourceHead stands above the columns that all resources have.
const resourceHead = `
## Columns of every resource

Tables with one row per object, the resources, hold every object that was ever listed. Each has
these columns after its own. The macro ` + "`TABLE_at(TIME)`, such as\n`agents_at(TIMESTAMPTZ '2026-11-01')`" + `, returns a table as it was at that time, as far as callhouse
saw it.

`

// Dictionary returns the data dictionary: the views' headers as Markdown.
func Dictionary() string {
	var b strings.Builder
	b.WriteString(dictionaryHead)
	b.WriteString("| Table | Holds | One row for each |\n| --- | --- | --- |\n")
	for _, v := range ViewsByName() {
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s |\n", code(v.Name), v.Name, cell(v.Answers), cell(strings.TrimPrefix(v.Grain, "one row per ")))
	}
	b.WriteString(resourceHead)
	var common []Column
	for i := range resource.Common {
		common = append(common, columnOf(&resource.Common[i]))
	}
	writeColumns(&b, common)
	for _, v := range ViewsByName() {
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n", v.Name, strings.ToUpper(v.Answers[:1])+v.Answers[1:])
		for _, p := range strings.Split(v.Text, "\n\n") {
			if p != "" && !strings.HasPrefix(p, ever) {
				fmt.Fprintf(&b, "\n%s\n", p)
			}
		}
		columns := v.Columns
		if v.Grain == objectGrain {
			columns = slices.DeleteFunc(slices.Clone(columns), func(c Column) bool { return slices.Contains(common, c) })
		}
		b.WriteString("\n")
		writeColumns(&b, columns)
		if v.Grain == objectGrain {
			b.WriteString("\nAnd the [columns of every resource](#columns-of-every-resource).\n")
		}
	}
	return b.String()
}

func writeColumns(b *strings.Builder, columns []Column) {
	b.WriteString("| Column | Type | Null | Unit | Meaning |\n| --- | --- | --- | --- | --- |\n")
	for _, c := range columns {
		null := "yes"
		if c.NotNull {
			null = "no"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", code(c.Name), c.Type, null, c.Unit, cell(c.Meaning))
	}
}

// ViewsByName returns the views as people look for them.
func ViewsByName() []*File {
	all := Views()
	slices.SortFunc(all, func(a, b *File) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func code(s string) string { return "`" + s + "`" }

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
