package crawler

import (
	"cmp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"callhouse/internal/longtest"
)

// A long list is read in several parts if the service filters by start_at. Otherwise one page is
// wasted. Either way every call is stored, and everything is recorded.
func TestParts(t *testing.T) {
	tried, i := longtest.Each(3), 0
	for name, c := range longtest.Sorted(map[string]struct {
		change func(*service)
		parts  bool
	}{
		"as usual":         {func(*service) {}, true},
		"offset cursors":   {func(s *service) { s.offset = true }, true},
		"bounds ignored":   {func(s *service) { s.silent = true }, false},
		"nothing accepted": {func(s *service) { s.plain = true }, false},
		"calls without a start last": {func(s *service) {
			for i := range 3 {
				s.calls[i].Start = nil
			}
			s.offset = true
			s.order = func(a, b testCall) int {
				return cmp.Or(boolRank(a.Start == nil)-boolRank(b.Start == nil), newestFirst(a, b))
			}
		}, false},
		"oldest first": {func(s *service) { s.order = func(a, b testCall) int { return newestFirst(b, a) } }, false},
	}) {
		if i++; !tried(i - 1) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &service{calls: someCalls(12_000, 10*time.Minute)}
				c.change(s)
				store := newMemStore()
				r, err := s.visit(t, store, func(cfg *Config) { cfg.ListOnly = true })
				if err != nil || !r.Complete() || len(store.items) != 12_000 {
					t.Fatal(err, r.Problems, len(store.items))
				}
				if r.PageRequests > 128 {
					t.Errorf("%d pages", r.PageRequests)
				}
				for _, call := range s.calls {
					if call.Start != nil && !store.covers(*call.Start) {
						t.Fatalf("%d is not on record", *call.Start)
					}
				}
				bounds := map[string]bool{}
				for _, path := range s.requests {
					if _, bound, ok := strings.Cut(path, "start_at_before="); ok {
						bounds[bound] = true
					}
				}
				if parts := len(bounds) > 2; parts != c.parts {
					t.Errorf("%d parts", len(bounds))
				}
			})
		})
	}
}
