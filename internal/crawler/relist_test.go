package crawler

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"callhouse/internal/schema"
	"callhouse/internal/test"
)

// A week of nights lists every page again, a seventh per night, and none twice.
func TestListIsGoneOverOnceAWeek(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{calls: someCalls(4_900, 90*time.Minute)} // 306 days
		store := newMemStore()
		if _, err := s.visit(t, store, nil); err != nil {
			t.Fatal(err)
		}
		night := func(n int) Report {
			r, err := s.visit(t, store, func(cfg *Config) {
				cfg.Now = func() time.Time { return time.UnixMilli(testNow).AddDate(0, 0, n) }
			})
			if err != nil || !r.Complete() || r.DetailRequests != 0 {
				t.Fatalf("night %d: %v, %v, %d details", n, err, r.Problems, r.DetailRequests)
			}
			return r
		}
		for n := 1; n <= 6; n++ {
			if r := night(n); r.PageRequests > 3 {
				t.Errorf("night %d listed %d pages, and nothing was a week old", n, r.PageRequests)
			}
		}
		pages := int64(0)
		for n := 7; n <= 13; n++ {
			r := night(n)
			if r.PageRequests > 49/7+4 {
				t.Errorf("night %d listed %d pages of 49", n, r.PageRequests)
			}
			pages += r.PageRequests
		}
		if pages < 49 || pages > 49+7*4 {
			t.Errorf("%d pages in the week, the list has 49", pages)
		}
		limit := time.UnixMilli(testNow).AddDate(0, 0, 6).UnixMilli()
		if old := stale(store.Coverage(), 0, limit); len(old) > 0 {
			t.Errorf("still not listed again: %v", old)
		}
	})
}

// A list of one page is read completely every night, and its older part never again.
func TestShortListIsNotGoneOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{calls: someCalls(60, 8*time.Hour)} // 20 days
		store := newMemStore()
		for n := range 16 {
			r, err := s.visit(t, store, func(cfg *Config) {
				cfg.Now = func() time.Time { return time.UnixMilli(testNow).AddDate(0, 0, n) }
			})
			if err != nil || n > 0 && r.PageRequests != 1 {
				t.Errorf("night %d: %d pages, %v", n, r.PageRequests, err)
			}
		}
	})
}

// A list that can only be read completely is read once a week.
func TestPlainListIsGoneOverOnceAWeek(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{calls: someCalls(2000, time.Hour), plain: true}
		store := newMemStore()
		var pages []int64
		for n := range 16 {
			r, err := s.visit(t, store, func(cfg *Config) {
				cfg.Now = func() time.Time { return time.UnixMilli(testNow).AddDate(0, 0, n) }
			})
			test.OK(t, err)
			pages = append(pages, r.PageRequests)
		}
		whole := 0
		for _, n := range pages {
			if n >= 20 {
				whole++
			}
		}
		if whole != 3 {
			t.Errorf("the whole list was listed on %d of 16 nights: pages %v", whole, pages)
		}
	})
}

func TestStale(t *testing.T) {
	got := stale([]schema.Span{{From: 0, To: 10, ListedAt: 5}, {From: 10, To: 20, ListedAt: 3}, {From: 20, To: 30, ListedAt: 9}}, 4, 9)
	if len(got) != 2 || got[0] != (schema.Span{From: 10, To: 20, ListedAt: 3}) || got[1] != (schema.Span{From: 4, To: 10, ListedAt: 5}) {
		t.Errorf("stale spans are %v", got)
	}
}

// If relisting fails, the night's calls are stored nevertheless, the report names the gap, and the
// next night does not retry.
func TestListingAgainThatFails(t *testing.T) {
	for name, fail := range map[string]func(http.ResponseWriter){
		"429": func(w http.ResponseWriter) { w.WriteHeader(429) },
		"503": func(w http.ResponseWriter) { w.Header().Set("Retry-After", "3500"); w.WriteHeader(503) },
		"401": func(w http.ResponseWriter) { w.WriteHeader(401) },
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &service{calls: someCalls(900, 90*time.Minute)}
			store := newMemStore()
			night := func(n int) Report {
				r, err := s.visit(t, store, func(cfg *Config) {
					cfg.Now = func() time.Time { return time.UnixMilli(testNow).AddDate(0, 0, n) }
				})
				if err != nil || len(store.details) != 900 {
					t.Fatalf("%s, night %d: %v, %d transcripts", name, n, err, len(store.details))
				}
				return r
			}
			night(0)
			failed := 0
			s.answer = func(_ int, w http.ResponseWriter, r *http.Request) bool {
				bad := r.URL.Query().Has("start_at_before")
				if bad {
					failed++
					fail(w)
				}
				return bad
			}
			r := night(8)
			if len(r.Problems) == 0 || failed == 0 || failed > 12 {
				t.Errorf("%s: %d requests, problems %q", name, failed, r.Problems)
			}
			if before := failed; name != "401" {
				if night(9); failed > before {
					t.Errorf("%s: the next night asked %d times", name, failed-before)
				}
			}
			s.answer = nil
			if r := night(20); len(r.Problems) > 0 || len(stale(store.Coverage(), 0, time.UnixMilli(testNow).UnixMilli()+1)) > 0 {
				t.Errorf("%s: all is well: %q", name, r.Problems)
			}
		})
	}
}
