package sqlfiles

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"callhouse/internal/resource"
	"callhouse/internal/test"
)

// example is a report with all that a header may have.
func example(t *testing.T) string { return string(test.Read(t, "testdata/waits.sql")) }

func TestParse(t *testing.T) {
	got, err := Parse("waits", example(t))
	test.OK(t, err)
	want := &File{
		Name: "waits", Answers: "how long callers wait", Grain: "one row per group",
		Text:  "The first paragraph, over two lines: with a colon.\n\nThe second.",
		Reads: []string{"selected", "counted_calls"}, Needs: []string{"end"}, Counts: []string{"status", "is_started"},
		Arguments: "WORD...", Flags: []string{"field"}, Fielded: []string{"at"}, Keys: []string{"at"}, History: 28,
		Hidden:       []string{"waits", "total"},
		Repeats:      map[string][]string{"long_percent": {"key"}, "total": {"at"}},
		Incomparable: "each row belongs to one call or time, which lies in one period only",
		Columns: []Column{
			{Name: "key", Type: "VARCHAR", Meaning: "the group"},
			{Name: "wait_ms", Type: "BIGINT", Unit: "ms", NotNull: true, Spread: "waits", Meaning: "the wait, which needs two lines"},
			{Name: "at", Type: "TIMESTAMP WITH TIME ZONE", NotNull: true, Meaning: "with --field: when"},
			{Name: "long_percent", Type: "DOUBLE", Unit: "percent", Of: "these calls", Whole: "sum(wait_ms)", Meaning: "how many wait long"},
		},
		SQL: "-- A comment of the statement.\nSELECT 1",
	}
	test.Same(t, want, got, "(-want +got)")
}

func TestParseErrors(t *testing.T) {
	example := example(t)
	for name, text := range map[string]string{
		"no header":   "SELECT 1",
		"other name":  strings.Replace(example, "-- waits", "-- wait", 1),
		"no grain":    strings.Replace(example, "-- Grain: one row per group\n", "", 1),
		"no columns":  "-- waits: x\n-- Grain: y\n\nSELECT 1",
		"no SELECT":   example[:strings.Index(example, "\n\n-- A comment")],
		"other key":   strings.Replace(example, "-- Flags:", "-- Keys: when\n-- Flags:", 1),
		"other days":  strings.Replace(example, "28 days", "some days", 1),
		"half column": strings.Replace(example, "  -                                   the group", "", 1),
	} {
		if _, err := Parse("waits", text); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// What is embedded parses, is one statement, and reads only what there is.
func TestFiles(t *testing.T) {
	relations := map[string]bool{"selected": true, "surrounding": true, "counted_calls": true, "selected_turns": true, "selected_tool_calls": true, "selected_items": true, "selected_values": true, "selected_changes": true, "selected_incidents": true, "selected_campaign_calls": true,
		"stored.calls": true, "stored.transcript_turns": true, "stored.analysis_items": true, "stored.runs": true}
	for _, t := range resource.Tables {
		relations["stored."+t.Name] = true
	}
	for _, v := range Views() {
		for _, r := range v.Reads {
			if !relations[r] {
				t.Errorf("view %s reads %s, which is not made before it", v.Name, r)
			}
		}
		relations[v.Name] = true
	}
	for _, f := range Reports() {
		for _, r := range f.Reads {
			if _, ok := Report(r); !ok && !relations[r] {
				t.Errorf("%s reads %s, which there is not", f.Name, r)
			}
		}
		for _, n := range f.Needs {
			switch n {
			case "end", "words", "duration", "analysis", "transcripts", "cost":
			default:
				t.Errorf("%s needs %s, which the coverage does not know", f.Name, n)
			}
		}
		if strings.Contains(f.SQL, ";") {
			t.Errorf("%s is more than one statement", f.Name)
		}
	}
	for _, f := range append(Views(), Reports()...) {
		for _, c := range f.Columns {
			_, report := Report(f.Name)
			if bound := strings.HasSuffix(c.Name, "low_percent") || strings.HasSuffix(c.Name, "high_percent"); report && c.Unit == "percent" && c.Of == "" && !bound {
				t.Errorf("%s.%s does not say what it is a share of", f.Name, c.Name)
			}
			switch c.Unit {
			case "", "ms", "s", "percent", "count", "money", "number", "points", "prose":
			default:
				t.Errorf("%s.%s has the unit %q", f.Name, c.Name, c.Unit)
			}
		}
	}
}

// docs/reference/data-dictionary.md says what the headers of the views say; with -update
// it is written anew.
func TestDictionary(t *testing.T) {
	test.Golden(t, "../docs/reference/data-dictionary.md", dictionary())
}

// The requests for resources in docs/reference/organisation.md are the declared ones.
func TestRequestsOfResources(t *testing.T) {
	var b strings.Builder
	b.WriteString("| table | request | when |\n| --- | --- | --- |\n")
	for _, r := range resource.All {
		list, when := r.Path, "every night"
		if days := r.Every / (24 * time.Hour); r.Parent != nil {
			when = "when the row in `" + r.Parent.Name + "` changed"
			if days > 0 {
				when += fmt.Sprintf(", and every %d days", days)
			}
		} else if days > 0 {
			when = fmt.Sprintf("every %d days", days)
		}
		each := ""
		for _, q := range r.Queries {
			if len(r.Queries) == 1 {
				list += "?" + q.Encode()
			}
			for name := range q {
				each = ", once for each `" + name + "`"
			}
		}
		if len(r.Queries) < 2 {
			each = ""
		}
		request := "`GET " + list + "`" + each
		if r.Record != "" {
			request += "; `GET " + r.Record + "` for `" + strings.Join(r.Own, "`, `") + "`"
			when += "; the second one when the item in the list changed"
		}
		request = strings.NewReplacer("{}", "{id}", "%7B%7D", "{id}").Replace(request)
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.Name, request, when)
	}
	test.GoldenPart(t, "../docs/reference/organisation.md", "go test ./sql -update -->\n", "<!-- end -->", b.String())
}

// dictionaryHead precedes the tables of the data dictionary.
const dictionaryHead = `# Data dictionary

All tables and columns that SQL can read, as ` + "`query describe TABLE`" + ` prints them. This
page is generated from ` + "`internal/schema`, `internal/resource` and `sql/views` by\n`go test ./sql -args -update`" + `.

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

// dictionary returns the data dictionary: the views' headers as Markdown.
func dictionary() string {
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
