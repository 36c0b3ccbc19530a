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
	"sync"
	"time"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/value"
	"callhouse/internal/words"
)

// asked is the result of a report with all its rows. These are few: bins, reasons or agents, but
// never calls.
type asked struct {
	Command command
	report  string
	params  question.Params
	period  period
	address Address
	columns []value.Column
	rows    [][]any
	exact   [][]any // the same with ids instead of names
	loc     *time.Location
	l       *lang
}

// reader runs reports over one warehouse, for one agent or all, under conditions.
type reader struct {
	w     *analytics.Warehouse
	l     *lang
	agent string
	where []string
	at    Address
	known *sync.Map // answers so far, since some sections share a report: func() (*asked, error), and *asked under the names below
}

// The beginnings of names in known: a report by day over all days that the page needs, and a
// comparison of all columns that it needs.
const (
	ofDays = "days of "
	ofBoth = "both of "
)

// params returns the parameters of reports for a period.
func (r reader) params(p period, by string) question.Params {
	out := p.params()
	out.Agent, out.Where, out.By = r.agent, r.where, by
	return out
}

// ask runs a report over a period, grouped by a dimension or not.
func (r reader) ask(ctx context.Context, report string, p period, by string) (*asked, error) {
	params := r.params(p, by)
	params.Columns = used[report]
	if a := r.part(report, p, params); a != nil {
		return a, nil
	}
	return r.run(ctx, report, params, p, "")
}

// days runs a report by day, once for all callers that need a part of these days.
func (r reader) days(ctx context.Context, report string, p period) error {
	a, err := r.ask(ctx, report, p, "day")
	if err == nil {
		r.known.Store(ofDays+report, a)
	}
	return err
}

// part extracts an answer from another one; nil: there is none. A comparison has the rows of its
// later period, in order. In a report by day, the rows of a day do not depend on other days: it has
// the answers for fewer days, and for one day without groups.
func (r reader) part(report string, p period, params question.Params) *asked {
	known := func(name string) *asked {
		a, _ := r.known.Load(name + report)
		of, _ := a.(*asked)
		return of
	}
	if both := known(ofBoth); both != nil && both.period == p && params.By == "" {
		a := *both
		a.params, a.Command, a.rows, a.exact = params, r.command(report, params, p.flags()), nil, nil
		for i, row := range both.rows {
			if both.count(i, used[report][1]) > 0 { // not only in the previous period
				a.rows, a.exact = append(a.rows, row), append(a.exact, both.exact[i])
			}
		}
		return &a
	}
	all := known(ofDays)
	if all == nil || p.since.Before(all.period.since) || p.until.After(all.period.until) ||
		params.By != "day" && (params.By != "" || p.days() != 1) {
		return nil
	}
	a := *all
	a.period, a.params, a.Command = p, params, r.command(report, params, p.flags())
	a.rows, a.exact = nil, nil
	from := 0
	if params.By == "" {
		from, a.columns = 1, all.columns[1:]
	}
	for i, row := range all.rows {
		if day := all.day(row); !day.Before(p.since) && day.Before(p.until) {
			a.rows, a.exact = append(a.rows, row[from:]), append(a.exact, all.exact[i][min(from, len(all.exact[i])):])
		}
	}
	return &a
}

// command returns the command that prints an answer.
func (r reader) command(report string, p question.Params, bounds string) (c command) {
	parts := []string{"query", report}
	if p.By != "" {
		parts = append(parts, "--by", p.By)
	}
	parts = append(parts, bounds, "--tz", r.w.Location().String())
	if r.agent != "" {
		parts = append(parts, "--agent", words.Shell(r.agent))
	}
	for _, condition := range r.where {
		parts = append(parts, "--where", words.Shell(condition))
	}
	c.Text = strings.Join(parts, " ")
	if r.at != nil {
		c.Link = r.at(report, p)
	}
	return c
}

// used are the columns that the page needs, of reports that have others which are expensive.
var used = map[string][]string{"tools": {"tool_name", "uses", "failed_uses", "failed_percent", "unanswered_uses"},
	"conversation": {"latency_p50_ms", "latency_p95_ms", "responses"}, "durations": {"p50_ms", "p90_ms", "p99_ms", "max_ms"},
	"versions": {"agent_id", "agent_version", "answered_calls", "completed_percent", "verdict"}}

// compared are the columns of comparisons that the page shows, beginning with the key. Other
// columns are not judged together with them.
var compared = map[string][]string{"tools": used["tools"], "disconnections": {"disconnection_reason", "calls", "share_percent"},
	"agents": {"agent_id", "goal", "answered_calls", "goal_percent", "rated_calls", "negative_percent"}}

// compare is the flag of a comparison with the previous period.
const compare = " --compare previous"

// compare runs a report over a period and the previous one.
func (r reader) compare(ctx context.Context, report string, p period) (*asked, error) {
	both := r.params(p, "").WithPrevious(p.loc)
	both.Strict.Answers = answersOfPeriod
	for i, c := range compared[report] {
		if both.Columns = append(both.Columns, c); i > 0 {
			both.Columns = append(both.Columns, was+c)
		}
		if strings.HasSuffix(c, "_percent") {
			both.Columns = append(both.Columns, value.ChangeLowOf+c, value.ChangeHighOf+c)
		}
	}
	a, err := r.run(ctx, report, both, p, compare[1:]+" ")
	if err == nil && len(used[report]) > 0 {
		r.known.Store(ofBoth+report, a)
	}
	return a, err
}

// before returns the previous period, as in --compare previous.
func (p period) before() period {
	both := p.params().WithPrevious(p.loc)
	return period{since: question.DayOf(both.PreviousSince, p.loc), until: question.DayOf(both.PreviousUntil, p.loc), loc: p.loc}
}

// run puts a question about a period to a report, once. flags are further flags of its command.
func (r reader) run(ctx context.Context, report string, q question.Params, p period, flags string) (*asked, error) {
	q.NamesInPlace = true
	once, _ := r.known.LoadOrStore(fmt.Sprint(report, q), sync.OnceValues(func() (*asked, error) {
		return r.read(ctx, report, q, p, flags+p.flags())
	}))
	return once.(func() (*asked, error))()
}

func (r reader) read(ctx context.Context, report string, q question.Params, p period, bounds string) (*asked, error) {
	rows, err := r.w.Ask(ctx, analytics.Question{Report: report, Params: q})
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	a := &asked{report: report, columns: slices.Clone(rows.Columns()), loc: r.w.Location(), l: r.l, params: q, period: p, address: r.at,
		Command: r.command(report, q, bounds)}
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

// index returns the index of a column. Names are built in, so an unknown one is a bug that every
// test finds.
func (a *asked) index(column string) int {
	i := slices.IndexFunc(a.columns, func(c value.Column) bool { return c.Name == column })
	if i < 0 {
		panic("report " + a.report + " has no column " + column)
	}
	return i
}

// text returns a value's exact text.
func (a *asked) text(v any) string { return string(value.AppendText(nil, v, a.loc)) }

// field identifies a number on the page: a column of a report, in the row whose columns have these
// texts.
type field struct {
	column string
	where  map[string]string
}

// command is a command that prints a table, and its link on a served page.
type command struct{ Text, Link string }

// calls returns the link to the calls that a number counts: those in the rows whose columns have
// these texts. If no condition selects them, it links to the report. Empty on a standalone page.
func (a *asked) calls(where map[string]string) string {
	if a.address == nil {
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
	return a.address("calls", p)
}

// page returns the link to the page of an agent. Empty on a standalone page.
func (a *asked) page(agent string) string {
	if a.address == nil {
		return ""
	}
	p := a.params
	p.Agent = agent
	return a.address("page", p)
}

// id returns the exact text of a row's column, with ids instead of names.
func (a *asked) id(row int, column string) string { return a.text(a.exact[row][a.index(column)]) }

// row returns the first row with the texts.
func (a *asked) row(where map[string]string) []any {
	for _, r := range a.rows {
		if a.matches(r, where) {
			return r
		}
	}
	return nil
}

func (a *asked) matches(r []any, where map[string]string) bool {
	for c, want := range where {
		if v := r[a.index(c)]; v == nil || a.text(v) != want {
			return false
		}
	}
	return true
}

// at returns the value of a field; nil if there is no such row.
func (a *asked) at(f field) any {
	if r := a.row(f.where); r != nil {
		return r[a.index(f.column)]
	}
	return nil
}

// cell returns a value of a column for the page.
func (a *asked) cell(v any, column string) cell {
	c := a.columns[a.index(column)]
	c.Null = "–"
	return cell{Text: a.l.Cell(v, c, a.loc), Exact: a.text(v), Null: v == nil, Number: c.Kind.Numeric()}
}

// cell is a table cell: formatted for people, and exact.
type cell struct {
	Text, Exact string
	Null        bool
	Number      bool
	Link        string // on a served page
	HasBar      bool
	Bar         float64 // the length of the bar, 0 to 100
}

// noNumber is the cell of a missing number.
func noNumber() cell { return cell{Text: "–", Null: true, Number: true} }

// float returns a value as a number to draw; NaN if it is not a number.
func float(x any) float64 {
	if v := value.Of(x); v.Kind.Numeric() {
		return v.Float()
	}
	return math.NaN()
}
