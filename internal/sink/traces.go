package sink

import (
	"cmp"
	"slices"

	"callhouse/internal/phone"
	"callhouse/internal/resource"
)

// blanked replaces forgotten ids and numbers in texts that callhouse itself wrote.
const blanked = "[forgotten]"

// minID is the minimum length of an id that is searched for inside texts; shorter ones may be
// words.
const minID = 6

// traces finds ids and numbers inside texts. An id is found as a whole word only.
type traces struct {
	ids    map[string]bool
	sizes  []int         // lengths of the ids
	first  [1 << 16]bool // the first two bytes of these ids
	finder *phone.Finder
}

// newTraces returns the traces of calls and customers with these keys, and of other texts
// and numbers.
func newTraces(keys map[string]bool, others []string, numbers []*phone.Number) *traces {
	t := &traces{ids: map[string]bool{}, finder: phone.NewFinder(numbers)}
	for key := range keys {
		others = append(others, key, resource.Plain(key))
	}
	for _, id := range others {
		if len(id) < minID || t.ids[id] {
			continue
		}
		t.ids[id] = true
		t.first[pair([]byte(id))] = true
		if !slices.Contains(t.sizes, len(id)) {
			t.sizes = append(t.sizes, len(id))
		}
	}
	return t
}

func pair(b []byte) int { return int(b[0])<<8 | int(b[1]) }

// in reports whether a text contains a trace.
func (t *traces) in(text []byte) bool { return len(t.find(text)) > 0 }

// blank returns the text without its traces.
func (t *traces) blank(text string) string {
	var out []byte
	last := 0
	for _, s := range t.find([]byte(text)) {
		out = append(append(out, text[last:s.From]...), blanked...)
		last = s.To
	}
	return string(append(out, text[last:]...))
}

func (t *traces) find(text []byte) []phone.Span {
	spans := t.finder.Find(text)
	for i := 0; i+minID <= len(text); i++ {
		if !t.first[pair(text[i:])] || i > 0 && isWord(text[i-1]) && isWord(text[i]) {
			continue
		}
		for _, n := range t.sizes {
			end := i + n
			if end <= len(text) && t.ids[string(text[i:end])] && (end == len(text) || !isWord(text[end]) || !isWord(text[end-1])) {
				spans = append(spans, phone.Span{From: i, To: end})
				i = end - 1
				break
			}
		}
	}
	slices.SortFunc(spans, func(a, b phone.Span) int { return cmp.Or(a.From-b.From, b.To-a.To) })
	out := spans[:0]
	for _, s := range spans { // an id may contain a number
		if n := len(out); n == 0 || s.From >= out[n-1].To {
			out = append(out, s)
		}
	}
	return out
}

func isWord(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}
