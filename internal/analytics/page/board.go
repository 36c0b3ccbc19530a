package page

import (
	"cmp"
	"context"
	"math/big"
	"slices"
	"strings"

	"callhouse/internal/analytics/page/texts"
	"callhouse/internal/analytics/value"
)

// board declares a table of a report's rows: its columns, and the ids of its texts. The section's
// title and lead are ID.title and ID.lead, and the heading of a column is ID.TEXT.
type board struct {
	id, report string
	title      string // id of its title; empty: ID.title
	told, none string // ids of its lead, with rows (empty: ID.lead) and without (empty: the same; "-": there is no such section)
	by, words  string // heading of the names; section of the catalogue that translates them
	wide       bool
	columns    []column
	named      int                             // number of named rows; the others are summed. 0: all
	choose     func(a *asked) []int            // the named rows, in order; nil: the first
	omit       func(a *asked, row []any) bool  // rows that are neither named nor summed
	line       func(a *asked, i int, l *line)  // completes the line of a row
	lead       func(a *asked, t *table) string // nil: by told and none
}

// column declares a column of a table.
type column struct {
	text, name string
	bar        bool // of a percentage
	longest    bool // scaled so that the largest bar is full, as all values are small
	words      bool // text, no numbers
	prose      bool // text of several lines
	wide       bool // hidden on a narrow page
	sum        bool // summed over the rows that are not named
	write      func(a *asked, row []any, v any) string
	link       func(a *asked, row int) string // nil: none
}

// board makes the section of a board.
func (r reader) board(ctx context.Context, b board, p period) (*section, error) {
	a, err := r.ask(ctx, b.report, p, "")
	if err != nil {
		return nil, err
	}
	t := b.table(a)
	s := &section{ID: b.id, Title: r.l.Say(cmp.Or(b.title, b.id+".title")), Wide: b.wide, Lead: r.l.Say(cmp.Or(b.told, b.id+".lead"))}
	switch {
	case b.lead != nil:
		s.Lead = b.lead(a, t)
	case len(t.Rows) == 0 && b.none == "-":
		return nil, nil //nolint:nilnil // there is no such part
	case len(t.Rows) == 0 && b.none != "":
		s.Lead = r.l.Say(b.none)
	}
	if len(t.Rows) > 0 {
		s.Boards = []*table{t}
	}
	return s, nil
}

// table returns the rows of a board.
func (b board) table(a *asked) *table {
	t := &table{Command: a.Command, By: a.l.Say(b.by)}
	for _, c := range b.columns {
		t.Heads = append(t.Heads, head{Text: a.l.Say(b.id + "." + c.text), Column: c.name, Words: c.words || c.prose, Prose: c.prose,
			Wide: c.wide})
	}
	chosen := b.first(a)
	for _, i := range chosen {
		l := a.named(a.rows[i], 0, b.words)
		for _, c := range b.columns {
			shown := c.cell(a, a.rows[i])
			if c.link != nil && !shown.Null {
				shown.Link = c.link(a, i)
			}
			l.Cells = append(l.Cells, shown)
		}
		if b.line != nil {
			b.line(a, i, &l)
		}
		t.Rows = append(t.Rows, l)
	}
	for i, c := range b.columns {
		if c.longest {
			t.stretch(i)
		}
	}
	var rest []any
	others := 0
	for i, row := range a.rows {
		if slices.Contains(chosen, i) || b.omit != nil && b.omit(a, row) {
			continue
		}
		others++
		rest = add(rest, row)
	}
	if others > 0 {
		l := line{Name: a.l.Say("count.others", others), Sum: true}
		for _, c := range b.columns {
			v := rest[a.index(c.name)]
			if !c.sum || v == nil {
				l.Cells = append(l.Cells, noNumber())
			} else {
				l.Cells = append(l.Cells, a.cell(v, c.name))
			}
		}
		t.Rows = append(t.Rows, l)
	}
	return t
}

// first returns the rows to name. A single remaining row is named as well.
func (b board) first(a *asked) (out []int) {
	if b.choose != nil {
		return b.choose(a)
	}
	for i, row := range a.rows {
		if b.omit == nil || !b.omit(a, row) {
			out = append(out, i)
		}
	}
	if b.named > 0 && len(out) > b.named+1 {
		out = out[:b.named]
	}
	return out
}

// cell returns a row's value in the column.
func (c column) cell(a *asked, row []any) cell {
	v := row[a.index(c.name)]
	out := a.cell(v, c.name)
	if c.write != nil {
		out.Text = c.write(a, row, v)
	}
	if c.bar {
		out = out.withBar(float(v))
	}
	return out
}

// add adds the counts and amounts of a row to those of others.
func add(sum, row []any) []any {
	if sum == nil {
		sum = make([]any, len(row))
	}
	for i, v := range row {
		switch x := v.(type) {
		case int64:
			n, _ := sum[i].(int64)
			sum[i] = n + x
		case value.Decimal:
			if was, ok := sum[i].(value.Decimal); ok {
				x.Units = new(big.Int).Add(was.Units, x.Units)
			}
			sum[i] = x
		}
	}
	return sum
}

// named begins a line with the translated value of a column.
func (a *asked) named(row []any, column int, section string) line {
	v := row[column]
	if v == nil {
		return line{Name: a.l.Say("page.none"), Null: true}
	}
	key := a.text(v)
	return line{Name: texts.Clip(strings.ToValidUTF8(a.l.Word(section, key), "�"), 40), Title: key, Key: key}
}
