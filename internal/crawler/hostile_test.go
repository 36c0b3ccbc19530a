package crawler

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"callhouse/internal/api"
	"callhouse/internal/longtest"
	"callhouse/internal/test"
)

// One invalid item hides no other: it is set aside with its position, and its page and all others
// are listed without more requests.
func TestBadItemOnAPage(t *testing.T) {
	const bad = "call-000163" // of 400; on the third page
	for name, item := range map[string]string{
		"a number":    `7`,
		"a text":      `"ID"`,
		"a list":      `[{"id":"ID"}]`,
		"null":        `null`,
		"no id":       `{"start_at":1}`,
		"an empty id": `{"id":"","start_at":1}`,
		"deep":        `{"id":"ID","x":` + strings.Repeat("[", 9_990) + strings.Repeat("]", 9_990) + `}`,
		"many fields": `{"id":"ID","x":[` + strings.Repeat("{},", 200_000) + `{}]}`,
		"too large":   `{"id":"ID","x":"` + strings.Repeat("x", api.MaxBody) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &service{calls: someCalls(400, time.Hour)}
				s.raw = func(c testCall, good []byte) string {
					if c.ID != bad {
						return string(good)
					}
					return strings.ReplaceAll(item, "ID", bad)
				}
				store := newMemStore()
				r, err := s.visit(t, store, nil)
				test.OK(t, err)
				if _, there := store.items[bad]; name == "many fields" {
					if !there || !r.Complete() {
						t.Errorf("set aside: %v; problems: %q", r.Aside, r.Problems)
					}
					return
				}
				if _, there := store.items[bad]; len(store.items) != 399 || there {
					t.Errorf("%d of 399 calls are stored", len(store.items))
				}
				if r.SetAside != 1 || len(r.Problems) > 0 || r.Complete() || !strings.Contains(r.Aside[0].Reason, " of page ") {
					t.Errorf("set aside: %v; problems: %q", r.Aside, r.Problems)
				}
				if r.Unaccounted() != 0 || r.CallsListed != 400+r.ItemsRepeated || r.PageRequests > 5 {
					t.Errorf("not accounted for, or too many requests: %+v", r.Counts)
				}
				if !store.covers(*s.calls[400-163].Start) {
					t.Errorf("covered: %v", store.spans)
				}
			})
		})
	}
}

// A page that is not valid JSON, or that the service cannot send, is a failed request: what is above
// it is stored and on record, the rest is left to the next run. New calls are stored every night, and
// when the page can be read, all of them.
func TestBrokenPage(t *testing.T) {
	const bad = "call-000163" // of 400; on the third page
	is := func(text string) func(testCall, []byte) string {
		return func(c testCall, item []byte) string {
			if c.ID != bad {
				return string(item)
			}
			return strings.ReplaceAll(text, "ID", bad)
		}
	}
	onBad := func(answer func(body []byte) []byte) func(*service) {
		return func(s *service) {
			s.raw = is(`{"id":"ID"}`)
			s.rawPage = func(ids []string, body []byte) []byte {
				if slices.Contains(ids, bad) {
					return answer(body)
				}
				return body
			}
		}
	}
	item := func(text string) func(*service) { return func(s *service) { s.raw = is(text) } }
	for _, tc := range []struct {
		name string
		set  func(*service)
		says string
	}{
		{"a control character", item("{\"id\":\"ID\",\"x\":\"a\x01\nb\"}"), "not valid JSON"},
		{"NaN", item(`{"id":"ID","x":NaN,"y":-Infinity}`), "not valid JSON"},
		{"an unknown escape", item(`{"id":"ID","x":"\q"}`), "not valid JSON"},
		{"a quote too many", item(`{"id":"ID","x":"a"b"}`), "not valid JSON"},
		{"a text without an end", item(`{"id":"ID","x":"a}`), "not valid JSON"},
		{"a bracket too few", item(`{"id":"ID","x":[1,2}`), "not valid JSON"},
		{"nested too deep", item(`{"id":"ID","x":` + strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000) + `}`), "not valid JSON"},
		{"more text after it", onBad(func(body []byte) []byte { return append(body, "{}"...) }), "not valid JSON"},
		{"cut short", onBad(func(body []byte) []byte { return body[:len(body)/2] }), "not valid JSON"},
		{"an error of the service", onBad(func([]byte) []byte { return nil }), "500 server error"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				all := someCalls(430, time.Hour)
				s := &service{calls: all[30:]}
				tc.set(s)
				store := newMemStore()
				start := *all[430-163].Start
				r, err := s.visit(t, store, nil)
				if err != nil || len(store.items) != 200 || len(r.Problems) != 1 || !strings.Contains(r.Problems[0], tc.says) || r.Complete() {
					t.Errorf("%d calls are stored; %v, problems %q", len(store.items), err, r.Problems)
				}
				if store.covers(start) || !store.covers(*all[30+100].Start) || r.Unaccounted() != 0 {
					t.Errorf("covered: %v; %+v", store.spans, r.Counts)
				}
				s.calls = all // a night later
				if r, err = s.visit(t, store, nil); err != nil || r.Complete() || len(store.items) < 230 || store.covers(start) {
					t.Errorf("a night later %d calls are stored; %v, problems %q", len(store.items), err, r.Problems)
				}
				*s = service{calls: all}
				if r, err = s.visit(t, store, nil); err != nil || !r.Complete() || len(store.items) != 430 || !store.covers(start) {
					t.Errorf("in the end %d calls are stored; %v, problems %q", len(store.items), err, r.Problems)
				}
			})
		})
	}
}

// Calls with impossible times, and repeated items, are accounted for.
func TestEveryItemIsAccountedFor(t *testing.T) {
	places := []int{0, 99, 100, 249}
	for i, start := range []int64{-1, 0, 1, 1_700_000_000, -1 << 62, 1 << 62, testNow * 100} {
		for j, place := range places {
			if !longtest.On() && j != i%len(places) {
				continue
			}
			synctest.Test(t, func(t *testing.T) {
				s := &service{calls: someCalls(250, time.Hour), silent: true}
				s.order = func(a, b testCall) int { return strings.Compare(b.ID, a.ID) } // not by time
				s.calls[place].Start = &start
				store := newMemStore()
				r, err := s.visit(t, store, nil)
				if err != nil || len(store.items) != 250 || r.Unaccounted() != 0 || r.ItemsStored != 250 {
					t.Errorf("start_at %d at %d: %d stored, %v, %+v", start, place, len(store.items), err, r.Counts)
				}
				test.Same(t, 250, len(store.details), "start_at %d: details", start)
			})
		}
	}
}

// An item lost between page and store is noticed.
func TestLostItemIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{calls: someCalls(3, time.Hour)}
		tr, stop := serve(t, s)
		defer stop()
		store := newMemStore()
		c := tester(t, tr, store, nil)
		store.onPut = func() { c.meter.update(func(p *Report) { p.CallsListed++ }) }
		r, err := c.Run(t.Context())
		if err != nil || r.Unaccounted() == 0 || r.Complete() {
			t.Errorf("%v, %+v", err, r.Counts)
		}
	})
}

// A service that sends hardly anything, or keeps asking to wait, ends the run within half an hour;
// with a time limit, at once.
func TestServiceWithoutProgress(t *testing.T) {
	type handler = func(http.ResponseWriter, *http.Request)
	wait := func(seconds string, status int) handler {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", seconds)
			w.WriteHeader(status)
		}
	}
	trickle := func(status int) handler {
		return func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			for r.Context().Err() == nil {
				fmt.Fprint(w, " ")
				w.(http.Flusher).Flush()
				select {
				case <-r.Context().Done():
				case <-time.After(time.Second):
				}
			}
		}
	}
	for name, answer := range map[string]handler{
		"a byte a second":           trickle(200),
		"a byte a second of errors": trickle(500),
		"429, wait an hour":         wait("3500", 429),
		"503, wait an hour":         wait("3500", 503),
		"429, wait and wait":        wait("600", 429),
		"429, wait a little":        wait("50", 429),
		"silence":                   func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	} {
		for _, good := range []int{0, 30} { // answers before the problem starts
			for _, limit := range []time.Duration{0, time.Minute} {
				t.Run(fmt.Sprintf("%s after %d, limit %v", name, good, limit), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						s := &service{calls: someCalls(500, time.Minute)}
						slow := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
							s.mu.Lock()
							late := s.n >= good
							s.n++
							s.mu.Unlock()
							if late {
								answer(w, r)
								return
							}
							s.ServeHTTP(w, r)
						})
						tr, stop := serve(t, slow)
						defer stop()
						began := time.Now()
						store := newMemStore()
						c := tester(t, tr, store, func(cfg *Config) { cfg.MaxDuration = limit })
						r, err := c.Run(t.Context())
						took := time.Since(began)
						down, isDown := errors.AsType[*api.ServiceDownError](err)
						if _, unreachable := errors.AsType[*api.UnreachableError](err); unreachable && good == 0 {
							return // it never answered, which is reported soon
						}
						switch {
						case limit > 0:
							if took > limit+api.GraceTimeout || !r.DeadlineHit && !isDown {
								t.Errorf("it took %v; %v", took, err)
							}
						case !isDown || took > 25*time.Minute:
							t.Errorf("it took %v; %v", took, err)
						case strings.Contains(name, "an hour") && (down.Wait == 0 || took > 5*time.Minute):
							t.Errorf("it waited %v; %v", took, err)
						}
						if good > 0 && len(store.items) == 0 {
							t.Error("what came before is not kept")
						}
					})
				})
			}
		}
	}
}

// If the clocks contradict each other, the store is neither read nor written.
func TestClocksThatContradict(t *testing.T) {
	const day = 24 * time.Hour
	for _, tc := range []struct {
		ahead   time.Duration // of our clock
		date    bool          // the service sends its own time
		yes     bool
		refused bool
	}{
		{400 * day, true, false, true}, {-400 * day, true, false, true}, {25 * time.Hour, true, false, true},
		{23 * time.Hour, true, false, false}, {-23 * time.Hour, true, false, false},
		{400 * day, false, false, false}, {400 * day, true, true, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &service{calls: someCalls(3, time.Hour)}
			s.answer = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
				if tc.date {
					w.Header().Set("Date", time.UnixMilli(testNow).UTC().Format(http.TimeFormat))
				}
				return false
			}
			store := newMemStore()
			_, err := s.visit(t, store, func(cfg *Config) {
				cfg.Now = func() time.Time { return time.UnixMilli(testNow).Add(tc.ahead) }
				cfg.AnyClock = tc.yes
			})
			if _, is := errors.AsType[*api.ClockError](err); is != tc.refused || !tc.refused && err != nil {
				t.Errorf("%+v: %v", tc, err)
			}
			if tc.refused && (len(store.items) > 0 || store.commits > 0 || s.n != 1) {
				t.Errorf("%+v: %d items, %d commits, %d requests", tc, len(store.items), store.commits, s.n)
			}
		})
	}
}
