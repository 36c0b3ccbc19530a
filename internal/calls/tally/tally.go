package tally

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/calls"
	"callhouse/internal/schema"
	"callhouse/internal/schema/decimal"
)

const (
	// A table with more rows is given up: per file for words and lengths, and per quarter for
	// quarters. Its calls differ too much for a gain, and the limits bound the memory.
	mostWordTallies    = 1 << 16
	mostLengthTallies  = 1 << 14
	mostQuarterTallies = 1 << 12
)

// Tallies count the calls of one file, in the file's order, for the rows of TallyTables. Memory use
// depends on the number of kinds of calls, in the file and in a quarter of an hour, up to a bound,
// and not on the number of calls.
type Tallies struct {
	emit    func(t *schema.Table, row parquet.Row) error
	words   words
	byWord  map[wordKey]*sums
	byStep  map[lengthKey]*sums
	quarter schema.Opt[int64]
	byTime  map[quarterKey]*sums
	minutes minutes
	facts   facts
	givenUp map[*schema.Table]bool
	row     parquet.Row
}

// wordKey is the part of a call by which WordTallies groups.
type wordKey struct {
	words      [7]uint32
	state      calls.TranscriptState
	settlement calls.Settlement
	optedOut   bool
	started    bool
	speech     speechKey
}

// speechKey is the part of a call that shows whether the caller spoke.
type speechKey struct {
	spoke schema.Opt[bool]
	step  schema.Opt[int64]
}

func speechOf(c *calls.Call) speechKey {
	userTurns := c.UserTurns()
	k := speechKey{spoke: schema.Opt[bool]{V: userTurns.V > 0, OK: userTurns.OK}}
	if c.DurationMS().OK {
		k.step = schema.Some(min(max(c.DurationMS().V/schema.DurationStep*schema.DurationStep, 0), schema.LastShortStep))
	}
	return k
}

func (k speechKey) compare(o speechKey) int {
	return cmp.Or(compareBool(k.spoke.OK, o.spoke.OK), compareBool(k.spoke.V, o.spoke.V),
		compareBool(k.step.OK, o.step.OK), cmp.Compare(k.step.V, o.step.V))
}

func (k speechKey) append(row parquet.Row) parquet.Row {
	return append(row, schema.BoolValue(k.spoke), schema.LongValue(k.step))
}

type lengthKey struct {
	step    schema.Opt[int64]
	words   [2]uint32
	started bool
}

type quarterKey struct {
	words      [3]uint32
	settlement calls.Settlement
	state      calls.TranscriptState
	speech     speechKey
}

// sums are the sums of a row.
type sums struct {
	calls, timed, ms, longest, costed, both, costedMS, unheld int64
	cost, timedCost                                           decimal.Number
}

// NewTallies returns the tallies of some of the TallyTables, which pass their rows to emit in the order
// of their table. A row is valid until emit returns.
func NewTallies(tables []*schema.Table, emit func(t *schema.Table, row parquet.Row) error) *Tallies {
	t := &Tallies{emit: emit, words: newWords(), facts: newFacts(), byWord: map[wordKey]*sums{}, byStep: map[lengthKey]*sums{},
		byTime: map[quarterKey]*sums{}, givenUp: map[*schema.Table]bool{}}
	for _, table := range schema.TallyTables {
		t.givenUp[table] = !slices.Contains(tables, table)
	}
	t.minutes.emit = func(minute schema.Opt[int64], m *minutes) error {
		t.row = m.append(t.row[:0], minute)
		return t.emit(&schema.MinuteTallies, t.row)
	}
	return t
}

// GivenUp reports whether a table was given up, or not requested: its rows must be discarded.
func (t *Tallies) GivenUp(table *schema.Table) bool { return t.givenUp[table] }

// Add counts a call with its items, but without its tool calls. Calls must be sorted by start, those without
// one last.
func (t *Tallies) Add(c *calls.Call) error {
	e := endingOf(c)
	t.addItems(c)
	t.addSpeech(c)
	t.addContact(c, e)
	t.addAnswer(c, e)
	if c.TranscriptState() == calls.Present {
		t.addLongest(c)
		t.addFlow(c, e)
	}
	if q := quarterOf(c.StartAt()); q != t.quarter {
		if err := t.endQuarter(); err != nil {
			return err
		}
		t.quarter = q
	}
	speech := speechOf(c)
	status, reason, sentiment := t.words.id(c.Status()), t.words.id(text(c, colReason)), t.words.id(text(c, colUserSentiment))
	if !t.givenUp[&schema.WordTallies] {
		count(t, &schema.WordTallies, t.byWord, mostWordTallies, c, wordKey{
			words: [...]uint32{t.words.id(text(c, colAgentID)), t.words.id(text(c, colAgentVersion)), t.words.id(text(c, colCallType)), status,
				reason, sentiment, t.words.id(text(c, colVariantLabel))},
			state: c.TranscriptState(), settlement: c.Settlement(), optedOut: c.OptedOut(), started: c.StartAt().OK,
			speech: speech,
		})
	}
	k := lengthKey{words: [...]uint32{status, reason}, started: c.StartAt().OK}
	if c.DurationMS().OK {
		k.step = schema.Some(c.DurationMS().V / schema.DurationStep * schema.DurationStep)
	}
	count(t, &schema.LengthTallies, t.byStep, mostLengthTallies, c, k)
	count(t, &schema.QuarterTallies, t.byTime, mostQuarterTallies, c,
		quarterKey{words: [...]uint32{status, reason, sentiment}, settlement: c.Settlement(), state: c.TranscriptState(), speech: speech})
	if t.givenUp[&schema.MinuteTallies] {
		return nil
	}
	ok, err := t.minutes.add(c)
	t.givenUp[&schema.MinuteTallies] = !ok
	return err
}

// count counts a call in the group of its key, or gives the table up.
func count[K comparable](t *Tallies, table *schema.Table, groups map[K]*sums, most int, c *calls.Call, key K) {
	if t.givenUp[table] {
		return
	}
	s := groups[key]
	if s == nil {
		s = new(sums)
		groups[key] = s
	}
	if !s.add(c) || len(groups) > most {
		t.givenUp[table] = true
		clear(groups)
	}
}

// handOn emits the rows of a table in the order of their keys, and clears them. columns appends the
// columns of a key and its numbers to a row.
func handOn[K comparable, N any](t *Tallies, table *schema.Table, groups map[K]N, compare func(a, b K) int,
	columns func(row parquet.Row, k K, numbers N) parquet.Row) error {
	for _, k := range slices.SortedFunc(maps.Keys(groups), compare) {
		t.row = columns(t.row[:0], k, groups[k])
		if err := t.emit(table, t.row); err != nil {
			return err
		}
	}
	clear(groups)
	return nil
}

// Close emits the last rows.
func (t *Tallies) Close() error {
	if err := t.endQuarter(); err != nil {
		return err
	}
	if !t.givenUp[&schema.MinuteTallies] {
		if err := t.minutes.close(); err != nil {
			return err
		}
	}
	err := handOn(t, &schema.LengthTallies, t.byStep, func(a, b lengthKey) int {
		return cmp.Or(compareBool(b.step.OK, a.step.OK), cmp.Compare(a.step.V, b.step.V),
			t.compare(a.words[:], b.words[:]), compareBool(a.started, b.started))
	}, func(row parquet.Row, k lengthKey, n *sums) parquet.Row {
		return n.append(append(t.texts(append(row, schema.LongValue(k.step)), k.words[:]), parquet.BooleanValue(k.started)))
	})
	if err != nil {
		return err
	}
	err = handOn(t, &schema.WordTallies, t.byWord, func(a, b wordKey) int {
		return cmp.Or(t.compare(a.words[:], b.words[:]), cmp.Compare(a.state, b.state), cmp.Compare(a.settlement, b.settlement),
			compareBool(a.optedOut, b.optedOut), compareBool(a.started, b.started), a.speech.compare(b.speech))
	}, func(row parquet.Row, k wordKey, n *sums) parquet.Row {
		return n.append(k.speech.append(append(t.texts(row, k.words[:]),
			k.state.Value(), k.settlement.Value(), parquet.BooleanValue(k.optedOut), parquet.BooleanValue(k.started))))
	})
	if err != nil {
		return err
	}
	return t.closeFacts()
}

// quarterOf returns the beginning of the quarter of an hour that contains start.
func quarterOf(start schema.Opt[int64]) schema.Opt[int64] {
	if !start.OK {
		return schema.Opt[int64]{}
	}
	return schema.Some(floor(start.V, schema.Quarter))
}

// endQuarter emits the rows of a quarter of an hour.
func (t *Tallies) endQuarter() error {
	err := handOn(t, &schema.QuarterTallies, t.byTime, func(a, b quarterKey) int {
		return cmp.Or(t.compare(a.words[:], b.words[:]), cmp.Compare(a.settlement, b.settlement), cmp.Compare(a.state, b.state),
			a.speech.compare(b.speech))
	}, func(row parquet.Row, k quarterKey, n *sums) parquet.Row {
		return n.append(k.speech.append(append(t.texts(append(row, schema.MillisValue(t.quarter)), k.words[:]),
			k.settlement.Value(), k.state.Value())))
	})
	if err != nil {
		return err
	}
	if t.givenUp[&schema.WordTallies] && t.givenUp[&schema.LengthTallies] { // the words of other quarters are not needed
		t.words.forget()
	}
	return nil
}

// texts appends words to a row.
func (t *Tallies) texts(row parquet.Row, words []uint32) parquet.Row {
	for _, id := range words {
		row = append(row, t.words.value(id))
	}
	return row
}

// compare orders keys by their words.
func (t *Tallies) compare(a, b []uint32) int { return slices.CompareFunc(a, b, t.words.compare) }

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// append appends the numbers' columns to a row.
func (s *sums) append(row parquet.Row) parquet.Row {
	sum := func(v, of int64) schema.Opt[int64] { return schema.Opt[int64]{V: v, OK: of > 0} }
	return append(row,
		parquet.Int64Value(s.calls),
		parquet.Int64Value(s.timed),
		schema.LongValue(sum(s.ms, s.timed)),
		schema.LongValue(sum(s.longest, s.timed)),
		parquet.Int64Value(s.costed),
		schema.ExactValue(schema.Opt[decimal.Number]{V: s.cost, OK: s.costed > 0}),
		schema.ExactValue(schema.Opt[decimal.Number]{V: s.timedCost, OK: s.both > 0}),
		schema.LongValue(sum(s.costedMS, s.both)),
		schema.LongValue(schema.Some(s.unheld)),
	)
}

// add counts a call; it returns false if a sum is too large for its column.
func (s *sums) add(c *calls.Call) bool {
	s.calls++
	ok := true
	if c.DurationMS().OK {
		if s.timed++; s.timed == 1 || c.DurationMS().V > s.longest {
			s.longest = c.DurationMS().V
		}
		ok = plus(&s.ms, c.DurationMS().V)
	}
	if c.TotalCost().OK {
		s.costed++
		s.cost = s.cost.Plus(c.TotalCost().V)
		ok = s.cost.Within(decimal.MaxSum) && ok
	} else if c.CostUnheld() {
		s.unheld++
	}
	if c.DurationMS().OK && c.TotalCost().OK {
		s.both++
		s.timedCost = s.timedCost.Plus(c.TotalCost().V)
		ok = s.timedCost.Within(decimal.MaxSum) && plus(&s.costedMS, c.DurationMS().V) && ok
	}
	return ok
}

// plus adds v to a sum, unless the result exceeds the column's range.
func plus(sum *int64, v int64) bool {
	if v > 0 && *sum > math.MaxInt64-v || v < 0 && *sum < -math.MaxInt64-v {
		return false
	}
	*sum += v
	return true
}
