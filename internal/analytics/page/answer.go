package page

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/value"
	"callhouse/internal/words"
)

// answer has the rows of a report. These are few: days, reasons or agents, but never all calls.
type answer struct {
	Command command
	report  string
	params  question.Params
	columns []value.Column
	rows    [][]any
	exact   [][]any // the same with ids instead of names
	*source
}

// source is where answers come from: a warehouse, for one agent or all, under conditions.
type source struct {
	w     *analytics.Warehouse
	l     *Texts
	agent string
	where []string
	at    Address
}

// command is a command that prints an answer, and its link on a served page.
type command struct{ Text, Link string }

// params returns the parameters of a question about a period, grouped by a dimension or not.
func (s *source) params(p period, by string) question.Params {
	out := p.params()
	out.Agent, out.Where, out.By = s.agent, s.where, by
	return out
}

// compare returns the parameters of a comparison with the period before, of these columns of a
// report, beginning with the key. Shares and means come with the bounds of their changes.
func (s *source) compare(p period, strict question.Strict, columns ...string) question.Params {
	out := s.params(p, "").WithPrevious(p.loc)
	if s.w.Sparse(out) {
		return s.params(p, "")
	}
	out.Strict = strict
	for i, c := range columns {
		if out.Columns = append(out.Columns, c); i > 0 {
			out.Columns = append(out.Columns, value.PreviousOf+c)
		}
		if strings.HasSuffix(c, "_percent") || c == "per_call" {
			out.Columns = append(out.Columns, value.ChangeLowOf+c, value.ChangeHighOf+c)
		}
	}
	return out
}

// ask puts a question to a report. A comparison of what lies in one period only, such as a day, is
// answered without the period before.
func (s *source) ask(ctx context.Context, report string, q question.Params) (*answer, error) {
	q.NamesInPlace = true
	rows, err := s.w.Ask(ctx, analytics.Question{Report: report, Params: q})
	if _, ok := errors.AsType[*question.GroupError](err); ok && !q.PreviousSince.IsZero() {
		single := s.params(period{question.DayOf(q.Since, s.w.Location()), question.DayOf(q.Until, s.w.Location()), s.w.Location()}, q.By)
		return s.ask(ctx, report, single)
	}
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	a := &answer{report: report, columns: slices.Clone(rows.Columns()), params: q, source: s, Command: s.command(report, q)}
	for {
		row, err := rows.Next(ctx)
		if errors.Is(err, io.EOF) {
			return a, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read report %s: %w", report, err)
		}
		a.rows, a.exact = append(a.rows, slices.Clone(row)), append(a.exact, slices.Clone(rows.Exact()))
	}
}

// command returns the command that prints an answer.
func (s *source) command(report string, q question.Params) (c command) {
	parts := []string{"query", report}
	if q.By != "" {
		parts = append(parts, "--by", q.By)
	}
	if !q.PreviousSince.IsZero() {
		parts = append(parts, "--compare previous")
	}
	loc := s.w.Location()
	parts = append(parts, period{question.DayOf(q.Since, loc), question.DayOf(q.Until, loc), loc}.flags(), "--tz", loc.String())
	if s.agent != "" {
		parts = append(parts, "--agent", words.Shell(s.agent))
	}
	for _, condition := range s.where {
		parts = append(parts, "--where", words.Shell(condition))
	}
	c.Text = strings.Join(parts, " ")
	if s.at != nil {
		c.Link = s.at(report, q)
	}
	return c
}

// index returns the index of a column. Names are built in, so an unknown one is a bug that every test finds.
func (a *answer) index(column string) int {
	i := slices.IndexFunc(a.columns, func(c value.Column) bool { return c.Name == column })
	if i < 0 {
		panic("report " + a.report + " has no column " + column)
	}
	return i
}

// text returns a value's exact text.
func (a *answer) text(v any) string { return string(value.AppendText(nil, v, a.w.Location())) }

// count returns a row's number in a column.
func (a *answer) count(row []any, column string) int64 {
	n, _ := row[a.index(column)].(int64)
	return n
}

// sum returns the sum of a column of counts.
func (a *answer) sum(column string) (n int64) {
	for _, row := range a.rows {
		n += a.count(row, column)
	}
	return n
}

// row returns the first row whose columns have these texts; nil if there is none.
func (a *answer) row(where map[string]string) []any {
rows:
	for _, r := range a.rows {
		for c, want := range where {
			if v := r[a.index(c)]; v == nil || a.text(v) != want {
				continue rows
			}
		}
		return r
	}
	return nil
}

// at returns a column of the first row whose columns have these texts; nil if there is none.
func (a *answer) at(column string, where map[string]string) any {
	if r := a.row(where); r != nil {
		return r[a.index(column)]
	}
	return nil
}

// calls returns the link to the calls that a number counts: those in the rows whose columns have
// these texts. If no condition selects them, it links to the report. Empty on a standalone page.
func (a *answer) calls(where map[string]string) string {
	if a.source.at == nil {
		return ""
	}
	p := a.params
	for _, column := range slices.Sorted(maps.Keys(where)) { // the same link each time
		text := where[column]
		if column == "agent_id" {
			column = "agent"
		}
		if !slices.Contains(question.Dimensions(), column) {
			return a.Command.Link
		}
		p = p.Only(column, text)
	}
	return a.source.at("calls", p)
}

// page returns the link to the page of an agent. Empty on a standalone page.
func (a *answer) page(agent string) string {
	if a.source.at == nil {
		return ""
	}
	p := a.params
	p.Agent = agent
	return a.source.at("page", p)
}

// id returns the exact text of a row's column, with ids instead of names.
func (a *answer) id(row int, column string) string { return a.text(a.exact[row][a.index(column)]) }

// cell is a table cell: formatted for people, and exact.
type cell struct {
	Text, Exact string
	Null        bool
	Number      bool
	Link        string // on a served page
	HasBar      bool
	Bar         float64 // the length of the bar, 0 to 100
	Change      *change // beyond chance, since the period before
}

// cell returns a value of a column for the page.
func (a *answer) cell(v any, column string) cell {
	c := a.columns[a.index(column)]
	c.Null = "–"
	return cell{Text: a.l.Cell(v, c, a.w.Location()), Exact: a.text(v), Null: v == nil, Number: c.Kind.Numeric()}
}

// float returns a value as a number to draw; NaN if it is not a number.
func float(x any) float64 {
	if v := value.Of(x); v.Kind.Numeric() {
		return v.Float()
	}
	return math.NaN()
}
