package crawler

import (
	"hash/maphash"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"callhouse/internal/calls"
	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
	"callhouse/internal/schema"
	"callhouse/internal/test"
)

// A week of nights lists every page again, a seventh per night, and none twice.
func TestListIsGoneOverOnceAWeek(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{calls: someCalls(4_900, 90*time.Minute)} // 306 days
		store := newMemStore()
		_, err := s.visit(t, store, nil)
		test.OK(t, err)
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
	longtest.Only(t)
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
		test.Same(t, 3, whole, "nights of 16 that listed the whole list: pages %v", pages)
	})
}

// A service without upper bounds receives few of them, however many parts of its list are due, and each page is
// requested once.
func TestPartsOfAPlainList(t *testing.T) {
	for name, tc := range map[string]struct {
		plain, silent bool
		refused       []string // by a 400 that does not name what is allowed
		more          int64    // requests beyond one for each page
	}{
		"it names what it allows": {plain: true},
		"it names nothing":        {refused: []string{"sort_order", "start_at_after", "start_at_before"}, more: 1},
		"only the upper bound":    {refused: []string{"start_at_before"}, more: 9}, // each reader's first; the window's page comes again
		"all are ignored":         {silent: true, more: 10},                        // as each reader's first page shows
	} {
		synctest.Test(t, func(t *testing.T) {
			s, store := &service{calls: someCalls(1000, time.Hour), plain: tc.plain, silent: tc.silent}, newMemStore()
			s.refuses(400, func(_ int, q url.Values) bool { return slices.ContainsFunc(tc.refused, q.Has) })
			_, err := s.visit(t, store, nil)
			test.OK(t, err)
			for i := range store.spans { // the upper half of each
				store.spans[i].From += (store.spans[i].To - store.spans[i].From) / 2
			}
			s.requests = nil
			r, err := s.visit(t, store, nil)
			if n := int64(len(store.spans)); err != nil || n < 10 || r.PageRequests > 11+tc.more {
				t.Errorf("%s: %d spans, %d page requests for 10 pages: %v", name, n, r.PageRequests, err)
			}
		})
	}
}

func TestStale(t *testing.T) {
	got := stale([]schema.Span{{From: 0, To: 10, ListedAt: 5}, {From: 10, To: 20, ListedAt: 3}, {From: 20, To: 30, ListedAt: 9}}, 4, 9)
	if len(got) != 2 || got[0] != (schema.Span{From: 10, To: 20, ListedAt: 3}) || got[1] != (schema.Span{From: 4, To: 10, ListedAt: 5}) {
		t.Errorf("stale spans are %v", got)
	}
}

// If relisting fails, the night's calls are stored nevertheless, and the report names the gap.
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
			s.answer = nil
			if r := night(20); len(r.Problems) > 0 || len(stale(store.Coverage(), 0, time.UnixMilli(testNow).UnixMilli()+1)) > 0 {
				t.Errorf("%s: all is well: %q", name, r.Problems)
			}
		})
	}
}

// Polls are frequent while calls arrive or are open, and become rarer otherwise.
func TestPace(t *testing.T) {
	p := Pace{Min: time.Minute, Max: 10 * time.Minute}
	for range 3 {
		test.Same(t, time.Minute, p.Next(true), "in busy hours")
	}
	var all []time.Duration
	for range 8 {
		all = append(all, p.Next(false))
	}
	if all[0] != 90*time.Second || !slices.IsSorted(all) || all[7] != 10*time.Minute {
		t.Errorf("in quiet hours: %v", all)
	}
	if p.Backoff(1) != time.Minute || p.Backoff(3) != 4*time.Minute || p.Backoff(50) != 10*time.Minute {
		t.Errorf("after failures: %v, %v, %v", p.Backoff(1), p.Backoff(3), p.Backoff(50))
	}
}

// The sweep is once a day, even on days with clock changes.
func TestSweep(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	test.OK(t, err)
	for after, want := range map[string]string{
		"2026-11-24T01:00:00Z": "2026-11-24T02:00:00Z",
		"2026-11-24T02:00:00Z": "2026-11-25T02:00:00Z",
		"2026-11-24T23:30:00Z": "2026-11-25T02:00:00Z", // already the 25th there
		"2026-03-28T12:00:00Z": "2026-03-29T01:00:00Z",
		"2026-10-24T12:00:00Z": "2026-10-25T02:00:00Z",
		"2026-12-31T12:00:00Z": "2027-01-01T02:00:00Z",
	} {
		at, _ := time.Parse(time.RFC3339, after)
		test.Same(t, want, Sweep(at, berlin).UTC().Format(time.RFC3339), "after %s", after)
	}
}

// A poll stores only changes: a new signature of a link is not one. A call that ends is due at once.
func TestFollowing(t *testing.T) {
	f := &following{calls: map[string]followedCall{}, from: 5_000_000, seed: maphash.MakeSeed(), whole: true}
	see := func(text string, now int64) bool {
		call := new(calls.Call)
		test.OK(t, new(calls.Decoder).Decode([]byte(text), schema.KindItem, call))
		return f.see(call, now)
	}
	call := `{"id":"a","status":"ongoing","start_at":1000000,"recording_url":null}`
	ended := `{"id":"a","status":"ended","start_at":1000000,"end_at":1060000,"recording_url":"https://r/x?sig=1"}`
	f.begin(1_010_000)
	if !see(call, 1_010_000) || see(call, 1_011_000) {
		t.Error("a new call is not stored once")
	}
	test.Same(t, 1_000_000, f.begin(1_012_000), "the next poll lists down to")
	if !see(ended, 1_070_000) || !f.found || len(f.due) != 1 || f.due[0].CallID != "a" {
		t.Errorf("the end of a call: news %v, due %+v", f.found, f.due)
	}
	test.Same(t, 5_000_000, f.begin(1_080_000), "after its end, the next poll lists down to")
	if see(strings.Replace(ended, "sig=1", "sig=2", 1), 1_200_000) || f.found || f.changes {
		t.Error("another signature is stored")
	}
	if !see(strings.Replace(ended, `"ended"`, `"error"`, 1), 1_200_000) || f.found || !f.changes || len(f.due) > 0 {
		t.Errorf("a change is not stored, or is news; due: %+v", f.due)
	}
}

// Nights with a clock days ahead or behind list every call, and record nothing that contradicts the
// service's clock; so do the following nights with a correct clock.
func TestNightsByAWrongClock(t *testing.T) {
	tried := longtest.Each(3)
	for i, wrong := range []time.Duration{4 * 24 * time.Hour, -4 * 24 * time.Hour, 20 * time.Hour} {
		if !tried(i) && i > 0 {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			st := newFixture(t, sandbox.Options{World: sandbox.Config{Seed: 7, Calls: 300, Days: 3, Origin: origin}})
			for night, by := range []time.Duration{0, wrong, wrong, wrong, 0, 0} {
				r := st.complete(t, func(cfg *Config) {
					cfg.AnyClock = true
					cfg.Now = func() time.Time { return st.clock.Now().Add(by) }
				})
				for _, span := range st.store.spans {
					if late := st.clock.Now().Add(2 * time.Minute).UnixMilli(); span.To > late || span.ListedAt > late {
						t.Errorf("night %d, %v ahead: on record as listed: %+v", night, by, span)
					}
				}
				if ended := r.Ended.Sub(st.clock.Now()).Abs(); ended > time.Minute || r.Ended.Before(r.Started) {
					t.Errorf("night %d, %v ahead: it lasted from %v to %v, and it is %v", night, by, r.Started, r.Ended, st.clock.Now())
				}
				time.Sleep(2 * time.Minute)
				st.clock.Advance(24 * time.Hour)
			}
		})
	}
}
