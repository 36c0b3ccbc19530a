package sink

import (
	"testing"

	"pgregory.net/rapid"

	"callhouse/internal/schema"
	"callhouse/internal/test"
)

func TestCover(t *testing.T) {
	day := int64(24 * 3600 * 1000)
	for _, c := range []struct {
		name  string
		spans []schema.Span
		want  []schema.Span
	}{
		{"neighbours listed together are one, of the older time",
			[]schema.Span{{From: 10, To: 20, ListedAt: 2}, {From: 0, To: 10, ListedAt: 3}},
			[]schema.Span{{From: 0, To: 20, ListedAt: 2}}},
		{"neighbours listed days apart stay two",
			[]schema.Span{{From: 0, To: 10, ListedAt: 2}, {From: 10, To: 20, ListedAt: 2 + day}},
			[]schema.Span{{From: 0, To: 10, ListedAt: 2}, {From: 10, To: 20, ListedAt: 2 + day}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var ledger []schema.Span
			for _, s := range c.spans {
				ledger = cover(ledger, s)
			}
			test.Same(t, c.want, ledger, "ledger (-want +got)")
		})
	}
}

// Point by point: the coverage is the union of the spans, never with a later time of listing; and
// the ledger is ascending and disjoint.
func TestCoverPointwise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const size = 40
		var listed [size]int64 // 0: never
		var ledger []schema.Span
		for i := range rapid.IntRange(0, 12).Draw(t, "spans") {
			at := int64(i+1) * rapid.SampledFrom([]int64{1, listedTogether.Milliseconds()}).Draw(t, "pace")
			s := schema.Span{From: rapid.Int64Range(0, size-1).Draw(t, "from"), ListedAt: at}
			s.To = rapid.Int64Range(s.From, size).Draw(t, "to")
			ledger = cover(ledger, s)
			for p := s.From; p < s.To; p++ {
				listed[p] = at
			}
		}
		var got [size]int64
		end := int64(-1)
		for _, s := range ledger {
			if s.From < end || s.From >= s.To {
				t.Fatalf("ledger is not ascending and disjoint: %v", ledger)
			}
			end = s.To
			for p := s.From; p < s.To; p++ {
				got[p] = s.ListedAt
			}
		}
		for p := range size {
			if (got[p] == 0) != (listed[p] == 0) || got[p] > listed[p] {
				t.Fatalf("point %d: ledger says %d, it was listed at %d: %v", p, got[p], listed[p], ledger)
			}
		}
	})
}
