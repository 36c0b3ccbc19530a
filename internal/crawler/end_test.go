package crawler

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"callhouse/internal/longtest"
	"callhouse/internal/test"
)

// asksAll reports whether a query is for the whole list.
func asksAll(q url.Values) bool { return !q.Has("start_at_before") && !q.Has("start_at_after") }

// offsetOf returns the position of a page in its query.
func offsetOf(q url.Values) int {
	n, _ := strconv.Atoi(q.Get("cursor"))
	return n
}

// listed is how many calls a list has.
const listed = 980

// listCase is a list that misbehaves.
type listCase struct {
	name  string
	calls int // 0: listed
	set   func(s *service)
	open  bool  // the list cannot be considered complete
	all   bool  // though all calls are listed
	more  int64 // requests of pages beyond those of a good list and its end
}

// oddEnds are lists that end too early, too late or with a wrong count.
func oddEnds() []listCase {
	null := func(p *testPage) { p.Next = nil }
	ends := func(at int, how func(p *testPage)) func(*service) {
		return func(s *service) {
			s.offset = true
			s.onPage = func(_ int, p *testPage) {
				if offsetOf(p.query) == at && asksAll(p.query) {
					how(p)
				}
			}
		}
	}
	counts := func(total func(int) any) func(*service) {
		return func(s *service) { s.total = total }
	}
	both := func(fs ...func(*service)) func(*service) {
		return func(s *service) {
			for _, f := range fs {
				f(s)
			}
		}
	}
	plain := func(s *service) { s.plain = true }
	silent := func(s *service) { s.silent = true }
	beyond := func(limit int, answer func(w http.ResponseWriter, q url.Values)) func(*service) {
		return func(s *service) {
			s.offset = true
			s.answer = func(_ int, w http.ResponseWriter, r *http.Request) bool {
				q := r.URL.Query()
				if r.URL.Path != "/v3/calls" || offsetOf(q) < limit {
					return false
				}
				answer(w, q)
				return true
			}
		}
	}
	empty := func(next, total any) func(http.ResponseWriter, url.Values) {
		return func(w http.ResponseWriter, q url.Values) {
			if next == "on" {
				next = strconv.Itoa(offsetOf(q) + 100)
			}
			writeTest(w, map[string]any{"items": []int{}, "next_cursor": next, "total_count": total})
		}
	}
	fails := func(status int) func(http.ResponseWriter, url.Values) {
		return func(w http.ResponseWriter, _ url.Values) { refuse(w, status, "RESULT_WINDOW_TOO_LARGE", nil) }
	}
	refuses := func(status int) func(*service) {
		return func(s *service) {
			s.refuses(status, func(_ int, q url.Values) bool { return q.Has("start_at_before") })
		}
	}
	// hides leaves calls out of every answer, but not out of the counts.
	hides := func(s *service) {
		hidden := s.sorted()[900:]
		s.total = func(n int) any { return n + len(hidden) }
		s.calls = s.sorted()[:900]
		s.onPage = func(_ int, p *testPage) {
			if before, err := strconv.ParseInt(p.query.Get("start_at_before"), 10, 64); err == nil {
				older := slices.DeleteFunc(slices.Clone(hidden), func(c testCall) bool { return *c.Start >= before })
				p.Total = p.Total.(int) - len(hidden) + len(older)
			}
		}
	}
	return []listCase{
		{name: "null after 400", set: ends(300, null)},
		{name: "null after the first page", set: ends(0, null)},
		{name: "null after 400, and after 200 by time", set: func(s *service) {
			s.offset = true
			s.onPage = func(_ int, p *testPage) {
				if n := offsetOf(p.query); n == 300 && asksAll(p.query) || n == 100 && !asksAll(p.query) {
					p.Next = nil
				}
			}
		}, more: 5},
		{name: "null after every page", set: func(s *service) { s.onPage = func(_ int, p *testPage) { p.Next = nil } }, more: 1},
		{name: "null after 400, and the count is capped there", set: both(ends(300, null), counts(func(n int) any { return min(n, 400) }))},
		{name: "null after 400, without counts", set: both(ends(300, null), counts(func(int) any { return nil }))},
		{name: "null after the first page, and sort_order is refused", set: both(ends(0, null), func(s *service) {
			s.refuses(400, func(_ int, q url.Values) bool { return q.Has("sort_order") })
		}), more: 1},
		{name: "an empty first page", set: ends(0, func(p *testPage) { p.Items, p.Next, p.Total = nil, nil, 0 }), more: 1},
		{name: "a default of a month", set: func(s *service) {
			s.onPage = func(_ int, p *testPage) {
				if asksAll(p.query) && !p.query.Has("cursor") {
					p.Items, p.Next, p.Total = p.Items[:30], nil, 30
				}
			}
		}, more: 1},
		{name: "nothing beyond 400", set: beyond(400, empty(nil, listed)), more: 6},
		{name: "nothing beyond 400, and ever new cursors", set: beyond(400, empty("on", listed)), more: 15},
		{name: "400 beyond 400", set: beyond(400, fails(400)), more: 6},
		{name: "422 beyond 400", set: beyond(400, fails(422)), more: 6},
		{name: "500 beyond 400", set: beyond(400, fails(500)), more: 40},
		{name: "a page that leaves out 60 calls", set: ends(300, func(p *testPage) { p.Items = p.Items[:40] }), more: 12},
		{name: "an empty page in the middle", set: ends(300, func(p *testPage) { p.Items = nil }), more: 12},
		{name: "null after 400, without filters", set: both(ends(300, null), plain), open: true},
		{name: "null after 400, with filters that are ignored", set: both(ends(300, null), silent), open: true, more: 1},
		{name: "counted, but never shown", set: hides, open: true, more: 10},
		{name: "every answer is empty, but counted", set: func(s *service) {
			s.onPage = func(_ int, p *testPage) { p.Items, p.Next = nil, nil }
		}, open: true, more: 2},

		// Here the count is wrong, and all calls are listed.
		{name: "counts too few", set: counts(func(n int) any { return n / 2 })},
		{name: "counts none", set: counts(func(int) any { return 0 })},
		{name: "counts nothing", set: counts(func(int) any { return nil })},
		{name: "counts at most 500", set: counts(func(n int) any { return min(n, 500) })},
		{name: "counts what is on the page", set: func(s *service) {
			s.onPage = func(_ int, p *testPage) { p.Total = len(p.Items) }
		}, more: 20},
		{name: "counts the same for every query", set: counts(func(int) any { return listed + 7 }), more: 1},
		{name: "counts deleted calls", set: counts(func(n int) any { return n + 7 }), more: 1},
		{name: "counts deleted calls of the whole list", set: func(s *service) {
			s.onPage = func(_ int, p *testPage) {
				if asksAll(p.query) {
					p.Total = listed + 7
				}
			}
		}, more: 11},
		{name: "a call that is listed and counted twice", set: func(s *service) {
			s.calls[500].ID = s.calls[499].ID
		}, more: 1},
		{name: "counts more and more", set: func(s *service) {
			s.onPage = func(n int, p *testPage) { p.Total = p.Total.(int) + 3*n }
		}, more: 3},
		{name: "start_at_before is a 400", set: refuses(400), more: 1},
		{name: "start_at_before is a 422", set: refuses(422), more: 1},
		{name: "start_at_before is a 500", set: refuses(500), more: 11},
		{name: "start_at_before is a 422, and null after 400", set: both(ends(300, null), refuses(422)), open: true, more: 1},
		{name: "calls arrive", set: func(s *service) {
			s.onPage = func(n int, _ *testPage) {
				s.calls = append(s.calls, testCall{ID: fmt.Sprintf("new-%d", n), Start: at(testNow + int64(n)), End: at(testNow)})
			}
		}},
		{name: "calls are deleted", set: func(s *service) {
			s.onPage = func(n int, _ *testPage) { s.vanish(50, 52) }
		}, more: 12},
	}
}

// The end of a list is where nothing is left by time. A first run over any list ends and stores
// all calls, or reports what is missing and does not record it as listed. The next run, over a
// service that is well again, has all of them.
func TestLists(t *testing.T) {
	for _, tc := range append(oddEnds(), oddPages()...) {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				there := someCalls(cmp.Or(tc.calls, listed), time.Hour)
				s := &service{calls: slices.Clone(there)}
				if tc.set != nil {
					tc.set(s)
				}
				oldest, pages := *there[len(there)-1].Start, int64(len(there)+99)/100+1
				added := slices.Clone(s.calls)
				store := newMemStore()
				missing := func() (n int) {
					for _, c := range slices.Concat(there, added) {
						if _, ok := store.items[c.ID]; !ok && (s.has(c.ID) || tc.open) {
							n++
						}
					}
					return n
				}
				r, err := s.visit(t, store, func(cfg *Config) { cfg.ListOnly = true })
				test.OK(t, err)
				if lost := missing() > 0; lost != (tc.open && !tc.all) || r.Complete() == tc.open || store.covers(oldest) == tc.open {
					t.Errorf("%d calls are missing; on record: %v; problems: %q", missing(), store.covers(oldest), r.Problems)
				}
				test.Same(t, 0, r.Unaccounted(), "not accounted for: %+v", r.Counts)
				if most := pages + tc.more; r.PageRequests > most {
					t.Errorf("%d page requests, %d would do:\n%s", r.PageRequests, most, strings.Join(s.requests, "\n"))
				}
				if !tc.open {
					return
				}
				*s = service{calls: there}
				if r, err = s.visit(t, store, func(cfg *Config) { cfg.ListOnly = true }); err != nil || missing() > 0 || !r.Complete() {
					t.Errorf("the next run: %d calls are missing; %v, %q", missing(), err, r.Problems)
				}
			})
		})
	}
}

// A night after the first one asks for no more pages, also if the whole list is within its window,
// and notices a list that ends above what is known.
func TestEndOfTheWindow(t *testing.T) {
	for _, tc := range []struct {
		name  string
		calls int
		set   func(s *service)
		pages int64
		open  bool
	}{
		{name: "a small list", calls: 40, pages: 1},
		{name: "a long list", calls: 5000, pages: 2}, // 66 calls in the rest of 72 hours, and those below them
		{name: "null after the first page", calls: 5000, pages: 3, set: func(s *service) {
			s.onPage = func(_ int, p *testPage) {
				if asksAll(p.query) {
					p.Next = nil
				}
			}
		}},
		{name: "null after the first page, which is all that is counted", calls: 5000, pages: 3, set: func(s *service) {
			s.onPage = func(_ int, p *testPage) {
				if asksAll(p.query) {
					p.Next, p.Total = nil, len(p.Items)
				}
			}
		}},
		{name: "a default of a day", calls: 5000, pages: 4, set: func(s *service) {
			s.onPage = func(_ int, p *testPage) {
				if asksAll(p.query) {
					p.Next, p.Total, p.Items = nil, 48, p.Items[:48]
				}
			}
		}},
		{name: "null after the first page, with filters that are ignored", calls: 5000, pages: 2, open: true, set: func(s *service) {
			s.silent = true
			s.onPage = func(_ int, p *testPage) { p.Next = nil }
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const step = 20 * time.Minute
				s := &service{calls: someCalls(tc.calls+150, step)[150:]}
				store := newMemStore()
				night := func(late time.Duration) Report {
					r, err := s.visit(t, store, func(cfg *Config) {
						cfg.ListOnly = true
						cfg.Now = func() time.Time { return time.UnixMilli(testNow).Add(late) }
					})
					test.OK(t, err)
					return r
				}
				night(-150 * step)
				s.calls = someCalls(tc.calls+150, step)
				if tc.set != nil {
					tc.set(s)
				} else {
					s.calls = s.calls[150:] // nothing is new
				}
				r := night(0)
				if r.PageRequests > tc.pages {
					t.Errorf("%d page requests, %d would do:\n%s", r.PageRequests, tc.pages, strings.Join(s.requests, "\n"))
				}
				lost := slices.DeleteFunc(s.sorted(), func(c testCall) bool { _, ok := store.items[c.ID]; return ok })
				if open := len(lost) > 0; open != tc.open || r.Complete() == tc.open {
					t.Errorf("%d calls are missing; problems: %q", len(lost), r.Problems)
				}
				for _, c := range lost {
					if store.covers(*c.Start) {
						t.Fatalf("%s is on record as listed", c.ID)
					}
				}
			})
		})
	}
}

// An odd cursor on the last page, or one that leads in circles, is the end of a list if all of it
// is listed; otherwise the list goes on by time.
func TestOddEnds(t *testing.T) {
	const calls = 900
	for _, tc := range []struct{ name, last, after string }{
		{"zero", `"items":%s,"next_cursor":0`, ""},
		{"zero as text", `"items":%s,"next_cursor":"0"`, ""},
		{"minus one", `"items":%s,"next_cursor":-1`, ""},
		{"the word null", `"items":%s,"next_cursor":"null"`, ""},
		{"a list", `"items":%s,"next_cursor":[]`, ""},
		{"false", `"items":%s,"next_cursor":false`, ""},
		{"empty", `"items":%s,"next_cursor":""`, ""},
		{"no cursor at all", `"items":%s`, ""},
		{"its own cursor", `"items":%s,"next_cursor":"800"`, ""},
		{"the first cursor", `"items":%s,"next_cursor":"100"`, ""},
		{"then null instead of items", `"items":%s,"next_cursor":"900"`, `"items":null,"next_cursor":null`},
		{"then no items", `"items":%s,"next_cursor":"900"`, `"next_cursor":null`},
		{"then only a count", `"items":%s,"next_cursor":"900"`, `"message":"no more calls"`},
		{"then the same cursor", `"items":%s,"next_cursor":"900"`, `"items":[],"next_cursor":"900"`},
		{"then the last page again and again", `"items":%s,"next_cursor":"900"`, `"items":%s,"next_cursor":"%d"`},
	} {
		for _, how := range []string{"", "plain", "early"} {
			t.Run(tc.name+" "+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &service{calls: someCalls(calls, time.Hour), offset: true, plain: how == "plain"}
					end := calls
					if how == "early" {
						end = 500
					}
					s.onPage = func(n int, p *testPage) {
						offset, all := offsetOf(p.query), len(s.calls)
						if !asksAll(p.query) || offset < end-100 {
							return
						}
						text := tc.last
						if offset >= end {
							text = tc.after
						}
						items, _ := json.Marshal(p.Items)
						if offset >= end && strings.Contains(text, "%d") {
							items, _ = json.Marshal(s.sorted()[end-100 : end])
							text = strings.ReplaceAll(text, "%d", strconv.Itoa(offset+100))
						}
						text = strings.ReplaceAll(text, "%s", string(items))
						text = strings.NewReplacer(`"800"`, strconv.Quote(strconv.Itoa(end-100)), `"900"`, strconv.Quote(strconv.Itoa(end))).Replace(text)
						p.raw = fmt.Sprintf(`{%s,"total_count":%d}`, text, all)
					}
					store := newMemStore()
					for night := range 2 {
						r, err := s.visit(t, store, func(cfg *Config) { cfg.ListOnly = true })
						if err != nil || !r.Complete() || len(store.items) != calls || !store.covers(*s.calls[calls-1].Start) {
							t.Errorf("night %d: %d calls, %v, problems %q", night, len(store.items), err, r.Problems)
						}
						if r.PageRequests > 14 {
							t.Errorf("night %d: %d page requests", night, r.PageRequests)
						}
					}
				})
			})
		}
	}
}

// Times may be shown in whole seconds or minutes, and be compared exactly or as they are shown, with
// bounds that are exclusive or inclusive. Runs that are cut short lose no call between their parts.
func TestTimesShownCoarsely(t *testing.T) {
	n := -1
	floor := func(unit int64) func(int64) int64 { return func(ms int64) int64 { return ms - ms%unit } }
	for _, tc := range []struct {
		name  string
		shown func(int64) int64
		step  time.Duration
		runs  time.Duration // how long each takes; 0: a moment
	}{
		{"milliseconds", nil, 137 * time.Millisecond, 0},
		{"tenths", floor(100), 37 * time.Millisecond, 0},
		{"seconds", floor(1000), 137 * time.Millisecond, 0},
		{"seconds, rounded", func(ms int64) int64 { return (ms + 500) / 1000 * 1000 }, 137 * time.Millisecond, 0},
		{"seconds, rounded up", func(ms int64) int64 { return (ms + 999) / 1000 * 1000 }, 137 * time.Millisecond, 0},
		{"minutes", floor(60_000), 7 * time.Second, 0},
		{"many calls in a minute", floor(60_000), 150 * time.Millisecond, 8 * time.Second},
		{"old ones in seconds", func(ms int64) int64 {
			if ms < testNow-150_000 {
				return ms - ms%1000
			}
			return ms
		}, 137 * time.Millisecond, 0},
	} {
		for _, closed := range []bool{false, true} {
			for _, asShown := range []bool{false, true} {
				if n++; !longtest.On() && n%4 != n/4%4 {
					continue // each way of showing times with one way of comparing them
				}
				t.Run(fmt.Sprintf("%s, inclusive %v, compared as shown %v", tc.name, closed, asShown), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						const calls = 1500
						s := &service{calls: someCalls(calls, tc.step), closed: closed, shown: tc.shown}
						if asShown && tc.shown != nil {
							for i, c := range s.calls {
								s.calls[i].Start = at(tc.shown(*c.Start))
							}
						}
						store := newMemStore()
						for run := 0; ; run++ {
							if run > 40 {
								t.Fatal("it never comes to an end")
							}
							r, err := s.visit(t, store, func(cfg *Config) {
								cfg.ListOnly, cfg.PerSecond, cfg.PerMinute = true, 5, 120
								cfg.MaxDuration = cmp.Or(tc.runs, 1500*time.Millisecond)
								cfg.Window = time.Second
							})
							if err != nil || len(r.Problems) > 0 {
								t.Fatal(err, r.Problems)
							}
							if !r.DeadlineHit {
								break
							}
							time.Sleep(2 * time.Minute)
						}
						test.Same(t, calls, len(store.items), "calls")
					})
				})
			}
		}
	}
}
