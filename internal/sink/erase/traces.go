package erase

import (
	"bytes"
	"cmp"
	"slices"

	"callhouse/internal/phone"
	"callhouse/internal/resource"
	"callhouse/internal/sink/snapshot"
)

// Blank replaces a forgotten id or number in a text.
const Blank = "[forgotten]"

// leastID is the minimum length of an id that is searched for inside texts; shorter ones may be
// words.
const leastID = 6

// traces finds ids and numbers inside texts. It is safe for concurrent use.
type traces struct {
	ids    map[string]bool
	sizes  []int         // lengths of the ids that are long enough
	first  [1 << 16]bool // the first two bytes of these ids
	finder *phone.Finder
	// were is the set of calls and customers that were forgotten before, whose ids are no longer
	// known. Their ids are found only as whole words. nil: they are not searched for.
	were *snapshot.Tombstones
}

// newTraces returns the traces of calls and customers with these keys, and of other texts
// and numbers.
func newTraces(keys map[string]bool, others []string, numbers []*phone.Number) *traces {
	t := &traces{ids: map[string]bool{}, finder: phone.NewFinder(numbers)}
	add := func(id string) {
		if len(id) < leastID || t.ids[id] {
			return
		}
		t.ids[id] = true
		t.first[pair([]byte(id))] = true
		if !slices.Contains(t.sizes, len(id)) {
			t.sizes = append(t.sizes, len(id))
		}
	}
	for key := range keys {
		add(key)
		add(resource.Plain(key))
	}
	for _, text := range others {
		add(text)
	}
	return t
}

func pair(b []byte) int { return int(b[0])<<8 | int(b[1]) }

// in reports whether a text holds a trace. json means that it is JSON.
func (t *traces) in(text []byte, json bool) bool { return len(t.find(text, json)) > 0 }

// blank returns the text without its traces; the text itself if it has none.
func (t *traces) blank(text []byte, json bool) []byte {
	spans := t.find(text, json)
	if len(spans) == 0 {
		return text
	}
	var out []byte
	last := 0
	for _, s := range spans {
		if out = append(out, text[last:s.From]...); s.bare {
			out = append(out, `"`+Blank+`"`...)
		} else {
			out = append(out, Blank...)
		}
		last = s.To
	}
	return append(out, text[last:]...)
}

// trace is the place of a trace in a text.
type trace struct {
	phone.Span
	bare bool // it is a JSON number, without quotes
}

func (t *traces) find(text []byte, json bool) []trace {
	if len(text) < leastID {
		return nil
	}
	if json {
		return t.findJSON(text)
	}
	return t.findText(text, 0, nil)
}

// findText adds the traces in a text, which begins at a place in another one.
func (t *traces) findText(text []byte, at int, out []trace) []trace {
	from := len(out)
	for _, s := range t.finder.Find(text) {
		out = append(out, trace{Span: phone.Span{From: at + s.From, To: at + s.To}})
	}
	t.eachID(text, true, func(from, to int) { out = append(out, trace{Span: phone.Span{From: at + from, To: at + to}}) })
	t.eachForgotten(text, func(from, to int) { out = append(out, trace{Span: phone.Span{From: at + from, To: at + to}}) })
	slices.SortFunc(out[from:], func(a, b trace) int { return cmp.Or(a.From-b.From, b.To-a.To) })
	kept := out[:from]
	for _, s := range out[from:] { // an id may contain a number
		if n := len(kept); n == from || s.From >= kept[n-1].To {
			kept = append(kept, s)
		}
	}
	return kept
}

// eachID visits the ids in a text. With whole, they must not be a part of a longer word.
func (t *traces) eachID(text []byte, whole bool, visit func(from, to int)) {
	if len(t.sizes) == 0 {
		return
	}
	for i := 0; i+leastID <= len(text); i++ {
		if !t.first[pair(text[i:])] || whole && i > 0 && isWord(text[i-1]) && isWord(text[i]) {
			continue
		}
		for _, n := range t.sizes {
			end := i + n
			if end <= len(text) && t.ids[string(text[i:end])] && (!whole || end == len(text) || !isWord(text[end]) || !isWord(text[end-1])) {
				visit(i, end)
				i = end - 1
				break
			}
		}
	}
}

// eachForgotten visits the previously forgotten ids in a text. Words without a digit are skipped,
// since a hash is much more expensive than that check.
func (t *traces) eachForgotten(text []byte, visit func(from, to int)) {
	if t.were == nil {
		return
	}
	digit := false
	for from, i := 0, 0; i <= len(text); i++ {
		if i < len(text) && (isWord(text[i]) || text[i] == '-' || text[i] == '_') {
			digit = digit || text[i] <= '9' && text[i] >= '0'
			continue
		}
		if word := text[from:i]; digit && len(word) >= leastID && t.were.Has(t.were.Of(word)) {
			visit(from, i)
		}
		from, digit = i+1, false
	}
}

func isWord(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

// findJSON returns the traces in the strings and numbers of JSON.
func (t *traces) findJSON(text []byte) (out []trace) {
	for i := 0; i < len(text); i++ {
		switch b := text[i]; {
		case b == '"':
			end := i + 1
			for end < len(text) && text[end] != '"' {
				if text[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end, len(text))
			out = t.findText(text[i+1:end], i+1, out)
			i = end
		case b >= '0' && b <= '9' || b == '-':
			end := i + 1
			for end < len(text) && bytes.IndexByte([]byte("0123456789+-.eE"), text[end]) >= 0 {
				end++
			}
			if d := string(text[i:end]); t.ids[d] || t.finder.Spells(d) {
				out = append(out, trace{phone.Span{From: i, To: end}, true})
			}
			i = end - 1
		}
	}
	return out
}

// inBytes reports whether arbitrary bytes hold a trace.
func (t *traces) inBytes(raw []byte) (found bool) {
	t.eachID(raw, false, func(int, int) { found = true })
	return found || len(t.finder.Find(raw)) > 0
}
