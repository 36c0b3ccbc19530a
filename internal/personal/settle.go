package personal

import (
	"iter"
	"slices"
	"strings"
)

// Limits of the bytes that are read again, so that hostile texts take linear time. Ordinary ones are
// read once more, or twice.
const (
	againBytes = 1 << 20
	againTimes = 4
)

// settled adds to the spans of turns what find finds, again and again, in what is left of them: once
// a value is replaced, the digits and words beside it may be recognized. So redacted turns, redacted
// again, stay as they are.
func settled(turns []Turn, spans []Span, find func([]Turn) []Span) []Span {
	if len(spans) == 0 {
		return nil
	}
	size := 0
	for i := range turns {
		size += len(turns[i].Text)
	}
	left := slices.Clone(turns)
	for room := max(againBytes, againTimes*size); room > 0; room -= size {
		for t, of := range byTurn(spans) {
			left[t].Text = replaced(turns[t].Text, of)
		}
		more := find(left)
		if len(more) == 0 {
			break
		}
		for i := range more {
			s := &more[i]
			s.From, s.To = unreplaced(spans, s.Turn, s.From, false), unreplaced(spans, s.Turn, s.To, true)
		}
		spans = merged(append(spans, more...))
	}
	return spans
}

// byTurn yields the spans of each turn that has some.
func byTurn(spans []Span) iter.Seq2[int, []Span] {
	return func(yield func(int, []Span) bool) {
		for from := 0; from < len(spans); {
			to := from
			for to < len(spans) && spans[to].Turn == spans[from].Turn {
				to++
			}
			if !yield(spans[from].Turn, spans[from:to]) {
				return
			}
			from = to
		}
	}
}

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

// unreplaced returns where a place in a turn whose spans were replaced is in the turn's own text. A
// place inside a replacement is that of the beginning or the end of its span.
func unreplaced(spans []Span, turn, at int, end bool) int {
	grown := 0 // by the replacements so far
	for i := range spans {
		s := &spans[i]
		if s.Turn != turn {
			continue
		}
		from := s.From + grown
		to := from + len(s.Kind) + len("[]")
		switch {
		case at <= from:
			return at - grown
		case at < to && end:
			return s.To
		case at < to:
			return s.From
		}
		grown = to - s.To
	}
	return at - grown
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
		from, at := 0, 0
		for {
			i := strings.IndexByte(text[at:], '[')
			if i < 0 {
				break
			}
			at += i
			n := f.replacement(text[at:])
			if n == 0 {
				at++
				continue
			}
			if !yield(from, text[from:at]) {
				return
			}
			at += n
			from = at
		}
		yield(from, text[from:])
	}
}
