package tally

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/calls"
	"callhouse/internal/schema"
)

const (
	// A table with more rows is given up.
	mostToolTallies   = 1 << 18
	mostSpeechTallies = 1 << 16
	mostAnswerTallies = 1 << 17
	mostFlowTallies   = 1 << 17
	mostNodeBytes     = 1 << 23
	mostLongestKinds  = 1 << 12
	mostContacts      = 1 << 21
	mostOddNumbers    = 1 << 16
)

// facts count what belongs to calls, for the rows of FactTables.
type facts struct {
	words    words // names of tools and fields, and values of fields
	byTool   map[toolKey]toolUses
	byField  map[fieldKey]*field
	byName   map[uint32]*fieldName
	values   int                          // number of values of all fields, given up or not
	analysed int64                        // number of calls with items
	bySpeed  map[int64]int64              // responses by their latency
	byPause  map[schema.Opt[int64]]*talks // calls by their longest silence
	byKind   map[longKey]*longest
	byAnswer map[answerKey]int64
	byFlow   map[flowKey]*flow
	made     map[flowKey]bool // moves of the call being added
	nodes    words            // targets of moves

	contacts []contact
	attempts []contact // outbound calls; their facts are results of reached
	numbers  words     // callers whose number cannot be packed
}

// toolKey and toolUses are small because there are many.
type toolKey struct {
	name            uint32
	pause, duration int64 // unknown: null
}

type toolUses struct{ uses, first, failed, answered uint32 }

// unknown stands for null.
const unknown = math.MinInt64

func orUnknown(v parquet.Value) int64 {
	if v.IsNull() {
		return unknown
	}
	return v.Int64()
}

// talks are the sums over calls with spoken turns.
type talks struct {
	calls, turns, interrupted int64
	talk, interruptions       [2]int64 // by side
}

func newFacts() facts {
	return facts{words: newWords(), byTool: map[toolKey]toolUses{}, byField: map[fieldKey]*field{}, byName: map[uint32]*fieldName{},
		bySpeed: map[int64]int64{},
		byPause: map[schema.Opt[int64]]*talks{}, byKind: map[longKey]*longest{},
		byAnswer: map[answerKey]int64{}, byFlow: map[flowKey]*flow{}, made: map[flowKey]bool{}, nodes: newWords(), numbers: newWords()}
}

// AddTool counts a row of tool_calls.
func (t *Tallies) AddTool(row schema.Row) {
	if t.givenUp[&schema.ToolTallies] {
		return
	}
	k := toolKey{t.facts.words.id(schema.TextOf(row[colToolName])), orUnknown(row[colToolPause]), orUnknown(row[colToolDuration])}
	n := t.facts.byTool[k]
	n.uses++
	if row[colToolFirst].Boolean() {
		n.first++
	}
	if failed := row[colToolFailed]; !failed.IsNull() {
		n.answered++
		if failed.Boolean() {
			n.failed++
		}
	}
	t.facts.byTool[k] = n
	if len(t.facts.byTool) > mostToolTallies {
		t.givenUp[&schema.ToolTallies] = true
		clear(t.facts.byTool)
	}
}

// addSpeech counts the facts of a call's transcript.
func (t *Tallies) addSpeech(c *calls.Call) {
	turns := c.Row[colSpokenTurns].Int32() // 0 for null
	if turns == 0 || t.givenUp[&schema.SpeechTallies] {
		return
	}
	f := &t.facts
	silence := schema.LongOf(c.Row[colLongestSilence])
	n := f.byPause[silence]
	if n == nil {
		n = new(talks)
		f.byPause[silence] = n
	}
	n.calls++
	n.turns += int64(turns)
	ok := true
	for side := range n.talk {
		n.interruptions[side] += int64(c.Row[colInterruptions[side]].Int32())
		ok = plus(&n.talk[side], c.Row[colTalk[side]].Int64()) && ok
	}
	if c.Row[colInterruptions[1]].Int32() > 0 {
		n.interrupted++
	}
	for ms := range bytes.SplitSeq(bytes.Trim(schema.TextOf(c.Row[colResponses]), "[]"), []byte(",")) {
		if len(ms) > 0 {
			v, err := strconv.ParseInt(string(ms), 10, 64)
			f.bySpeed[v]++
			ok = ok && err == nil
		}
	}
	if !ok || len(f.byPause)+len(f.bySpeed) > mostSpeechTallies {
		t.givenUp[&schema.SpeechTallies] = true
		clear(f.byPause)
		clear(f.bySpeed)
	}
}

// closeFacts emits the rows of FactTables.
func (t *Tallies) closeFacts() error {
	f := &t.facts
	err := handOn(t, &schema.ToolTallies, f.byTool, func(a, b toolKey) int {
		return cmp.Or(f.words.compare(a.name, b.name), cmp.Compare(a.pause, b.pause), cmp.Compare(a.duration, b.duration))
	}, func(row parquet.Row, k toolKey, n toolUses) parquet.Row {
		row = append(row, f.words.value(k.name))
		for _, ms := range []int64{k.pause, k.duration} {
			row = append(row, schema.LongValue(schema.Opt[int64]{V: ms, OK: ms != unknown}))
		}
		return append(row, parquet.Int64Value(int64(n.uses)), parquet.Int64Value(int64(n.first)), parquet.Int64Value(int64(n.failed)),
			parquet.Int64Value(int64(n.answered)))
	})
	if err != nil {
		return err
	}
	err = handOn(t, &schema.SpeechTallies, f.bySpeed, cmp.Compare[int64], func(row parquet.Row, ms, n int64) parquet.Row {
		row = append(row, parquet.Int64Value(ms), parquet.Int64Value(n))
		return append(row, make(parquet.Row, len(schema.SpeechTallies.Columns)-len(row))...)
	})
	if err != nil {
		return err
	}
	err = handOn(t, &schema.SpeechTallies, f.byPause, compareOpt, func(row parquet.Row, silence schema.Opt[int64], n *talks) parquet.Row {
		return append(row, parquet.Value{}, parquet.Value{}, schema.LongValue(silence), parquet.Int64Value(n.calls), parquet.Int64Value(n.turns),
			parquet.Int64Value(n.talk[0]), parquet.Int64Value(n.talk[1]), parquet.Int64Value(n.interrupted),
			parquet.Int64Value(n.interruptions[0]), parquet.Int64Value(n.interruptions[1]))
	})
	if err != nil {
		return err
	}
	for _, end := range []func() error{t.closeItems, t.closeLongest, t.closeContacts, t.closeAttempts, t.closeAnswers, t.closeFlows} {
		if err := end(); err != nil {
			return err
		}
	}
	return nil
}

// compareOpt orders numbers, null first.
func compareOpt(a, b schema.Opt[int64]) int {
	return cmp.Or(compareBool(a.OK, b.OK), cmp.Compare(a.V, b.V))
}

// words assigns numbers to texts.
type words struct {
	ids   map[string]uint32 // from 1
	texts [][]byte          // by id; 0 is null
	size  int               // of all texts, in bytes
}

func newWords() words { return words{ids: map[string]uint32{}, texts: [][]byte{nil}} }

// id returns the number of a word.
func (w *words) id(word []byte) uint32 {
	if word == nil {
		return 0
	}
	id := w.ids[string(word)]
	if id == 0 {
		id = uint32(len(w.texts))
		w.texts = append(w.texts, slices.Clone(word))
		w.ids[string(word)] = id
		w.size += len(word)
	}
	return id
}

func (w *words) value(id uint32) parquet.Value { return schema.TextValue(w.texts[id]) }

// compare orders words, null first.
func (w *words) compare(a, b uint32) int {
	if a == b {
		return 0
	}
	return cmp.Or(cmp.Compare(min(a, 1), min(b, 1)), bytes.Compare(w.texts[a], w.texts[b]))
}

// forget drops all words.
func (w *words) forget() {
	clear(w.ids)
	w.texts, w.size = w.texts[:1], 0
}
