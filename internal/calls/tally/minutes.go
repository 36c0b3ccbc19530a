package tally

import (
	"container/heap"
	"math"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/calls"
	"callhouse/internal/schema"
)

// mostGoing is the maximum number of simultaneous calls. Beyond it, MinuteTallies is given up.
const mostGoing = 1 << 16

// latest is the latest time that fits in a column, in ms.
const latest = math.MaxInt64 / 1000

// minutes walks through the calls of a file in time order, for the rows of MinuteTallies.
type minutes struct {
	ends   ends  // of the calls in progress
	start  int64 // of the last call
	before int64 // calls in progress when it started, except those that started at the same moment
	minute schema.Opt[int64]
	calls  int64
	peak   int64
	peakAt schema.Opt[int64]
	longer schema.Opt[int64] // duration of the longest call that starts in the minute
	emit   func(minute schema.Opt[int64], m *minutes) error
}

// ends is a heap of the times at which calls end.
type ends []int64

func (e ends) Len() int           { return len(e) }
func (e ends) Less(i, j int) bool { return e[i] < e[j] }
func (e ends) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *ends) Push(x any)        { *e = append(*e, x.(int64)) }
func (e *ends) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	*e = (*e)[:last]
	return x
}

// add adds a call; ok is false if the limit is exceeded.
func (m *minutes) add(c *calls.Call) (ok bool, err error) {
	start, lasts := c.StartAt(), c.DurationMS()
	if !start.OK || !lasts.OK {
		return true, nil
	}
	if start.V > latest-max(lasts.V, 0) || len(m.ends) >= mostGoing {
		return false, nil
	}
	if err := m.until(start.V); err != nil {
		return false, err
	}
	if m.start != start.V || !m.minute.OK {
		m.start, m.before = start.V, int64(len(m.ends))
	}
	if err := m.at(start.V); err != nil {
		return false, err
	}
	m.calls++
	if !m.longer.OK || lasts.V > m.longer.V {
		m.longer = lasts
	}
	if lasts.V <= 0 { // over at once: it never overlaps another call
		m.see(m.before, schema.Opt[int64]{})
		return true, nil
	}
	heap.Push(&m.ends, start.V+lasts.V)
	m.see(int64(len(m.ends)), start)
	return true, nil
}

// until ends the calls that end at or before a time. Each was in progress in the millisecond before
// its end.
func (m *minutes) until(at int64) error {
	for len(m.ends) > 0 && m.ends[0] <= at {
		if err := m.at(m.ends[0] - 1); err != nil {
			return err
		}
		m.see(int64(len(m.ends)), schema.Opt[int64]{})
		heap.Pop(&m.ends)
	}
	return nil
}

// at advances to the minute of a time, and emits the one before.
func (m *minutes) at(time int64) error {
	now := schema.Some(floor(time, schema.Minute))
	if now == m.minute {
		return nil
	}
	err := m.end()
	m.minute, m.calls, m.peak, m.peakAt, m.longer = now, 0, -1, schema.Opt[int64]{}, schema.Opt[int64]{}
	return err
}

// see records the number of calls in progress, counted at a start or since then.
func (m *minutes) see(going int64, since schema.Opt[int64]) {
	if going > m.peak {
		m.peak, m.peakAt = going, since
	}
}

// end emits the last minute.
func (m *minutes) end() error {
	if !m.minute.OK {
		return nil
	}
	return m.emit(m.minute, m)
}

// close ends all calls.
func (m *minutes) close() error {
	if err := m.until(math.MaxInt64); err != nil {
		return err
	}
	err := m.end()
	m.minute = schema.Opt[int64]{}
	return err
}

// floor rounds v down to a multiple of step.
func floor(v, step int64) int64 {
	past := v % step
	if past < 0 {
		past += step
	}
	return v - past
}

// append appends a minute's columns to a row.
func (m *minutes) append(row parquet.Row, minute schema.Opt[int64]) parquet.Row {
	return append(row, schema.MillisValue(minute), parquet.Int64Value(m.calls), parquet.Int64Value(m.peak), schema.MillisValue(m.peakAt),
		schema.LongValue(m.longer))
}
