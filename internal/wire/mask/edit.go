package mask

import (
	"cmp"
	"slices"

	"callhouse/internal/personal/kinds"
)

// edit replaces a part of a text.
type edit struct {
	from, to int
	text     string     // the replacement; empty: the kind in brackets
	kind     kinds.Kind // empty: none
	quotes   int        // the kind needs quotes, nested in one less JSON strings; 0: none
	again    bool       // the value was already counted
}

// textAt returns where a part of a text begins. Both must have the same end of their capacity.
func textAt(text, part []byte) int { return cap(text) - cap(part) }

func byPlace(edits []edit) {
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
}

// edited applies edits to a text. Without edits it returns the text itself.
func edited(text []byte, edits []edit) (clean []byte, changed bool) {
	if len(edits) == 0 {
		return text, false
	}
	byPlace(edits)
	at, out := 0, make([]byte, 0, len(text)+64)
	for i := range edits {
		e := &edits[i]
		out = append(append(out, text[at:e.from]...), e.text...)
		if e.kind != "" {
			out = appendQuote(out, e.quotes)
			out = append(append(append(out, '['), e.kind...), ']')
			out = appendQuote(out, e.quotes)
		}
		at = e.to
	}
	return append(out, text[at:]...), true
}

// appendQuote appends a quote nested in JSON strings, depth-1 levels deep.
func appendQuote(dst []byte, depth int) []byte {
	switch depth {
	case 0:
		return dst
	case 1:
		return append(dst, '"')
	case 2:
		return append(dst, `\"`...)
	}
	dst = append(dst, '\\')
	for range depth - 2 { // escaped backslashes would double at each level
		dst = append(dst, "u005c"...)
	}
	return append(dst, "u0022"...)
}
