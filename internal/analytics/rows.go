package analytics

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/value"
	sqlfiles "callhouse/sql"
)

// Rows is a streamed answer: it is never held in memory as a whole.
type Rows struct {
	rows    *duck.Rows
	conn    *duck.Conn
	columns []value.Column
	any     bool // a row was read
	hidden  int  // number of leading columns that are not shown
	isPair  bool // the first column is a pair of keys, shown as two columns
	buf     []value.Value
	at      []int // the indexes of the columns that are shown; nil: all
	some    []value.Value

	// If agents or campaigns have labels: the columns of their ids, and whether labels replace them.
	labels  map[string]string
	idsAt   []int
	inPlace bool
	named   []value.Value
	parts   []map[string]string // by column: parts of the days, weeks, months and steps that are not whole
	exact   []value.Value
}

// Columns returns the answer's columns.
func (r *Rows) Columns() []value.Column { return r.columns }

// Next returns the next row as Go values, or io.EOF after the last.
func (r *Rows) Next(ctx context.Context) ([]any, error) {
	row, err := r.Values(ctx)
	return value.GoAll(nil, row), err
}

// Values returns the next row, or io.EOF after the last. It is valid until the next call.
func (r *Rows) Values(ctx context.Context) ([]value.Value, error) {
	row, err := r.rows.Values(ctx)
	if err != nil {
		return nil, err
	}
	r.any = true
	if row = row[r.hidden:]; r.isPair {
		r.buf = append(append(r.buf[:0], row[0].Nest.Values...), row[1:]...)
		row = r.buf
	}
	if row = r.withNames(row); r.at == nil {
		return row, nil
	}
	r.some = r.some[:0]
	for _, i := range r.at {
		r.some = append(r.some, row[i])
	}
	return r.some, nil
}

// Exact returns the row that was read last, with ids in place of names.
func (r *Rows) Exact() []any { return value.GoAll(nil, r.exact) }

// Close frees the answer. It may be called before the last row.
func (r *Rows) Close() {
	r.rows.Close()
	r.conn.Close()
}

// streamed returns the rows of run, which reads with a connection. Closing the rows closes the connection.
func streamed(conn *duck.Conn, run func() (*Rows, error)) (*Rows, error) {
	rows, err := run()
	if err != nil {
		conn.Close()
		return nil, err
	}
	rows.conn = conn
	return rows, nil
}

// keys names the columns of the groups.
func (r *Rows) keys(f *sqlfiles.File, keys []question.Dimension) {
	switch {
	case !f.Grouped():
		for i, c := range r.columns { // a call's rows are a group
			r.columns[i].Key = c.Name == "call_id" || f.Arguments == "WORD..." && (c.Name == "start_at" || question.IsAgent(c.Name))
		}
	case len(keys) == 0:
		r.hidden = 1
		r.columns = r.columns[1:]
	default:
		if r.isPair = len(keys) == 2; r.isPair {
			r.columns = append(describe(r.columns[0].Fields, f), r.columns[1:]...)
		}
		for i, d := range keys {
			r.columns[i].Name = question.KeyName(d.Name, f)
			r.columns[i].Label = d.Name
			r.columns[i].Key = true
		}
	}
}

// addNames adds the names of agents and campaigns to the rows of a report: in place of their ids
// for people, otherwise in additional columns at the end.
func (r *Rows) addNames(labels map[string]string, q question.Question) {
	if labels == nil {
		return
	}
	r.labels, r.inPlace = labels, q.NamesInPlace
	r.columns = slices.Clone(r.columns)
	for i, c := range r.columns {
		if i < len(q.Keys) && q.Keys[i].Name != "agent" && q.Keys[i].Name != "campaign" || i >= len(q.Keys) && !question.IsAgent(c.Name) {
			continue
		}
		what := strings.TrimSuffix(c.Name, "_id")
		named := value.Column{Name: what + "_name", Type: "VARCHAR", Kind: value.Text}
		switch {
		case r.inPlace && what != c.Name:
			r.columns[i].Label = strings.ReplaceAll(what, "_", " ")
		case !r.inPlace && slices.ContainsFunc(r.columns, func(c value.Column) bool { return c.Name == named.Name }):
			continue // the group's own id and name are those of its rows
		case !r.inPlace:
			r.columns = append(r.columns, named)
		}
		r.idsAt = append(r.idsAt, i)
	}
}

// markParts marks the parts of days, weeks, months and steps: in place for people, otherwise in a last column.
func (r *Rows) markParts(parts []map[string]string, q question.Question) {
	if r.inPlace = q.NamesInPlace; !q.InParts() {
		return
	}
	if r.parts = parts; !r.inPlace {
		r.columns = append(slices.Clone(r.columns), value.Column{Name: "part", Type: "VARCHAR", Kind: value.Text})
	}
}

// withNames adds the names to a row.
func (r *Rows) withNames(row []value.Value) []value.Value {
	r.exact = row
	if len(r.idsAt) == 0 && r.parts == nil {
		return row
	}
	r.named = append(r.named[:0], row...)
	part := ""
	for i, parts := range r.parts {
		if parts == nil {
			continue
		}
		text := string(row[i].AppendText(nil, time.UTC))
		if is := parts[text]; is != "" && r.inPlace {
			r.named[i] = value.Of(strings.Replace(strings.TrimSuffix(text, "T00:00:00"), "T", " ", 1) + is)
		} else {
			part += is
		}
	}
	for _, at := range r.idsAt {
		name, known := r.labels[row[at].Text]
		if !r.inPlace {
			r.named, at = append(r.named, value.Value{}), len(r.named)
		}
		if known {
			r.named[at] = value.Of(name)
		}
	}
	if r.parts != nil && !r.inPlace {
		r.named = append(r.named, value.Value{})
		if part != "" {
			r.named[len(r.named)-1] = value.Of(strings.TrimSpace(part))
		}
	}
	return r.named
}

// nameCurrency puts the currency into the headings of money.
func nameCurrency(columns []value.Column, currency string) {
	for i, c := range columns {
		if c.Unit == value.Money && currency != "" {
			columns[i].Label = cmp.Or(c.Label, c.Name) + " (" + currency + ")"
		}
	}
}

// prose is the unit, in headers, of texts that tables show in full.
const prose = "prose"

// describe adds the descriptions in a report's header to the columns of a result.
func describe(columns []value.Column, f *sqlfiles.File) []value.Column {
	out := slices.Clone(columns)
	for i := range out {
		of := ""
		if h, ok := f.Column(out[i].Name); ok {
			out[i].Unit, of = value.Unit(h.Unit), h.Of
			if h.Unit == prose {
				out[i].Unit, out[i].Wrap = value.NoUnit, true
			}
		}
		out[i].Label, out[i].Short = label(out[i], of), true
		out[i].Null = "(none)"
		if f.Arguments != "" || out[i].Wrap { // in texts, marks for null would disturb
			out[i].Null = ""
		} else if out[i].Kind.Numeric() {
			out[i].Null = "-"
		}
	}
	return out
}

// label returns a column's heading: its name without the unit, which the cells show, and the base of a share.
func label(c value.Column, of string) string {
	name := c.Name
	switch c.Unit {
	case value.Millis, value.Percent, value.Points:
		name = strings.TrimSuffix(name, "_"+string(c.Unit))
	}
	name = strings.TrimPrefix(strings.ReplaceAll(name, "_", " "), "user ") // sentiment is always the caller's
	switch of {
	case "":
		return name
	case name:
		return "of " + of
	}
	return name + " of " + of
}
