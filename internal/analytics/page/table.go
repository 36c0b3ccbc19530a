package page

import (
	"cmp"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"callhouse/internal/analytics/value"
)

// section is one part of the page: its text, a chart or tables, and the numbers behind it.
type section struct {
	ID, Title, Lead string
	Open            bool // the lead opens the tables
	Charts          []template.HTML
	Tables          []*table
	Numbers         []*table // of the charts, collapsed
}

// table has rows of a report.
type table struct {
	Command command
	By      string // heading of the row names
	Heads   []head
	Rows    []line
}

// head is a column: its heading and its source, a column of the report, in the rows that Where selects.
type head struct {
	Text, Column, Where string
	Words               bool // text, no numbers
	Wide                bool // hidden on a narrow page
}

// line is a row. Key is the exact text of the report's first column; Sum marks the sum of several rows.
type line struct {
	Name, Title, Key string
	Null, Sum, Part  bool
	Note             string // shown after the name
	Show             string // the command that shows the row's subject
	Link             string // its link on a served page
	Summary          string // of a call
	Said             []said // the last words
	Recording        string // where it is; empty: nowhere
	Cells            []cell
}

// said is a turn of a call.
type said struct{ Who, What string }

// table returns an empty table of an answer. Headings are ID.TEXT.
func (a *answer) table(by, id string, heads ...head) *table {
	t := &table{Command: a.Command, By: a.l.Say(by), Heads: heads}
	for i, h := range heads {
		t.Heads[i].Text = a.l.Say(id + "." + h.Text)
	}
	return t
}

// line begins a row with the translated text of its first column.
func (a *answer) line(row []any, section string) line {
	if row[0] == nil {
		return line{Name: a.l.Say("page.none"), Null: true}
	}
	key := a.text(row[0])
	return line{Name: clip(strings.ToValidUTF8(a.l.Word(section, key), "�"), 40), Title: key, Key: key}
}

// cells returns the values of columns in a row.
func (a *answer) cells(row []any, columns ...string) (out []cell) {
	for _, c := range columns {
		out = append(out, a.cell(row[a.index(c)], c))
	}
	return out
}

// share returns a share in a row with a bar, and its change since the period before, if that is beyond
// chance. The changes of the answer are p's points, called by name.
func (p *page) share(a *answer, row []any, column string, of direction, name string) cell {
	out := a.cell(row[a.index(column)], column)
	if is := float(row[a.index(column)]); !math.IsNaN(is) {
		out.HasBar, out.Bar = true, min(max(is, 0), 100)
		if row[0] != nil && a.clear(row, column) {
			was := float(row[a.index(value.PreviousOf+column)])
			out.Change = p.l.change(is, was, of, p.l.points(is-was), true)
			low, high := float(row[a.index(value.ChangeLowOf+column)]), float(row[a.index(value.ChangeHighOf+column)])
			p.changes = append(p.changes, point{Text: name + " " + out.Change.By, Change: out.Change, clarity: math.Abs(is-was) / (high - low)})
		}
	}
	return out
}

// most keeps the rows of a table with the largest counts in its i-th column, sums up the others, and returns their number.
// A single other row is kept as well; rows that only the period before has are dropped.
func (a *answer) most(t *table, i, named int) (others int) {
	count := func(l line) int64 {
		n, _ := strconv.ParseInt(l.Cells[i].Exact, 10, 64)
		return n
	}
	t.Rows = slices.DeleteFunc(t.Rows, func(l line) bool { return count(l) == 0 })
	if len(t.Rows) <= named+1 {
		return 0
	}
	order := make([]int, len(t.Rows))
	for n := range order {
		order[n] = n
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(count(t.Rows[y]), count(t.Rows[x])) })
	var sum int64
	for _, n := range order[named:] {
		sum += count(t.Rows[n])
	}
	all := t.Rows
	t.Rows = nil
	for _, n := range slices.Sorted(slices.Values(order[:named])) {
		t.Rows = append(t.Rows, all[n])
	}
	others = len(all) - named
	rest := line{Name: a.l.Say("count.others", others), Sum: true}
	for range t.Heads {
		rest.Cells = append(rest.Cells, cell{Text: "–", Null: true, Number: true})
	}
	rest.Cells[i] = a.cell(sum, t.Heads[i].Column)
	t.Rows = append(t.Rows, rest)
	return others
}

// stretch scales the bars of a column so that the longest one is full.
func (t *table) stretch(column int) {
	var longest float64
	for _, l := range t.Rows {
		longest = max(longest, l.Cells[column].Bar)
	}
	for _, l := range t.Rows {
		if longest > 0 {
			l.Cells[column].Bar *= 100 / longest
		}
	}
}
