package sink

import (
	"maps"
	"math"
	"slices"
	"time"

	"callhouse/internal/calls"
	"callhouse/internal/phone"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
)

// ownNumbers are the organisation's own telephone numbers with the days of their ownership. They are immutable.
type ownNumbers struct {
	country string
	own     map[string][]ownedSpan // by the normal form of a number, or its text if it has none
}

// ownedSpan is a half-open range of instants, in ms UTC, in which a number belonged to the
// organisation. Days count as a whole, since the list does not have the exact time of a change.
type ownedSpan struct {
	number   []byte // as spelled in the list of numbers
	from, to int64
}

const dayMS = int64(24 * time.Hour / time.Millisecond)

// midnight returns the beginning of an instant's UTC day.
func midnight(ms int64) int64 { return time.UnixMilli(ms).UTC().Truncate(24 * time.Hour).UnixMilli() }

// Positions of the columns of numbers from which the spans are derived.
var (
	colNumber, colGone         = resource.Numbers.Table.Column("number"), resource.Numbers.Table.Column("deleted_at")
	colNumberFrom, colNumberTo = resource.Numbers.Table.Column("start_at"), resource.Numbers.Table.Column("end_at")
	colFrom, colTo             = schema.Calls.Column("from_number"), schema.Calls.Column("to_number")
	colShown                   = schema.Calls.Column("presentation_number")
)

// numbersOf returns the numbers in the rows of telephone_numbers.
func numbersOf(country string, rows []schema.Row) *ownNumbers {
	l := &ownNumbers{country: country, own: map[string][]ownedSpan{}}
	for _, row := range rows {
		number := schema.TextOf(row[colNumber])
		if len(number) == 0 {
			continue
		}
		t := ownedSpan{number: number, from: math.MinInt64, to: math.MaxInt64}
		if at := schema.MillisOf(row[colNumberFrom]); at.OK {
			t.from = midnight(at.V)
		}
		for _, end := range []int{colNumberTo, colGone} {
			if at := schema.MillisOf(row[end]); at.OK {
				t.to = min(t.to, midnight(at.V)+dayMS)
			}
		}
		key, _ := l.key(number)
		l.own[key] = append(l.own[key], t)
	}
	return l
}

// key returns a key that is the same for all spellings of a number, and its normal form, or nil.
func (l *ownNumbers) key(number []byte) (key string, e164 []byte) {
	if n, ok := phone.Normal(string(number), l.country); ok {
		return n, []byte(n)
	}
	return string(number), nil
}

// at returns a number, as spelled in the organisation's list, if it belonged to the organisation at an instant.
func (l *ownNumbers) at(key string, ms int64) []byte {
	for _, t := range l.own[key] {
		if t.from <= ms && ms < t.to {
			return t.number
		}
	}
	return nil
}

// setSides sets the columns derived from the numbers of a call, and reports whether any of them
// changed.
func (l *ownNumbers) setSides(c *calls.Call) bool {
	began := c.Began()
	side := func(col int) (own, e164 []byte) {
		number := schema.TextOf(c.Row[col])
		if len(number) == 0 {
			return nil, nil
		}
		key, e164 := l.key(number)
		return l.at(key, began), e164
	}
	var s calls.Sides
	s.OwnFrom, s.FromE164 = side(colFrom)
	s.OwnTo, s.ToE164 = side(colTo)
	s.OwnShown, _ = side(colShown)
	return c.SetSides(&s)
}

// moved returns when the organisation's numbers differ between l and now.
func (l *ownNumbers) moved(now *ownNumbers) (ranges []ownedSpan) {
	keys := maps.Clone(l.own)
	maps.Copy(keys, now.own)
	for key := range keys {
		edges := []int64{math.MinInt64, math.MaxInt64} // where the numbers may change
		for _, t := range slices.Concat(l.own[key], now.own[key]) {
			edges = append(edges, t.from, t.to)
		}
		slices.Sort(edges)
		for i, to := range edges[1:] {
			if from := edges[i]; from < to && string(l.at(key, from)) != string(now.at(key, from)) {
				ranges = append(ranges, ownedSpan{from: from, to: to})
			}
		}
	}
	return ranges
}

// readNumbers returns the organisation's numbers in a snapshot.
func readNumbers(in *Reader, country string) (*ownNumbers, error) {
	var rows []schema.Row
	err := in.EachObject(resource.Numbers, func(o *schema.Object) error {
		rows = append(rows, o.Row)
		return nil
	})
	return numbersOf(country, rows), err
}
