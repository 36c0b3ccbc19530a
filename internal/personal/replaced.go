package personal

import (
	"iter"
	"strings"
)

// replaced returns a text with its spans replaced by their kinds.
func replaced(text string, spans []Span) string {
	var b strings.Builder
	at := 0
	for i := range spans {
		b.WriteString(text[at:spans[i].From])
		b.WriteByte('[')
		b.WriteString(string(spans[i].Kind))
		b.WriteByte(']')
		at = spans[i].To
	}
	b.WriteString(text[at:])
	return b.String()
}

// longestReplacement is the maximum length of a replacement, in bytes.
const longestReplacement = 64

// replacement returns the length of the replacement at the beginning of a text; 0 if there is none.
func (f *Finder) replacement(text string) int {
	end := strings.IndexByte(text[:min(len(text), longestReplacement)], ']')
	if end < 0 || !f.places[text[1:end]] {
		return 0
	}
	return end + 1
}

// unplaced yields the parts of a text that are not replacements, and where they begin.
func (f *Finder) unplaced(text string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		from := 0
		for at := range len(text) {
			if at < from || text[at] != '[' {
				continue
			}
			if n := f.replacement(text[at:]); n > 0 {
				if !yield(from, text[from:at]) {
					return
				}
				from = at + n
			}
		}
		yield(from, text[from:])
	}
}
