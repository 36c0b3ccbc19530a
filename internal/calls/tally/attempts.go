package tally

import (
	"cmp"
	"math"
	"time"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/calls"
	"callhouse/internal/schema"
)

// Results of an attempt: facts of a contact.
const (
	notKnown = iota // it is not over, or may have connected
	notConnected
	byMachine
	byPerson
)

// resultWords are the results in AttemptEdges.
var resultWords = [...]parquet.Value{notConnected: schema.TextValue([]byte("nobody")), byMachine: schema.TextValue([]byte("machine")),
	byPerson: schema.TextValue([]byte("person"))}

// mostAttempts is the number that stands for all later attempts.
const mostAttempts = 6

// reached returns the result of an outbound call.
func reached(c *calls.Call, e ending) int64 {
	status, reason := c.Status(), text(c, colReason)
	switch {
	case c.Settlement() == calls.Open:
		return notKnown
	case !e.connected:
		return notConnected
	case status == nil && reason == nil || status != nil && !schema.Calls.Columns[colStatus].Knows(status),
		reason != nil && !schema.Calls.Columns[colReason].Knows(reason):
		return notKnown
	case e.voicemail:
		return byMachine
	}
	return byPerson
}

// attemptKey is the key of a row of AttemptTallies.
type attemptKey struct {
	week    int64 // its beginning, in ms
	inWeek  bool  // the span
	attempt int64 // 0: null
}

// attempted counts the calls of a row by result.
type attempted [4]int64

// weekly counts the attempts of a week by span and number.
type weekly [2][mostAttempts + 1]attempted

// closeAttempts emits the rows of AttemptTallies, except for weeks that began in the previous
// month, whose other calls are in another file, and those of AttemptEdges: all attempts of a day,
// which has no AttemptTallies.
func (t *Tallies) closeAttempts() error {
	f := &t.facts
	first := int64(math.MaxInt64)
	for _, c := range f.attempts {
		first = min(first, c.ms())
	}
	y, m, _ := time.UnixMilli(first).UTC().Date()
	month := time.Date(y, m, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	head, tail := month+7*day, time.Date(y, m+1, -6, 0, 0, 0, 0, time.UTC).UnixMilli()
	byWeek, ofDay := map[int64]*weekly{}, t.givenUp[&schema.AttemptTallies]
	for all := range f.byCaller(f.attempts) {
		for _, c := range all {
			if c.ms() < head || c.ms() >= tail || ofDay {
				t.row = append(t.row[:0], f.text(c.caller), schema.InstantValue(c.ms()), resultWords[c.start&7])
				if err := t.emit(&schema.AttemptEdges, t.row); err != nil {
					return err
				}
			}
		}
		if ofDay {
			continue
		}
		for _, minutes := range schema.AttemptOffsets {
			number(all, int64(minutes)*schema.Minute, byWeek)
		}
	}
	f.attempts = nil
	rows := map[attemptKey]attempted{}
	for week, spans := range byWeek {
		if week < month {
			continue
		}
		for span, counts := range spans {
			for attempt, n := range counts {
				if n != (attempted{}) {
					rows[attemptKey{week, span > 0, int64(attempt)}] = n
				}
			}
		}
	}
	return handOn(t, &schema.AttemptTallies, rows, func(a, b attemptKey) int {
		return cmp.Or(cmp.Compare(a.week, b.week), compareBool(a.inWeek, b.inWeek), cmp.Compare(a.attempt, b.attempt))
	}, func(row parquet.Row, k attemptKey, n attempted) parquet.Row {
		span := "day"
		if k.inWeek {
			span = "week"
		}
		known := n[notConnected] + n[byMachine] + n[byPerson]
		return append(row, schema.MillisValue(schema.Some(k.week)), schema.TextValue([]byte(span)),
			schema.LongValue(schema.Opt[int64]{V: k.attempt, OK: k.attempt > 0}), parquet.Int64Value(known+n[notKnown]),
			parquet.Int64Value(known), parquet.Int64Value(n[byPerson]), parquet.Int64Value(n[byMachine]))
	})
}

// number numbers the attempts to reach one number, sorted by start, by local day and week.
func number(all []contact, offset int64, byWeek map[int64]*weekly) {
	const week, monday = 7 * day, 4 * day // 1970 began on a Thursday
	var counts *weekly
	last, before := [2]int64{-1, -1}, [2]int64{} // the start of each span, and the number of earlier attempts in it
	var alike [2]int64                           // the number of earlier attempts when the first of several at one moment started
	for i, c := range all {
		local := c.ms() + offset
		begins := [2]int64{floor(local, day), floor(local-monday, week) + monday}
		if counts == nil || begins[1] != last[1] {
			at := begins[1] - offset
			if counts = byWeek[at]; counts == nil {
				counts = new(weekly)
				byWeek[at] = counts
			}
		}
		for span, from := range begins {
			switch {
			case i == 0 || from != last[span]:
				last[span], before[span], alike[span] = from, 0, 1
			case c.ms() == all[i-1].ms():
				alike[span]++
			default:
				before[span] += alike[span]
				alike[span] = 1
			}
			attempt := min(before[span]+1, mostAttempts)
			if c.caller == 0 {
				attempt = 0
			}
			counts[span][attempt][c.start&7]++
		}
	}
}
