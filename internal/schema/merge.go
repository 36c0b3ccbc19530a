package schema

import (
	"bytes"
	"slices"

	"github.com/parquet-go/parquet-go"
)

// Merge folds what is known of a call into a newer response about it: new
// becomes the call as it is known now. old is as read from the warehouse and is
// not changed; nil means that nothing is known. new was decoded with the same
// kind, or is empty but for its ID for KindMissing, and has FirstSeenAt,
// FetchedAt and RunID set. Afterwards it aliases what old and new aliased, or
// memory of its own. Settle comes after Merge.
//
// The rules, whatever the kind:
//
//   - A field that new carries wins, also when null. A field that new does not
//     carry at all (a thin list item; a detail without evaluation) keeps what is
//     known, also inside of agent, call_analysis and call_cost, and in extra.
//   - But a call_analysis or call_cost that is null, or that holds nothing but
//     nulls and empty lists, never takes back one that is known: a hiccup of the
//     service must not cost what a detail or a person has read already. The same
//     holds for turns. One with anything in it wins as a whole, as above.
//   - A list item whose transcript is null or empty says nothing of it.
//   - The caller's opt-out erases transcript, recording, analysis and unknown
//     fields, known ones as well. It stands until false is sent.
//   - FirstSeenAt is the older one.
//
// TranscriptState, where the call is not opted out:
//
//	item, v3                what it was; but pending, if status, start_at or end_at
//	                        changed, or if it was withheld. Known turns stay.
//	detail, or a v2 item    present or empty by the turns if over, else pending;
//	with its transcript     pending too where it is null and may still come: it was
//	                        fetched less than TranscriptGrace after the call's end,
//	                        the call connected, and there is no analysis either
//	missing                 pending becomes missing, or present if turns are known;
//	                        any other state stays
//
// Merging the same response again changes nothing. For responses that carry all
// fields, a list item and then a detail give what the detail alone gives.
func Merge(old, new *Call, kind Kind) {
	if kind == KindMissing {
		mergeMissing(old, new)
		return
	}
	if old == nil {
		if new.TurnCount().OK {
			new.SetTranscriptState(decodedState(new))
		}
		return
	}
	first, fetched, run := firstSeen(old, new), new.FetchedAt(), new.RunID()
	told := new.TurnCount().OK
	if plainMerge(old, new) {
		mergePlain(old, new)
	} else {
		mergeJSON(old, new)
	}
	new.Fetched(first, fetched, run)
	new.SetTranscriptState(mergedState(old, new, kind == KindDetail || told))
}

func firstSeen(old, new *Call) int64 {
	a, b := old.FirstSeenAt(), new.FirstSeenAt()
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

func mergeMissing(old, new *Call) {
	if old == nil {
		new.SetTranscriptState(Missing)
		return
	}
	first, fetched, run := firstSeen(old, new), new.FetchedAt(), new.RunID()
	new.Set(&old.Object)
	new.Fetched(first, fetched, run)
	if new.TranscriptState() == Pending {
		new.SetTranscriptState(Missing)
		if new.Turns().Len() > 0 {
			new.SetTranscriptState(Present)
		}
	}
}

// mergedState is the state of the transcript of the merged call. told says that
// the newer response tells whether there is one.
func mergedState(old, c *Call, told bool) TranscriptState {
	changed := !equal(old.Status(), c.Status()) || old.StartAt() != c.StartAt() || old.EndAt() != c.EndAt()
	switch {
	case c.OptedOut() || told:
		return decodedState(c)
	case old.TranscriptState() == Withheld || changed:
		return Pending
	}
	return old.TranscriptState()
}

// equal tells null from empty.
func equal(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

// plainMerge says whether new stands for itself in every column: both calls are
// as the v3 rule says, and no column that v3 leaves out when null is known.
func plainMerge(old, new *Call) bool {
	return old.Lacks == nil && old.Extra() == nil && new.Extra() == nil && old.Source() == V3 && new.Source() == V3 &&
		(!new.Row[colOptOut].IsNull() || !old.OptedOut()) && old.Of.nodes[0].expected(old.Row)
}

// expected says whether all that is known of an object's columns is what v3 sends
// even where it is null.
func (n *node) expected(row Row) bool {
	for f := range n.slots {
		switch s := &n.slots[f]; {
		case s.list >= 0, s.column != nil && s.column.custom != nil:
		case s.inner != nil:
			if !s.inner.expected(row) {
				return false
			}
		case s.in[V3] && !n.shown[V3].has(field(f)) && !row[s.col].IsNull():
			return false
		}
	}
	return true
}

func mergePlain(old, new *Call) {
	n := new.Of.nodes[0]
	for f := range n.slots {
		if s := &n.slots[f]; s.inner != nil && s.later && s.list < 0 && s.inner.empty(&new.Object, new.Row) && !(s.withheld && new.OptedOut()) {
			s.inner.keep(&old.Object, &new.Object)
		}
	}
	if !new.OptedOut() && new.Turns().Len() == 0 && (old.Turns().Len() > 0 || !new.TurnCount().OK) {
		new.Turns().set(old.Turns())
		new.Row[colTurnCount] = old.Row[colTurnCount]
	}
}

// keep takes the columns and lists of an inner object over from an older state.
func (n *node) keep(old, new *Object) {
	for f := range n.slots {
		if s := &n.slots[f]; s.list >= 0 {
			new.Lists[s.list].set(&old.Lists[s.list])
		} else {
			new.Row[s.col] = old.Row[s.col]
		}
	}
}

// mergeJSON merges the general case as what it is about: two JSON objects.
func mergeJSON(old, new *Call) {
	turns := new
	if new.Turns().Len() == 0 && old.TurnCount().OK {
		turns = old
	}
	kind := KindItem
	if turns.TurnCount().OK {
		kind = KindDetail
	}
	known := old
	if old.Source() != new.Source() {
		// In the names of the newer source. What only its own extra could say
		// of the old one is given up.
		known = old.Copy()
		known.setSource(new.Source())
		known.Row[colExtra] = parquet.Value{}
	}
	a, b := known.AppendJSON(nil), new.AppendJSON(nil)
	m := merger{old: slices.Collect(members(a)), new: slices.Collect(members(b)), turnsOfOld: turns == old}
	body := m.call(make([]byte, 0, len(a)+len(b)))
	d := Decoder{forced: true, source: new.Source()}
	var c Call
	if err := d.Decode(body, kind, &c); err != nil {
		return // not of two calls with an id
	}
	*new = c
}

// merger merges the members of two objects.
type merger struct {
	old, new   []member
	turnsOfOld bool
}

// call appends the merged call.
func (m *merger) call(dst []byte) []byte {
	dst = append(dst, '{')
	from := len(dst)
	sent := make(map[string]*val, len(m.new))
	var fields fieldSet
	for i := range m.new {
		n := &m.new[i]
		if transcribes(n.name) && m.turnsOfOld {
			continue
		}
		sent[string(n.name)] = &n.v
		if f := wholeCall.find(n.name); f != unknown {
			fields |= 1 << f
		}
	}
	optOut := sent[string(wholeCall.slots[optOutField].name)]
	withheld := optOut != nil && optedOut(optOut)
	for i := range m.old {
		o := &m.old[i]
		if transcribes(o.name) && !m.turnsOfOld {
			continue
		}
		n, f := sent[string(o.name)], wholeCall.find(o.name)
		switch {
		case f != unknown && wholeCall.slots[f].twins&fields != 0: // the same in another form
		case n == nil:
			dst = appendMember(dst, from, o, o.v.raw)
		case f == optOutField:
			if optedOut(&o.v) && n.shape == isNull {
				*n = o.v
			}
		case f == unknown || wholeCall.slots[f].inner == nil || wholeCall.slots[f].list >= 0:
		default:
			s := &wholeCall.slots[f]
			if withheld && !s.withheld && s.later {
				// What no column holds is about to go: nothing of it makes a cost.
				o.v = known(o.v, s.inner)
			}
			if s.later && !onlyNulls(&o.v) && onlyNulls(n) {
				*n = o.v
			} else {
				mergeInner(n, o)
			}
		}
	}
	for i := range m.new {
		n := &m.new[i]
		if !transcribes(n.name) || !m.turnsOfOld {
			dst = appendMember(dst, from, n, n.v.raw)
		}
	}
	return append(dst, '}')
}

// mergeInner merges an inner object of the older call into that of the newer.
func mergeInner(n *val, o *member) {
	if n.shape != isObject || o.v.shape != isObject {
		return
	}
	dst := []byte{'{'}
	sent := map[string]bool{}
	for m := range members(n.raw) {
		sent[string(m.name)] = true
		dst = appendMember(dst, 1, &m, m.v.raw)
	}
	for m := range members(o.v.raw) {
		if !sent[string(m.name)] {
			dst = appendMember(dst, 1, &m, m.v.raw)
		}
	}
	n.raw = append(dst, '}')
}

func appendMember(dst []byte, from int, m *member, raw []byte) []byte {
	dst = append(append(comma(dst, from), m.key.raw...), ':')
	return append(dst, raw...)
}

func transcribes(name []byte) bool {
	f := wholeCall.find(name)
	return f == transcriptField || f == toolsField
}

// known returns an object without what no column holds.
func known(v val, n *node) val {
	if v.shape != isObject {
		return v
	}
	dst := []byte{'{'}
	for m := range members(v.raw) {
		if n.find(m.name) != unknown {
			dst = appendMember(dst, 1, &m, m.v.raw)
		}
	}
	v.raw = append(dst, '}')
	return v
}

// onlyNulls says whether a value is null or an object of nulls and empty arrays.
func onlyNulls(v *val) bool {
	if v.shape != isObject {
		return v.shape == isNull
	}
	for m := range members(v.raw) {
		if m.v.shape != isNull && string(m.v.raw) != "[]" {
			return false
		}
	}
	return true
}
