package sqlfiles

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"callhouse/internal/resource"
	"callhouse/internal/schema"
)

// File is a view or a report.
type File struct {
	Name    string
	Answers string // one line
	Text    string // paragraphs, lines joined
	Grain   string
	Reads   []string
	Needs   []string
	// Counts are the columns by which the relation counted_calls is grouped.
	Counts []string
	// Arguments describes the report's arguments, such as "CALL_ID" or "WORD..."; empty: none.
	Arguments string
	// Flags are the report's own flags: field, every, skip or steps.
	Flags []string
	// Fielded are columns that exist only with --field.
	Fielded []string
	// History is the number of days read before the requested ones, as their past.
	History int
	// Keys are the columns that identify a row within its group.
	Keys []string
	// Main is the figure that stands for a group in a comparison, and MainRow the condition of its row within the
	// group; empty: the row whose figure changed most clearly.
	Main, MainRow string
	// Incomparable is why periods cannot be compared; empty: they can.
	Incomparable string
	Empty        string // the meaning of an empty result
	Example      string // a command line
	Columns      []Column
	Hidden       []string // columns only for comparisons: spreads of means
	SQL          string   // the SELECT without header
}

// Grouped reports whether --by adds a key to the report.
func (f *File) Grouped() bool { return len(f.Columns) > 0 && f.Columns[0].Name == "key" }

// Selects reports whether the report selects calls.
func (f *File) Selects() bool {
	return slices.ContainsFunc(f.Reads, func(name string) bool {
		return slices.ContainsFunc([]string{"selected", "surrounding", "counted_calls"},
			func(prefix string) bool { return strings.HasPrefix(name, prefix) })
	})
}

// Comparable reports whether two periods can be compared.
func (f *File) Comparable() bool { return f.Selects() && f.Grouped() && f.Incomparable == "" }

// Parameters returns the flags that select and arrange the rows of a report, without those of its arguments.
func (f *File) Parameters() (out []string) {
	if f.Selects() {
		out = append(out, "since", "until", "agent", "where")
	}
	if f.Grouped() {
		out = append(out, "by")
	}
	if f.Comparable() {
		out = append(out, "compare")
	}
	if out = append(out, f.Flags...); f.Arguments != "CALL_ID" {
		out = append(out, "sort", "top")
	}
	return out
}

// Pages returns what the flags skip and top of the report count, and the maximum number of rows of
// each; empty: the report has no such flags.
func (f *File) Pages() (of string, rows int64) {
	switch {
	case !slices.Contains(f.Flags, "skip"):
		return "", 0
	case f.Arguments == "WORD...":
		return "turns found", 3 // with the turns before and after
	}
	return "calls", 1
}

// Column is a column of a view or report.
type Column struct {
	Name    string
	Type    string
	Unit    string // ms, percent, count, money, number, points, prose, s; empty: none
	Of      string // denominator of a share, in a word or two: "percent of calls"
	NotNull bool
	Meaning string
	// Whole is the denominator of a share, in SQL over the report's columns: of its row or, with an
	// aggregate, of its group's rows. Spread is the column of the SELECT for the bounds of a mean.
	// Both empty: no bounds.
	Whole, Spread string
	// Shown is set if an answer for people has the column unless others are requested.
	Shown bool
}

// Column returns a named column.
func (f *File) Column(name string) (Column, bool) {
	for _, c := range f.Columns {
		if c.Name == name {
			return c, true
		}
	}
	return Column{}, false
}

var (
	gapRE  = regexp.MustCompile(` {2,}`)
	nameRE = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
)

// Parse parses a file's header. name is the file's, which the header repeats.
func Parse(name, text string) (*File, error) {
	header, sql := split(text)
	f := &File{SQL: sql}
	if len(header) == 0 {
		return nil, fmt.Errorf("parse header: there is none")
	}
	f.Name, f.Answers, _ = strings.Cut(header[0], ": ")
	f.Name, f.Arguments, _ = strings.Cut(f.Name, " ")
	if f.Name != name || !nameRE.MatchString(name) || f.Answers == "" {
		return nil, fmt.Errorf("parse header: the first line is not %q", "-- "+name+": what it answers")
	}
	lists := map[string]*[]string{"Reads": &f.Reads, "Needs": &f.Needs, "Flags": &f.Flags, "Keys": &f.Keys}
	texts := map[string]*string{"Grain": &f.Grain, "Empty": &f.Empty, "Example": &f.Example}
	inColumns := false
	for i, line := range header[1:] {
		key, rest, _ := strings.Cut(line, ":")
		switch {
		case inColumns:
			if err := f.column(line); err != nil {
				return nil, fmt.Errorf("parse header, line %d: %w", i+2, err)
			}
		case key == "Columns":
			inColumns = true
		case key == "Main":
			var row string
			f.Main, row, _ = strings.Cut(strings.TrimSpace(rest), " of ")
			if column, word, ok := strings.Cut(row, " "); ok {
				f.MainRow = column + " = '" + word + "'"
			}
		case lists[key] != nil:
			*lists[key] = list(rest)
		case texts[key] != nil:
			*texts[key] = strings.TrimSpace(rest)
		default:
			f.text(line)
		}
	}
	f.Text = strings.TrimSpace(f.Text)
	if f.Grain == "" || len(f.Columns) == 0 || f.SQL == "" {
		return nil, fmt.Errorf("parse header: grain, columns or the SELECT itself are missing")
	}
	return f, f.finish()
}

// finish parses what counted_calls has, derives keys and a main figure that are not named, and whether two
// periods can share rows.
func (f *File) finish() error {
	for i, r := range f.Reads {
		name, of, counts := strings.Cut(r, " of ")
		if f.Reads[i] = name; !counts {
			continue
		}
		of, days, before := strings.Cut(of, " from ")
		if f.Counts = strings.Fields(of); before {
			if _, err := fmt.Sscanf(days, "%d days before", &f.History); err != nil {
				return fmt.Errorf("parse header: %q: %w", r, err)
			}
		}
	}
	for _, c := range f.Columns {
		if f.Main == "" && c.Shown && (c.Spread != "" || c.Unit == "percent" && c.Whole != "") && !slices.Contains(f.Fielded, c.Name) {
			f.Main = c.Name
		}
	}
	switch {
	case slices.Equal(f.Keys, []string{"none"}):
		f.Keys, f.Incomparable = nil, "its rows are those of one period only"
	case f.Keys == nil && f.Grouped():
		for _, c := range f.Columns[1:] {
			if c.Unit == "" {
				f.Keys = append(f.Keys, c.Name)
			}
		}
	}
	for _, k := range f.Keys {
		c, ok := f.Column(k)
		if !ok {
			return fmt.Errorf("parse header: no column is the key %q", k)
		}
		if k == "call_id" || strings.HasPrefix(c.Type, "DATE") || strings.HasPrefix(c.Type, "TIMESTAMP") {
			f.Incomparable = "each row belongs to one call or time, which lies in one period only"
		}
	}
	return nil
}

// split returns the comment lines at the top without markers, and the rest.
func split(text string) (header []string, sql string) {
	for text != "" {
		line, rest, _ := strings.Cut(text, "\n")
		if !strings.HasPrefix(line, "--") {
			break
		}
		header = append(header, strings.TrimPrefix(strings.TrimPrefix(line, "--"), " "))
		text = rest
	}
	return header, strings.TrimSpace(text)
}

func list(s string) []string {
	var out []string
	for _, part := range strings.Split(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// text adds a line of prose; an empty one ends a paragraph.
func (f *File) text(line string) {
	switch {
	case line == "":
		f.Text = strings.TrimRight(f.Text, "\n ") + "\n\n"
	case f.Text == "" || strings.HasSuffix(f.Text, "\n"):
		f.Text += line
	default:
		f.Text += " " + line
	}
}

// stored adds the declared columns of the first stored table that the view reads.
func (f *File) stored() error {
	for _, name := range f.Reads {
		t := resource.Stored(name)
		if t == nil {
			continue
		}
		for i := range t.Columns {
			f.Columns = append(f.Columns, columnOf(&t.Columns[i]))
		}
		if t.ByMonth() {
			f.Columns = append(f.Columns, Column{Name: schema.Month, Type: schema.Text.DuckDB(), NotNull: true,
				Meaning: "partition: UTC month of the call's start, such as 2026-11"})
		}
		return nil
	}
	return fmt.Errorf("it reads no stored table: %v", f.Reads)
}

// columnOf converts a declared column to a view's.
func columnOf(c *schema.Column) Column {
	return Column{Name: c.Name, Type: c.Type.DuckDB(), Unit: c.Unit, NotNull: c.Required, Meaning: c.Doc}
}

// column parses " name TYPE unit meaning", with "* " before a shown one, a continuation of the
// meaning, or "*" for the columns of the stored table.
func (f *File) column(line string) error {
	trimmed := strings.TrimLeft(line, " ")
	if trimmed == "*" {
		return f.stored()
	}
	line, shown := strings.CutPrefix(line, "* ")
	if indent := len(line) - len(trimmed); indent > 2 && len(f.Columns) > 0 {
		last := &f.Columns[len(f.Columns)-1]
		last.Meaning += " " + trimmed
		return nil
	}
	fields := gapRE.Split(strings.TrimSpace(line), 4)
	if len(fields) != 4 {
		return fmt.Errorf("a column has a name, a type, a unit and a meaning: %q", line)
	}
	c := Column{Name: fields[0], Meaning: fields[3], Shown: shown}
	c.Type, c.NotNull = strings.CutSuffix(fields[1], " NOT NULL")
	var of string
	c.Unit, of, _ = strings.Cut(fields[2], ": ")
	c.Unit, c.Of, _ = strings.Cut(c.Unit, " of ")
	switch {
	case c.Unit == "hidden":
		f.Hidden = append(f.Hidden, c.Name)
		return nil
	case c.Unit == "-":
		c.Unit = ""
	case c.Unit == "percent":
		c.Whole = of
	case of != "":
		c.Spread, f.Hidden = of, append(f.Hidden, of)
	}
	if strings.HasPrefix(c.Meaning, "with --field: ") {
		f.Fielded = append(f.Fielded, c.Name)
	}
	f.Columns = append(f.Columns, c)
	return nil
}
