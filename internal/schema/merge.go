package schema

import (
	"iter"
	"slices"
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
		if new.TurnCount.OK {
			new.TranscriptState = decodedState(new)
		}
		return
	}
	first, fetched, run := firstSeen(old, new), new.FetchedAt, new.RunID
	told := new.TurnCount.OK
	if plainMerge(old, new) {
		mergePlain(old, new)
	} else {
		mergeJSON(old, new)
	}
	new.FirstSeenAt, new.FetchedAt, new.RunID = first, fetched, run
	new.TranscriptState = mergedState(old, new, kind == KindDetail || told)
}

func firstSeen(old, new *Call) int64 {
	if old.FirstSeenAt == 0 || new.FirstSeenAt != 0 && new.FirstSeenAt < old.FirstSeenAt {
		return new.FirstSeenAt
	}
	return old.FirstSeenAt
}

func mergeMissing(old, new *Call) {
	if old == nil {
		new.TranscriptState = Missing
		return
	}
	known := *old
	known.Turns = append(new.Turns[:0], old.Turns...) // not old's own room
	known.Items = append(new.Items[:0], old.Items...)
	known.FirstSeenAt, known.FetchedAt, known.RunID = firstSeen(old, new), new.FetchedAt, new.RunID
	if known.TranscriptState == Pending {
		known.TranscriptState = Missing
		if len(known.Turns) > 0 {
			known.TranscriptState = Present
		}
	}
	*new = known
}

// mergedState is the state of the transcript of the merged call. told says that
// the newer response tells whether there is one.
func mergedState(old, c *Call, told bool) TranscriptState {
	changed := !equal(old.Status, c.Status) || old.StartAt != c.StartAt || old.EndAt != c.EndAt
	switch {
	case c.OptOut.V || told:
		return decodedState(c)
	case old.TranscriptState == Withheld || changed:
		return Pending
	}
	return old.TranscriptState
}

// plainMerge says whether new stands for itself in every column: both calls are
// as the v3 rule says, and no column that v3 leaves out when null is known.
func plainMerge(old, new *Call) bool {
	return old.Lacks == nil && old.Extra == nil && new.Extra == nil && old.Source == V3 && new.Source == V3 &&
		old.Evaluation == nil && !old.CreditsUsed.OK && !old.BilledSeconds.OK &&
		(new.OptOut.OK || !old.OptOut.V)
}

func mergePlain(old, new *Call) {
	if !new.costed() {
		new.TotalCost = old.TotalCost
	}
	if new.OptOut.V {
		return
	}
	if !new.analyzed() {
		new.Summary, new.UserSentiment = old.Summary, old.UserSentiment
		new.Items = append(new.Items[:0], old.Items...)
	}
	if len(new.Turns) == 0 && (len(old.Turns) > 0 || !new.TurnCount.OK) {
		new.Turns = append(new.Turns[:0], old.Turns...)
		new.TurnCount = old.TurnCount
	}
}

// mergeJSON merges the general case as what it is about: two JSON objects.
func mergeJSON(old, new *Call) {
	turns := new
	if len(new.Turns) == 0 && old.TurnCount.OK {
		turns = old
	}
	kind := KindItem
	if turns.TurnCount.OK {
		kind = KindDetail
	}
	known := old
	if old.Source != new.Source {
		// In the names of the newer source. What only its own extra could say
		// of the old one is given up.
		translated := *old
		translated.Source, translated.Extra = new.Source, nil
		if turns == old {
			turns = &translated
		}
		known = &translated
	}
	a, b := known.AppendJSON(nil), new.AppendJSON(nil)
	m := merger{old: slices.Collect(members(a)), new: slices.Collect(members(b)), turnsOfOld: turns == known}
	body := m.call(make([]byte, 0, len(a)+len(b)))
	d := Decoder{forced: true, source: new.Source}
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

// members yields the members of an object that was scanned before.
func members(text []byte) iter.Seq[member] {
	return func(yield func(member) bool) {
		s := scanner{b: text}
		s.space()
		s.p++
		for first := true; ; first = false {
			key, st := s.key(first)
			if st != stepNext {
				return
			}
			v, ok := s.value(1)
			if !ok || !yield(member{name: keyText(key), key: key, v: v}) {
				return
			}
		}
	}
}

// call appends the merged call.
func (m *merger) call(dst []byte) []byte {
	dst = append(dst, '{')
	from := len(dst)
	sent := make(map[string]*val, len(m.new))
	for i := range m.new {
		n := &m.new[i]
		if transcribes(n.name) && m.turnsOfOld {
			continue
		}
		sent[column(n.name)] = &n.v
	}
	optOut := sent["opt_out_sensitive_data_storage"]
	withheld := optOut != nil && optedOut(optOut)
	for i := range m.old {
		o := &m.old[i]
		if transcribes(o.name) && !m.turnsOfOld {
			continue
		}
		n := sent[column(o.name)]
		switch f := findCall(o.name); {
		case f == fAgent && (sent["agent_id"] != nil || sent["agent_version"] != nil),
			(f == fAgentID || f == fAgentVersion) && sent["agent"] != nil: // the same in another form
		case n == nil:
			dst = appendMember(dst, from, o, o.v.raw)
		case f == fOptOut:
			if optedOut(&o.v) && n.shape == isNull {
				*n = o.v
			}
		case f == fCallAnalysis || f == fCallCost:
			if withheld && f == fCallCost {
				// What no column holds is about to go: nothing of it makes a cost.
				o.v = knownCost(o.v)
			}
			if !hollow(&o.v) && hollow(n) {
				*n = o.v
			} else {
				mergeInner(n, o)
			}
		case f == fAgent:
			mergeInner(n, o)
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

// column names what a field is about, whichever spelling it has.
func column(name []byte) string {
	switch findCall(name) {
	case fCallID:
		return "id"
	case fCallFrom:
		return "from_number"
	case fCallTo:
		return "to_number"
	case fStartTimestamp:
		return "start_at"
	case fEndTimestamp:
		return "end_at"
	}
	return string(name)
}

func transcribes(name []byte) bool {
	f := findCall(name)
	return f == fTranscript || f == fTranscriptTools
}

// knownCost returns a cost without what no column holds.
func knownCost(v val) val {
	if v.shape != isObject {
		return v
	}
	dst := []byte{'{'}
	for m := range members(v.raw) {
		if findCost(m.name) < numCostFields {
			dst = appendMember(dst, 1, &m, m.v.raw)
		}
	}
	v.raw = append(dst, '}')
	return v
}

// hollow says whether a value is null or an object of nulls and empty arrays.
func hollow(v *val) bool {
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
