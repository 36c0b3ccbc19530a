package analytics

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/value"
	sqlfiles "callhouse/sql"
)

// Rows is an answer, streamed: at no time is all of it in memory.
type Rows struct {
	rows    *duck.Rows
	conn    *duck.Conn
	columns []value.Column
	hidden  int  // leading columns that are not shown
	isPair  bool // the first column is a pair of keys, which are shown as two
	buf     []any

	// Where agents or campaigns have names: the columns of their ids, and where the names go.
	names   map[string]string
	named   []int
	inPlace bool
	told    []any
	exact   []any
}

// Columns returns the answer's columns.
func (r *Rows) Columns() []value.Column { return r.columns }

// Next returns the next row, or io.EOF after the last. The slice is reused by
// the next call, the values are not.
func (r *Rows) Next(ctx context.Context) ([]any, error) {
	row, err := r.rows.Next(ctx)
	if err != nil {
		return nil, err
	}
	if r.isPair {
		pair, _ := row[0].(value.Struct)
		r.buf = append(append(r.buf[:0], pair.Values...), row[1:]...)
		return r.tell(r.buf), nil
	}
	return r.tell(row[r.hidden:]), nil
}

// Exact returns the row that Next returned last, with ids also where that has names. The
// next call of Next reuses it.
func (r *Rows) Exact() []any { return r.exact }

// Skip drops some rows unread, and returns how many; 0 after the last.
func (r *Rows) Skip(ctx context.Context) (int, error) { return r.rows.Skip(ctx) }

// Close frees the answer; it may be called before its end.
func (r *Rows) Close() {
	r.rows.Close()
	r.conn.Close()
}

// Describe returns the report or table called name, or both, the report first;
// or an *UnknownError.
func Describe(name string) ([]*sqlfiles.File, error) {
	var found []*sqlfiles.File
	all := append(sqlfiles.Reports(), sqlfiles.ViewsByName()...)
	for _, f := range all {
		if f.Name == name {
			found = append(found, f)
		}
	}
	if len(found) == 0 {
		return nil, unknown("report or table", name, names(all))
	}
	return found, nil
}

// Report runs a named report over the calls that p selects.
func (w *Warehouse) Report(ctx context.Context, name string, p Params) (*Rows, error) {
	f, err := reportCalled(name)
	if err != nil {
		return nil, err
	}
	conn, err := w.Conn(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := w.report(ctx, conn, f, p)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return rows, nil
}

func reportCalled(name string) (*sqlfiles.File, error) {
	if f, ok := sqlfiles.Report(name); ok {
		return f, nil
	}
	return nil, unknown("report", name, names(sqlfiles.Reports()))
}

func names(files []*sqlfiles.File) (out []string) {
	for _, f := range files {
		out = append(out, f.Name)
	}
	return out
}

func (w *Warehouse) report(ctx context.Context, conn *duck.Conn, f *sqlfiles.File, p Params) (*Rows, error) {
	if p.By != "" && !f.Grouped() {
		return nil, fmt.Errorf("run report %s: it has no groups", f.Name)
	}
	if err := w.May(f, p); err != nil {
		return nil, err
	}
	_, compares := p.Previous()
	f = shown(f, p, compares)
	p.spreads = compares && len(f.Hidden) > 0
	f, text, err := w.statement(ctx, conn, f, p)
	if err != nil {
		return nil, err
	}
	if p.Field != "" {
		if err := hasField(ctx, conn, p); err != nil {
			return nil, err
		}
	}
	if f.Arguments != "" {
		if err := setArguments(ctx, conn, p); err != nil {
			return nil, err
		}
	}
	if len(p.Columns) > 0 {
		text = "SELECT key, " + strings.Join(p.Columns, ", ") + " FROM (" + text + ")"
	}
	if text, err = inOrder(f, text, p); err != nil {
		return nil, err
	}
	names, err := w.namesFor(ctx, conn, f, p)
	if err != nil {
		return nil, err
	}
	if p.Accepted != nil {
		p.Accepted()
	}
	run := conn.QuerySmall
	if !hasFewRows(f, p) {
		run = func(ctx context.Context, text string) (*duck.Rows, error) { return conn.Query(ctx, text) }
	}
	rows, err := run(ctx, text)
	if err != nil {
		return nil, fmt.Errorf("run report %s: %w", f.Name, err)
	}
	r := &Rows{rows: rows, conn: conn, columns: describe(rows.Columns(), f)}
	r.keys(f, p)
	w.nameCurrency(r.columns)
	r.tellNames(names, p)
	return r, nil
}

// statement returns the SQL of a report over the calls that p selects, and the report with the columns that
// it then has.
func (w *Warehouse) statement(ctx context.Context, conn *duck.Conn, f *sqlfiles.File, p Params) (*sqlfiles.File, string, error) {
	if !f.Selects() {
		return f, f.SQL, nil
	}
	with, err := w.selected(ctx, conn, f, p)
	if err != nil {
		return nil, "", err
	}
	previous, ok := p.Previous()
	if !ok {
		return f, withList(with, f.SQL), nil
	}
	if err := mayCompare(f, p); err != nil {
		return nil, "", err
	}
	before, err := w.selected(ctx, conn, f, previous)
	if err != nil {
		return nil, "", err
	}
	f = compared(f, with, before, p)
	return f, f.SQL, nil
}

// keys names the columns of the groups.
func (r *Rows) keys(f *sqlfiles.File, p Params) {
	switch {
	case !f.Grouped():
		r.columns[0].Key = r.columns[0].Name == "call_id"
	case p.By == "":
		r.hidden = 1
		r.columns = r.columns[1:]
	default:
		names := ByNames(p.By)
		if r.isPair = len(names) == 2; r.isPair {
			r.columns = append(describe(r.columns[0].Fields, f), r.columns[1:]...)
		}
		for i, name := range names {
			r.columns[i].Name = keyName(name, f)
			r.columns[i].Label = name
			r.columns[i].Key = true
		}
	}
}

// hasFewRows says that a report's answer may be held as a whole: it has groups, and
// these are by what the organisation has few of. A document may have another value in
// each call, and a month has 43,000 minutes.
func hasFewRows(f *sqlfiles.File, p Params) bool {
	return f.Grouped() && p.Every != "minute" && !strings.Contains(p.By, ".")
}

// fielded returns a report without the columns that only --field gives it, where
// there is no field.
func shown(f *sqlfiles.File, p Params, compares bool) *sqlfiles.File {
	var without []string
	if p.Field == "" {
		without = f.Fielded
	}
	out := *f
	out.Columns = slices.DeleteFunc(slices.Clone(f.Columns), func(c sqlfiles.Column) bool { return slices.Contains(without, c.Name) })
	if !compares {
		without = slices.Concat(without, f.Hidden)
	}
	if len(without) > 0 {
		out.SQL = fmt.Sprintf("SELECT * EXCLUDE (%s) FROM (%s)", strings.Join(without, ", "), f.SQL)
	}
	return &out
}

// nameCurrency puts the currency into the headings of money.
func (w *Warehouse) nameCurrency(columns []value.Column) {
	for i, c := range columns {
		if c.Unit == value.Money && w.currency != "" {
			columns[i].Label = cmp.Or(c.Label, c.Name) + " (" + w.currency + ")"
		}
	}
}

// keyName is the name of the group's column: that of its dimension, unless the
// report has a column of that name.
func keyName(by string, f *sqlfiles.File) string {
	if _, taken := f.Column(by); taken {
		return "by_" + by
	}
	return by
}

// prose is the unit, in headers, of texts that tables show whole.
const prose = "prose"

// describe adds to the columns of a result what the report's header says.
func describe(columns []value.Column, f *sqlfiles.File) []value.Column {
	out := append([]value.Column(nil), columns...)
	for i := range out {
		of := ""
		if h, ok := f.Column(out[i].Name); ok {
			out[i].Unit, of = value.Unit(h.Unit), h.Of
			if h.Unit == prose {
				out[i].Unit, out[i].Wrap = value.NoUnit, true
			}
		}
		out[i].Label = label(out[i], of)
		out[i].Null = "(none)"
		if f.Arguments != "" { // read as a text, where marks of what is not there disturb
			out[i].Null = ""
		} else if out[i].Kind.Numeric() {
			out[i].Null = "-"
		}
	}
	return out
}

// label is a column's heading: its name without the unit, which the cells show,
// and what it is a share of.
func label(c value.Column, of string) string {
	name := c.Name
	switch c.Unit {
	case value.Millis, value.Percent, value.Points:
		name = strings.TrimSuffix(name, "_"+string(c.Unit))
	}
	name = strings.ReplaceAll(name, "_", " ")
	switch of {
	case "":
		return name
	case name:
		return "of " + of
	}
	return name + " of " + of
}
