package crawler

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"callhouse/internal/api"
)

// One invalid item hides no other: it is set aside with its position, and the rest of its page and
// all later pages are listed with few extra requests.
func TestBadItemOnAPage(t *testing.T) {
	const bad = "call-000163" // of 400; on the third page
	is := func(text string) func(testCall, []byte) string {
		return func(c testCall, item []byte) string {
			if c.ID != bad {
				return string(item)
			}
			return strings.ReplaceAll(text, "ID", bad)
		}
	}
	cut := func(ids []string, body []byte) []byte { // within the invalid item
		if i := slices.Index(ids, bad); i >= 0 {
			return body[:strings.Index(string(body), bad)]
		}
		return body
	}
	cases := []struct {
		name    string
		item    string
		rawPage func(ids []string, body []byte) []byte
		set     func(s *service)
		more    int64 // requests beyond those of a valid list
		hole    bool  // its time is not recorded as listed
		end     bool  // it cannot be bypassed
	}{
		{name: "nested deep", item: `{"id":"ID","x":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + `}`},
		{name: "nested deeper", item: `{"id":"ID","x":` + strings.Repeat(`{"a":`, 200_000) + "1" + strings.Repeat("}", 200_000) + `}`},
		{name: "a control character", item: "{\"id\":\"ID\",\"x\":\"a\x01\nb\"}"},
		{name: "NaN", item: `{"id":"ID","x":NaN,"y":-Infinity}`},
		{name: "an unknown escape", item: `{"id":"ID","x":"\q"}`},
		{name: "a number", item: `7`},
		{name: "null", item: `null`},
		{name: "no id", item: `{"start_at":1}`},
		{name: "an empty id", item: `{"id":"","start_at":1}`},
		{name: "a quote too many", item: `{"id":"ID","x":"a"b"}`, more: 3},
		{name: "a text without an end", item: `{"id":"ID","x":"a}`, more: 3},
		{name: "a bracket too few", item: `{"id":"ID","x":[1,2}`, more: 3},
		{name: "a bracket too few, with the contract's parameters alone", item: `{"id":"ID","x":[1,2}`, more: 4,
			set: func(s *service) { s.plain = true }},
		{name: "too large", item: `{"id":"ID","x":"` + strings.Repeat("x", api.MaxBody) + `"}`, more: 3},
		{name: "too large, and the cursor stands before the items", item: `{"id":"ID","x":"` + strings.Repeat("x", api.MaxBody) + `"}`, more: 3,
			rawPage: func(_ []string, body []byte) []byte {
				items, rest, _ := strings.Cut(string(body), `],"next_cursor"`)
				return []byte(`{"next_cursor"` + strings.TrimSuffix(rest, "}") + "," + items[1:] + "]}")
			}},
		{name: "never whole", item: `{"id":"ID"}`, rawPage: cut, more: 60, hole: true},
		{name: "never whole, with the contract's parameters alone", item: `{"id":"ID"}`, rawPage: cut, more: 6, hole: true, end: true,
			set: func(s *service) { s.plain = true }},
		{name: "an error of the service", item: `{"id":"ID"}`, more: 100, hole: true, set: func(s *service) {
			s.rawPage = func(ids []string, body []byte) []byte {
				if slices.Contains(ids, bad) {
					return nil
				}
				return body
			}
		}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &service{calls: someCalls(400, time.Hour), raw: is(tc.item), rawPage: tc.rawPage}
				if tc.set != nil {
					tc.set(s)
				}
				store := newMemStore()
				r, err := s.visit(t, store, nil)
				if err != nil {
					t.Fatal(err)
				}
				if tc.end {
					if len(r.Problems) == 0 || r.Complete() {
						t.Errorf("nothing is said of the rest of the list")
					}
					return
				}
				if _, there := store.items[bad]; len(store.items) != 399 || there {
					t.Errorf("%d of 399 calls are stored", len(store.items))
				}
				if r.SetAside != 1 || len(r.Problems) > 0 || r.Complete() {
					t.Errorf("set aside: %v; problems: %q", r.Aside, r.Problems)
				}
				if r.Unaccounted() != 0 || r.CallsListed != 400+r.ItemsRepeated {
					t.Errorf("not accounted for: %+v", r.Counts)
				}
				if len(r.Aside) == 1 && !strings.Contains(r.Aside[0].Reason, " of page ") {
					t.Errorf("its place is not told: %v", r.Aside)
				}
				if r.PageRequests > 5+tc.more {
					t.Errorf("%d page requests, %d would do", r.PageRequests, 5+tc.more)
				}
				start := *s.calls[400-163].Start
				if covered := store.covers(start); covered == tc.hole || !store.covers(start-1) || !store.covers(start+1) {
					t.Errorf("covered: %v", store.spans)
				}

				// The next night spends no requests on it again.
				again, err := s.visit(t, store, nil)
				if err != nil || again.PageRequests > 1+4 {
					t.Errorf("the next run: %d page requests, %v", again.PageRequests, err)
				}
			})
		})
	}
}

// Calls with impossible times, and repeated items, are accounted for.
func TestEveryItemIsAccountedFor(t *testing.T) {
	for _, start := range []int64{-1, 0, 1, 1_700_000_000, -1 << 62, 1 << 62, testNow * 100} {
		for _, place := range []int{0, 50, 99, 100, 199, 249} {
			synctest.Test(t, func(t *testing.T) {
				s := &service{calls: someCalls(250, time.Hour), silent: true}
				s.order = func(a, b testCall) int { return strings.Compare(b.ID, a.ID) } // not by time
				s.calls[place].Start = &start
				store := newMemStore()
				r, err := s.visit(t, store, nil)
				if err != nil || len(store.items) != 250 || r.Unaccounted() != 0 || r.ItemsStored != 250 {
					t.Errorf("start_at %d at %d: %d stored, %v, %+v", start, place, len(store.items), err, r.Counts)
				}
				if len(store.details) != 250 {
					t.Errorf("start_at %d: %d details", start, len(store.details))
				}
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
		store.onPut = func() { c.meter.update(func(p *Progress) { p.CallsListed++ }) }
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
						down, isDown := errorAs[*api.ServiceDownError](err)
						if _, unreachable := errorAs[*api.UnreachableError](err); unreachable && good == 0 {
							return // it never answered, which is reported soon
						}
						switch {
						case limit > 0 && strings.Contains(name, "wait and wait"): // until after the limit
							if problems := strings.Join(r.Problems, " "); took > limit/2 || err != nil || !r.DeadlineHit || r.Complete() ||
								!strings.Contains(problems, "the service requests a wait until ") {
								t.Errorf("it took %v; %v, %q", took, err, problems)
							}
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
			ready := 0
			_, err := s.visit(t, store, func(cfg *Config) {
				cfg.Now = func() time.Time { return time.UnixMilli(testNow).Add(tc.ahead) }
				cfg.AnyClock = tc.yes
				cfg.Ready = func(context.Context) error { ready++; return nil }
			})
			var clock *api.ClockError
			if errors.As(err, &clock) != tc.refused || !tc.refused && err != nil {
				t.Errorf("%+v: %v", tc, err)
			}
			if tc.refused && (ready > 0 || len(store.items) > 0 || store.commits > 0 || s.n != 1) || !tc.refused && ready != 1 {
				t.Errorf("%+v: ready %d, %d items, %d commits, %d requests", tc, ready, len(store.items), store.commits, s.n)
			}
		})
	}
}
