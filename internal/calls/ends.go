package calls

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/schema"
)

// endKey is the part of a call with a transcript from which follows how it ended.
type endKey struct {
	words      [2]uint32
	settlement Settlement
	speech     speechKey
}

func (t *Tallies) endOf(c *Call) endKey {
	return endKey{[...]uint32{t.facts.words.id(c.Status()), t.facts.words.id(c.text(colReason))}, c.Settlement(), speechOf(c)}
}

func (t *Tallies) compareEnds(a, b endKey) int {
	return cmp.Or(t.facts.compare(a.words[:], b.words[:]), cmp.Compare(a.settlement, b.settlement), a.speech.compare(b.speech))
}

func (t *Tallies) appendEnd(row parquet.Row, k endKey) parquet.Row {
	return k.speech.append(append(row, t.facts.words.value(k.words[0]), t.facts.words.value(k.words[1]), settlementValues[k.settlement]))
}

func (f *facts) compare(a, b []uint32) int { return slices.CompareFunc(a, b, f.words.compare) }

type pathKey struct {
	end     endKey
	words   [3]uint32 // agent, version, moves
	started bool
}

// walks are the calls of a path.
type walks struct{ calls, first, last int64 }

// addPath counts a call with a transcript by its moves.
func (t *Tallies) addPath(c *Call, end endKey) {
	f := &t.facts
	if t.givenUp[&schema.PathTallies] {
		return
	}
	k := pathKey{end: end, started: c.StartAt().OK}
	for i, col := range [...]int{colAgentID, colAgentVersion, colMoves} {
		k.words[i] = f.words.id(c.text(col))
	}
	n := f.byPath[k]
	if n == nil {
		n = &walks{first: c.StartAt().V, last: c.StartAt().V}
		f.byPath[k] = n
	}
	n.calls++
	n.first, n.last = min(n.first, c.StartAt().V), max(n.last, c.StartAt().V)
	if len(f.byPath) > mostPathTallies {
		t.givenUp[&schema.PathTallies] = true
		clear(f.byPath)
	}
}

type longKey struct {
	end       endKey
	sentiment uint32
	failures  int32
}

// long is a call that may be one of the longest of its kind.
type long struct {
	ms, start schema.Opt[int64]
	id        string
	agent     uint32
}

// compare orders calls as LongestTallies keeps them.
func (l long) compare(o long) int {
	return cmp.Or(compareOpt(o.ms, l.ms), compareOpt(o.start, l.start), strings.Compare(l.id, o.id))
}

// longest is a heap of calls, the first to go on top.
type longest []long

func (h longest) Len() int           { return len(h) }
func (h longest) Less(i, j int) bool { return h[i].compare(h[j]) > 0 }
func (h longest) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *longest) Push(x any)        { *h = append(*h, x.(long)) }
func (h *longest) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}

// addLongest keeps a call with a transcript if it is one of the longest of its kind so far.
func (t *Tallies) addLongest(c *Call, end endKey) {
	f := &t.facts
	if t.givenUp[&schema.LongestTallies] {
		return
	}
	k := longKey{end, f.words.id(c.text(colUserSentiment)), c.Row[colFailedUses].Int32()}
	h := f.byKind[k]
	if h == nil {
		h = new(longest)
		f.byKind[k] = h
	}
	l := long{ms: c.DurationMS(), start: c.StartAt(), agent: f.words.id(c.text(colAgentID))}
	if len(*h) == schema.LongestCalls && compareOpt((*h)[0].ms, l.ms) > 0 {
		return
	}
	l.id = string(c.ID())
	if heap.Push(h, l); len(*h) > schema.LongestCalls {
		heap.Pop(h)
	}
	if len(f.byKind) > mostLongestKinds {
		t.givenUp[&schema.LongestTallies] = true
		clear(f.byKind)
	}
}

// closeEnds emits the rows of PathTallies and LongestTallies.
func (t *Tallies) closeEnds() error {
	f := &t.facts
	err := handOn(t, &schema.PathTallies, f.byPath, func(a, b pathKey) int {
		return cmp.Or(f.compare(a.words[:], b.words[:]), t.compareEnds(a.end, b.end), compareBool(a.started, b.started))
	}, func(row parquet.Row, k pathKey, n *walks) parquet.Row {
		row = t.appendEnd(row, k.end)
		for _, id := range k.words {
			row = append(row, f.words.value(id))
		}
		return append(row, parquet.Int64Value(n.calls), schema.MillisValue(schema.Opt[int64]{V: n.first, OK: k.started}),
			schema.MillisValue(schema.Opt[int64]{V: n.last, OK: k.started}))
	})
	if err != nil {
		return err
	}
	type key struct {
		longKey
		long
	}
	all := map[key]struct{}{}
	for k, h := range f.byKind {
		for _, l := range *h {
			all[key{k, l}] = struct{}{}
		}
	}
	clear(f.byKind)
	return handOn(t, &schema.LongestTallies, all, func(a, b key) int {
		return cmp.Or(t.compareEnds(a.end, b.end), f.words.compare(a.sentiment, b.sentiment), cmp.Compare(a.failures, b.failures),
			a.long.compare(b.long))
	}, func(row parquet.Row, k key, _ struct{}) parquet.Row {
		return append(t.appendEnd(row, k.end), f.words.value(k.sentiment), parquet.Int32Value(k.failures), schema.LongValue(k.ms),
			schema.MillisValue(k.start), schema.TextValue([]byte(k.id)), f.words.value(k.agent))
	})
}
