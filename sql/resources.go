package sqlfiles

import (
	"fmt"
	"strings"
	"sync"

	"callhouse/internal/resource"
	"callhouse/internal/schema"
)

// resourceViews returns the views of the resources and of their changes, from the declarations.
func resourceViews() []*File {
	var out []*File
	for _, r := range resource.All {
		out = append(out, storedView(r.Table.Name, r.Doc,
			"One row for each that was ever listed; deleted_at is set once it is gone. "+r.Name+
				"_at(TIME) returns the state at that time, as far as callhouse saw it.\n\n"+r.Text,
			"one row per object"))
	}
	return append(out, storedView(resource.Changes.Name, "changes of all resources, with the time they were detected",
		"A run detects the changes since the run before: each happened after since_at and no later than seen_at. Changes "+
			"undone in between are not seen.",
		"one row per change of an object"))
}

func storedView(name, answers, text, grain string) *File {
	f := &File{Name: name, Answers: answers, Text: strings.TrimSpace(text), Grain: grain, Reads: []string{"stored." + name},
		SQL: fmt.Sprintf("SELECT stored.*\nFROM stored.%s AS stored", name)}
	if err := f.stored(); err != nil {
		panic(err) // the first test finds it
	}
	return f
}

// PastMacros returns the macros that return the resources as of a time.
var PastMacros = sync.OnceValue(pastMacros)

func pastMacros() string {
	var b strings.Builder
	for _, r := range resource.All {
		fmt.Fprintf(&b, "\n-- %s_at returns %s as they were at a time: those that were there, as callhouse had seen them by then.\n"+
			"CREATE MACRO %s_at(instant) AS TABLE\nSELECT ", r.Name, r.Name, r.Name)
		for i := range r.Table.Columns {
			c := &r.Table.Columns[i]
			if !c.Compared() || !r.Compared(i) || c.Name == "deleted_at" {
				continue
			}
			value := fmt.Sprintf("CAST(after ->> '$.%s' AS %s)", c.Name, c.Type.DuckDB())
			if c.Type == schema.JSON {
				value = fmt.Sprintf("nullif(after -> '$.%s', 'null')", c.Name)
			}
			fmt.Fprintf(&b, "last(%s ORDER BY seen_at) FILTER (WHERE json_exists(after, '$.%s')) AS %s,\n    ", value, c.Name, c.Name)
		}
		fmt.Fprintf(&b, "max(seen_at) AS changed_at\nFROM changes\nWHERE resource = '%s' AND seen_at <= instant\nGROUP BY key\n"+
			"HAVING last(kind ORDER BY seen_at) <> 'deleted';\n", r.Name)
	}
	return b.String()
}
