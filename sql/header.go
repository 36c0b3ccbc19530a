package sqlfiles

import (
	"fmt"
	"regexp"
	"strings"
)

// File is a view or a report.
type File struct {
	Name    string
	Answers string // what it answers, in one line
	Text    string // for people: paragraphs, lines joined
	Grain   string
	Reads   []string
	Needs   []string
	// Tallies are the columns that the relation tallied is grouped by.
	Tallies []string
	// Arguments says what follows the report's name, as in "CALL_ID" or
	// "WORD..."; empty: nothing does.
	Arguments string
	// Flags are those that only this report has: field.
	Flags []string
	// Map names three columns (down, across, number) of which a terminal draws a
	// heat map instead of a table; none: a table.
	Map     []string
	Columns []Column
	SQL     string // the SELECT, without the header
}

// Grouped reports whether the report has groups: --by gives it a key.
func (f *File) Grouped() bool { return len(f.Columns) > 0 && f.Columns[0].Name == "key" }

// Selects reports whether the report is over calls that its user selects.
func (f *File) Selects() bool {
	for _, r := range f.Reads {
		if strings.HasPrefix(r, "selected") || r == "tallied" {
			return true
		}
	}
	return false
}

// Column is a column of a view's or report's result.
type Column struct {
	Name    string
	Type    string
	Unit    string // ms, percent, count, money, number, points, prose, s; empty: none
	Of      string // what it is a share of, in a word or two: "percent of calls"
	NotNull bool
	Meaning string
}

// Column returns the column called name.
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

// Parse reads a file's header. name is the file's own, which the header repeats.
func Parse(name, text string) (*File, error) {
	header, sql := split(text)
	f := &File{SQL: sql}
	if len(header) == 0 {
		return nil, fmt.Errorf("parse header: there is none")
	}
	f.Name, f.Answers, _ = strings.Cut(header[0], ": ")
	if f.Name != name || !nameRE.MatchString(name) || f.Answers == "" {
		return nil, fmt.Errorf("parse header: the first line is not %q", "-- "+name+": what it answers")
	}
	inColumns := false
	for i, line := range header[1:] {
		key, rest, isField := strings.Cut(line, ":")
		switch {
		case inColumns:
			if err := f.column(line); err != nil {
				return nil, fmt.Errorf("parse header, line %d: %w", i+2, err)
			}
		case isField && key == "Columns":
			inColumns = true
		case isField && key == "Grain":
			f.Grain = strings.TrimSpace(rest)
		case isField && key == "Reads":
			f.Reads = list(rest)
		case isField && key == "Needs":
			f.Needs = list(rest)
		case isField && key == "Tallies":
			f.Tallies = list(rest)
		case isField && key == "Arguments":
			f.Arguments = strings.TrimSpace(rest)
		case isField && key == "Flags":
			f.Flags = list(rest)
		case isField && key == "Map":
			f.Map = list(rest)
		default:
			f.text(line)
		}
	}
	f.Text = strings.TrimSpace(f.Text)
	if f.Grain == "" || len(f.Columns) == 0 || f.SQL == "" {
		return nil, fmt.Errorf("parse header: grain, columns or the SELECT itself are missing")
	}
	return f, nil
}

// split returns the comment lines at the top, unmarked, and the rest.
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

// column reads "  name  TYPE  unit  meaning", or more of the meaning before.
func (f *File) column(line string) error {
	trimmed := strings.TrimLeft(line, " ")
	if indent := len(line) - len(trimmed); indent > 2 && len(f.Columns) > 0 {
		last := &f.Columns[len(f.Columns)-1]
		last.Meaning += " " + trimmed
		return nil
	}
	fields := gapRE.Split(strings.TrimSpace(line), 4)
	if len(fields) != 4 {
		return fmt.Errorf("a column has a name, a type, a unit and a meaning: %q", line)
	}
	c := Column{Name: fields[0], Unit: fields[2], Meaning: fields[3]}
	c.Type, c.NotNull = strings.CutSuffix(fields[1], " NOT NULL")
	c.Unit, c.Of, _ = strings.Cut(c.Unit, " of ")
	if c.Unit == "-" {
		c.Unit = ""
	}
	f.Columns = append(f.Columns, c)
	return nil
}
