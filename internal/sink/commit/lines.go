package commit

import (
	"slices"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/phone"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/sink/snapshot"
)

// lines are the organisation's own telephone numbers with the days of their ownership. They are
// immutable.
type lines struct {
	country string
	own     map[string][]tenure // by the normal form of a number, or its text if it has none
}

// tenure is a period, both ends inclusive, in which a number belonged to the organisation. Days
// count as a whole, since the list does not have the exact time of a change.
type tenure struct {
	number   []byte // as spelled in the list of numbers
	from, to string // days; an unknown end is first or last
}

// Bounds of all days.
const (
	first = ""
	last  = "9"
)

// Positions of the columns of numbers from which the tenure is derived.
var (
	colNumber, colGone         = resource.Numbers.Table.Column("number"), resource.Numbers.Table.Column("deleted_at")
	colNumberFrom, colNumberTo = resource.Numbers.Table.Column("start_at"), resource.Numbers.Table.Column("end_at")
	colFrom, colTo             = schema.Calls.Column("from_number"), schema.Calls.Column("to_number")
	colShown                   = schema.Calls.Column("presentation_number")
)

// linesOf returns the numbers in the rows of telephone_numbers.
func linesOf(country string, rows []schema.Row) *lines {
	l := &lines{country: country, own: map[string][]tenure{}}
	for _, row := range rows {
		number := schema.TextOf(row[colNumber])
		if len(number) == 0 {
			continue
		}
		t := tenure{number: number, from: first, to: last}
		if at := schema.MillisOf(row[colNumberFrom]); at.OK {
			t.from = layout.Day(at.V)
		}
		for _, end := range []int{colNumberTo, colGone} {
			if at := schema.MillisOf(row[end]); at.OK {
				t.to = min(t.to, layout.Day(at.V))
			}
		}
		key, _ := l.key(number)
		l.own[key] = append(l.own[key], t)
	}
	return l
}

// key returns a key that is the same for all spellings of a number, and its normal form, or nil.
func (l *lines) key(number []byte) (key string, e164 []byte) {
	if n, ok := phone.Normal(string(number), l.country); ok {
		return n, []byte(n)
	}
	return string(number), nil
}

// on returns a number, as spelled in the organisation's list, if it belonged to the organisation on
// a day.
func (l *lines) on(key, day string) []byte {
	for _, t := range l.own[key] {
		if t.from <= day && day <= t.to {
			return t.number
		}
	}
	return nil
}

// tell sets the columns derived from the numbers of a call, and reports whether any of them
// changed.
func (l *lines) tell(c *calls.Call) bool {
	day := layout.Day(c.Began())
	side := func(col int) (own, e164 []byte) {
		number := schema.TextOf(c.Row[col])
		if len(number) == 0 {
			return nil, nil
		}
		key, e164 := l.key(number)
		return l.on(key, day), e164
	}
	var s calls.Sides
	s.OwnFrom, s.FromE164 = side(colFrom)
	s.OwnTo, s.ToE164 = side(colTo)
	s.OwnShown, _ = side(colShown)
	return c.SetSides(&s)
}

// moved returns the days on which the organisation's numbers differ between l and now.
func (l *lines) moved(now *lines) (days []tenure) {
	keys := map[string]bool{}
	for _, of := range []*lines{l, now} {
		for key := range of.own {
			keys[key] = true
		}
	}
	for key := range keys {
		edges := []string{first} // days on which the numbers may change
		for _, t := range slices.Concat(l.own[key], now.own[key]) {
			if edges = append(edges, t.from); t.to != last {
				edges = append(edges, t.to+"~") // after the day, and before the next
			}
		}
		slices.Sort(edges)
		for i, from := range edges {
			to := last
			if i+1 < len(edges) {
				to = edges[i+1]
			}
			if from != to && string(l.on(key, from)) != string(now.on(key, from)) {
				days = append(days, tenure{from: from, to: to})
			}
		}
	}
	return days
}

// touches reports whether a period, a day or a month, includes days of a tenure.
func (t tenure) touches(period string) bool {
	return period >= t.from[:min(len(t.from), len(period))] && period <= t.to[:min(len(t.to), len(period))]
}

// setLines sets the organisation's numbers after the commit, and returns the days on which they
// change. rows are those of telephone_numbers; nil: unchanged.
func (m *maker) setLines(rows []schema.Row) (moved []tenure, err error) {
	before, err := numbersOf(m.Old)
	if err != nil {
		return nil, err
	}
	if m.lines = linesOf(m.Country, before); rows == nil {
		return nil, nil
	}
	was := m.lines
	m.lines = linesOf(m.Country, rows)
	return was.moved(m.lines), nil
}

// numbersOf returns the rows of telephone_numbers in a snapshot.
func numbersOf(in *snapshot.Reader) (rows []schema.Row, err error) {
	err = in.EachObject(resource.Numbers, func(o *schema.Object) error {
		rows = append(rows, o.Row)
		return nil
	})
	return rows, err
}

// planMoved includes the calls of the days on which the organisation's numbers change.
func (p *planner) planMoved(moved []tenure) {
	for _, f := range p.Old.Files(schema.Calls.Name) {
		if slices.ContainsFunc(moved, func(t tenure) bool { return t.touches(f.Period) }) {
			p.unitOf(f.Period).moved = true
		}
	}
}
