package tally

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/calls"
	"callhouse/internal/schema"
)

// longKey is a kind of calls with a transcript: the words that determine how they ended, the
// sentiment, and the number of failed tool calls.
type longKey struct {
	words      [3]uint32 // status, reason, sentiment
	settlement calls.Settlement
	speech     speechKey
	failures   int32
}

// long is a call that may be one of the longest of its kind.
type long struct {
	ms, start schema.Opt[int64]
	id        string
	agent     uint32
}

// compare orders calls as in LongestTallies.
func (l long) compare(o long) int {
	return cmp.Or(compareOpt(o.ms, l.ms), compareOpt(o.start, l.start), strings.Compare(l.id, o.id))
}

// longest is a heap of calls; the top is the first to be dropped.
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
func (t *Tallies) addLongest(c *calls.Call) {
	f := &t.facts
	if t.givenUp[&schema.LongestTallies] {
		return
	}
	k := longKey{settlement: c.Settlement(), speech: speechOf(c), failures: c.Row[colFailedUses].Int32()}
	for i, col := range [...]int{colStatus, colReason, colUserSentiment} {
		k.words[i] = f.words.id(text(c, col))
	}
	h := f.byKind[k]
	if h == nil {
		h = new(longest)
		f.byKind[k] = h
	}
	l := long{ms: c.DurationMS(), start: c.StartAt(), agent: f.words.id(text(c, colAgentID))}
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

// closeLongest emits the rows of LongestTallies.
func (t *Tallies) closeLongest() error {
	f := &t.facts
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
		return cmp.Or(slices.CompareFunc(a.words[:], b.words[:], f.words.compare), cmp.Compare(a.settlement, b.settlement),
			a.speech.compare(b.speech), cmp.Compare(a.failures, b.failures), a.long.compare(b.long))
	}, func(row parquet.Row, k key, _ struct{}) parquet.Row {
		row = k.speech.append(append(row, f.words.value(k.words[0]), f.words.value(k.words[1]), k.settlement.Value()))
		return append(row, f.words.value(k.words[2]), parquet.Int32Value(k.failures), schema.LongValue(k.ms),
			schema.MillisValue(k.start), schema.TextValue([]byte(k.id)), f.words.value(k.agent))
	})
}
