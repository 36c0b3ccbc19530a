package crawler

import (
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
)

// oddPages are lists whose pages, cursors or order are odd: each is a known way in which lists lose calls.
func oddPages() []listCase {
	return []listCase{
		{name: "well behaved"},
		{name: "a contract without filters", set: func(s *service) { s.plain = true }},
		{name: "a contract without filters, which names none", set: func(s *service) {
			s.refuses(400, func(_ int, q url.Values) bool { return len(q) > 1 && !q.Has("cursor") || q.Has("sort_order") })
		}, more: 1},
		{name: "filters that are ignored", set: func(s *service) { s.silent = true }},
		{name: "exactly one page", calls: 100},
		{name: "one call more", calls: 101},
		{name: "calls arrive between pages counted from the top", set: func(s *service) {
			s.offset = true
			s.onPage = func(n int, _ *testPage) {
				for i := range 7 {
					s.calls = append(s.calls, testCall{ID: fmt.Sprintf("new-%d-%d", n, i), Start: at(testNow + int64(n)), End: at(testNow)})
				}
			}
		}, more: 2},
		{name: "an item on two pages", set: func(s *service) {
			var last json.RawMessage
			s.onPage = func(n int, p *testPage) {
				if n == 3 {
					p.Items = append([]json.RawMessage{last}, p.Items...)
				}
				last = p.Items[0]
			}
		}, more: 1},
		{name: "short pages", set: func(s *service) {
			s.onPage = func(n int, p *testPage) {
				if keep := 30; p.Next != nil && n%2 == 0 {
					next := "c" + key(p.calls[keep-1])
					p.Items, p.Next = p.Items[:keep], &next
				}
			}
		}, more: 99},
		{name: "empty pages with a next cursor", set: func(s *service) {
			s.onPage = func(n int, p *testPage) {
				if n == 2 || n == 3 {
					p.Items, p.Next = []json.RawMessage{}, ptr("c"+key(s.sorted()[99])+strings.Repeat(" ", n))
				}
			}
		}, more: 2},
		{name: "a cursor that comes twice", set: func(s *service) {
			s.onPage = func(n int, p *testPage) {
				if n == 4 {
					p.Next = ptr("c" + key(s.sorted()[199]))
				}
			}
		}, more: 99},
		{name: "a cursor that leads to itself for ever", set: func(s *service) {
			s.answer = func(n int, w http.ResponseWriter, r *http.Request) bool {
				if c := r.URL.Query().Get("cursor"); c != "" {
					writeTest(w, testPage{Items: []json.RawMessage{}, Next: &c})
					return true
				}
				return false
			}
		}, more: 14},
		{name: "a cursor that expires", set: func(s *service) {
			s.refuses(400, func(n int, q url.Values) bool { return n == 4 && q.Has("cursor") })
		}, more: 1},
		{name: "a cursor that expires, without filters", set: func(s *service) {
			s.plain = true
			s.refuses(400, func(_ int, q url.Values) bool { return s.pages == 4 && q.Has("cursor") })
		}, more: -3, open: true},
		{name: "ties across a page's end", set: func(s *service) {
			for i := range s.calls {
				if i >= 95 && i < 330 { // three pages of one millisecond
					s.calls[i].Start = s.calls[95].Start
				}
			}
		}},
		{name: "ties across a page's end, and the cursor expires", set: func(s *service) {
			for i := range s.calls {
				if i >= 195 && i < 215 {
					s.calls[i].Start = s.calls[195].Start
				}
			}
			s.refuses(400, func(n int, _ url.Values) bool { return n == 3 })
		}, more: 99},
		{name: "an order that rises", set: func(s *service) {
			s.order = func(a, b testCall) int { return strings.Compare(a.ID, b.ID) }
		}, more: -1},
		{name: "no order at all", set: func(s *service) {
			s.order = func(a, b testCall) int { return strings.Compare(shuffled(a.ID), shuffled(b.ID)) }
		}, more: -1},
		{name: "pages shuffled in themselves", set: func(s *service) {
			s.onPage = func(_ int, p *testPage) { slices.Reverse(p.Items) }
		}, more: -1},
		{name: "ever new cursors that lead round and round", set: func(s *service) {
			s.answer = func(_ int, w http.ResponseWriter, r *http.Request) bool {
				k, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
				if strings.Contains(r.URL.Path, "/calls/") {
					return false
				}
				p := testPage{Items: []json.RawMessage{}, Next: ptr(strconv.Itoa(k + 1))}
				for _, c := range s.calls[k%10*98:][:98] {
					raw, _ := json.Marshal(c)
					p.Items = append(p.Items, raw)
				}
				writeTest(w, p)
				return true
			}
		}, more: 59, open: true, all: true},
		{name: "pages without a call, for ever", set: func(s *service) {
			n := 0
			s.onPage = func(_ int, p *testPage) {
				n++
				p.Items, p.Next = []json.RawMessage{}, ptr(strconv.Itoa(n))
			}
		}, more: 40, open: true},
		{name: "calls without a start", set: func(s *service) {
			for i := range 150 {
				s.calls = append(s.calls, testCall{ID: fmt.Sprintf("queued-%03d", i), Status: "queued"})
			}
		}, more: 2},
	}
}

// A list in an order other than requested is not recorded before its end.
func TestNoOrderNothingOnRecord(t *testing.T) {
	for name, order := range map[string]func(a, b testCall) int{
		"rising":   func(a, b testCall) int { return strings.Compare(a.ID, b.ID) },
		"no order": func(a, b testCall) int { return strings.Compare(shuffled(a.ID), shuffled(b.ID)) },
	} {
		for _, plain := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				s := &service{calls: someCalls(1000, time.Hour), order: order, plain: plain, silent: !plain}
				store := newMemStore()
				r, err := s.visit(t, store, func(cfg *Config) {
					cfg.PerSecond, cfg.MaxDuration = 1, 9*time.Second
				})
				if err != nil || !r.DeadlineHit || len(store.items) == 0 || len(store.spans) > 0 {
					t.Errorf("%s, plain %v: %v, %d items, on record %v", name, plain, err, len(store.items), store.spans)
				}
			})
		}
	}
}

func (s *service) sorted() []testCall {
	calls := slices.Clone(s.calls)
	slices.SortFunc(calls, newestFirst)
	return calls
}

func (s *service) has(id string) bool {
	return slices.ContainsFunc(s.calls, func(c testCall) bool { return c.ID == id })
}

// vanish deletes the calls with positions from a to b, counted from the newest.
func (s *service) vanish(a, b int) {
	calls := s.sorted()
	s.calls = slices.Delete(calls, a, b)
}

func ptr[T any](v T) *T { return &v }

// shuffled changes an id's place in text order.
func shuffled(id string) string {
	n, _ := strconv.Atoi(strings.TrimPrefix(id, "call-"))
	return fmt.Sprintf("%06d", n*7919%1009)
}

// A list with ever more new calls ends as well, and the records of its listed calls are fetched.
func TestListOfCallsWithoutEnd(t *testing.T) {
	longtest.Only(t) // it has a thousand pages
	synctest.Test(t, func(t *testing.T) {
		pages := 0
		s := &service{}
		s.answer = func(_ int, w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != "/v3/calls" {
				return false
			}
			p := testPage{Next: new(string), Total: 5}
			*p.Next = strconv.Itoa(pages)
			for i := range 100 {
				p.Items = append(p.Items, json.RawMessage(fmt.Sprintf(`{"id":"%d-%d","status":"ongoing","start_at":%d}`, pages, i, int64(testNow-1000))))
			}
			pages++
			writeTest(w, p)
			return true
		}
		r, err := s.visit(t, newMemStore(), nil)
		if err != nil || len(r.Problems) != 1 || !strings.Contains(r.Problems[0], "does not end") {
			t.Errorf("error %v, problems %q", err, r.Problems)
		}
		if pages < 900 || pages > 1100 {
			t.Errorf("%d pages", pages)
		}
	})
}
