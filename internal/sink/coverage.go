package sink

import (
	"cmp"
	"slices"
	"time"

	"callhouse/internal/schema"
)

// listedTogether is the maximum time between the listings of two adjacent spans that are joined.
// Joining keeps the ledger short, and keeps the older time.
const listedTogether = 12 * time.Hour

// cover adds a span, listed after all that the ledger holds, to a coverage
// ledger. The ledger is ascending and disjoint, and stays so.
func cover(ledger []schema.Span, s schema.Span) []schema.Span {
	if s.From >= s.To {
		return ledger
	}
	out := make([]schema.Span, 0, len(ledger)+2)
	for _, l := range ledger {
		if l.From < s.From {
			out = append(out, schema.Span{From: l.From, To: min(l.To, s.From), ListedAt: l.ListedAt})
		}
		if l.To > s.To {
			out = append(out, schema.Span{From: max(l.From, s.To), To: l.To, ListedAt: l.ListedAt})
		}
	}
	return normalized(append(out, s))
}

// normalized sorts spans and joins neighbours that were listed together.
func normalized(spans []schema.Span) []schema.Span {
	slices.SortFunc(spans, func(a, b schema.Span) int { return cmp.Compare(a.From, b.From) })
	out := spans[:0]
	for _, s := range spans {
		if n := len(out); n > 0 && out[n-1].To == s.From &&
			max(s.ListedAt, out[n-1].ListedAt)-min(s.ListedAt, out[n-1].ListedAt) <= listedTogether.Milliseconds() {
			out[n-1].To = s.To
			out[n-1].ListedAt = min(out[n-1].ListedAt, s.ListedAt)
			continue
		}
		out = append(out, s)
	}
	return out
}

// coveredSince returns a coverage ledger for the time from an instant on: everything before it counts as
// not listed.
func coveredSince(ledger []schema.Span, from int64) []schema.Span {
	out := []schema.Span{}
	for _, s := range ledger {
		if s.From = max(s.From, from); s.From < s.To {
			out = append(out, s)
		}
	}
	return out
}

// withoutRange returns a coverage ledger without the range [from, to).
func withoutRange(ledger []schema.Span, from, to int64) []schema.Span {
	out := []schema.Span{}
	for _, s := range ledger {
		before, after := s, s
		before.To, after.From = min(s.To, from), max(s.From, to)
		for _, part := range []schema.Span{before, after} {
			if part.From < part.To {
				out = append(out, part)
			}
		}
	}
	return out
}
