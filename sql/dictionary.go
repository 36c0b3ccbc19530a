package sqlfiles

import (
	"fmt"
	"slices"
	"strings"

	"callhouse/internal/resource"
)

// dictionaryHead precedes the tables of the data dictionary.
const dictionaryHead = `# Data dictionary

All tables and columns that SQL can read, as ` + "`query describe TABLE`" + ` prints them.

- **TIMESTAMPTZ** (TIMESTAMP WITH TIME ZONE) is an instant, stored in UTC and printed in the zone of
  ` + "`--tz`" + ` (default UTC).
- **TIMESTAMP**, **DATE** and hours are local to ` + "`--tz`" + `. Files for other programs have instants
  only.

`

// resourceHead precedes the columns common to all resources.
const resourceHead = `
## Columns of every resource

Tables with one row per object, the resources, hold every object that was ever listed. Each has
these columns after its own. The macro ` + "`TABLE_at(TIME)`, such as\n" +
	"`agents_at(TIMESTAMPTZ '2026-11-01')`" + `, returns a table as it was at that time, as far as callhouse
saw it.

`

// Dictionary returns the page of all tables and columns, in Markdown: the views' headers.
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
				fmt.Fprintf(&b, "\n%s\n", wrapped(p))
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

// units are the units of numbers whose description does not include them.
var units = map[string]string{"ms": ", in ms", "s": ", in seconds", "percent": ", in percent (0 to 100)", "money": " (account's currency)"}

func writeColumns(b *strings.Builder, columns []Column) {
	b.WriteString("| Column | Type | Meaning |\n| --- | --- | --- |\n")
	for _, c := range columns {
		typ := strings.Replace(c.Type, "TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ", 1)
		if c.NotNull {
			typ += " NOT NULL"
		}
		meaning, null, _ := strings.Cut(c.Meaning, "; null")
		meaning += units[c.Unit]
		if null != "" {
			meaning += "; null" + null
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", code(c.Name), typ, cell(meaning))
	}
}

// wrapped breaks a text into lines of at most 100 bytes, like the other pages.
func wrapped(text string) string {
	var b strings.Builder
	column := 0
	for _, word := range strings.Fields(text) {
		switch {
		case column == 0:
		case column+1+len(word) > 100:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}

func code(s string) string { return "`" + s + "`" }

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
