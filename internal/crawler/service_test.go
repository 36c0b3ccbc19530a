package crawler

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// service is a small call service whose answers tests can change.
type service struct {
	mu       sync.Mutex
	calls    []testCall // newest first
	plain    bool       // refuse all parameters except cursor and limit
	silent   bool       // ignore all parameters except cursor and limit
	offset   bool       // cursors count from the top
	order    func(a, b testCall) int
	shown    func(start int64) int64 // how times are shown; nil: exactly
	closed   bool                    // bounds are inclusive
	requests []string                // paths with their queries
	details  map[string]int
	total    func(n int) any // returns total_count
	// onPage may change a page before it is sent; n counts pages from 1.
	onPage func(n int, p *testPage)
	// answer may answer instead of the service by writing something.
	answer func(n int, w http.ResponseWriter, r *http.Request) bool
	pages  int
	n      int
	// raw, if not nil, returns the item of a call on a page; rawPage returns the page as sent,
	// where nil is an error.
	raw     func(c testCall, item []byte) string
	rawPage func(ids []string, body []byte) []byte
}

type testCall struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Start  *int64 `json:"start_at"`
	End    *int64 `json:"end_at"`
}

type testPage struct {
	Items []json.RawMessage `json:"items"`
	Next  *string           `json:"next_cursor"`
	Total any               `json:"total_count"`

	calls []testCall
	query url.Values
	raw   string // what is sent instead; empty: nothing
}

const testNow = 1_800_000_000_000 // ms

func at(ms int64) *int64 { return &ms }

// someCalls returns n calls that started every step, the newest one step ago.
func someCalls(n int, step time.Duration) []testCall {
	calls := make([]testCall, n)
	for i := range calls {
		start := testNow - int64(i+1)*step.Milliseconds()
		calls[i] = testCall{ID: fmt.Sprintf("call-%06d", n-i), Status: "ended", Start: at(start), End: at(start + 1000)}
	}
	return calls
}

func newestFirst(a, b testCall) int {
	switch {
	case a.Start == nil || b.Start == nil:
		return cmp.Or(boolRank(b.Start == nil)-boolRank(a.Start == nil), cmp.Compare(b.ID, a.ID))
	}
	return cmp.Or(cmp.Compare(*b.Start, *a.Start), cmp.Compare(b.ID, a.ID))
}

func boolRank(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	s.requests = append(s.requests, r.URL.RequestURI())
	if s.answer != nil && s.answer(s.n, w, r) {
		return
	}
	if id, ok := strings.CutPrefix(r.URL.EscapedPath(), "/v3/calls/"); ok {
		s.detail(w, id)
		return
	}
	if r.URL.Path != "/v3/calls" {
		refuse(w, http.StatusNotFound, "NOT_FOUND", nil)
		return
	}
	s.list(w, r.URL.Query())
}

func (s *service) detail(w http.ResponseWriter, escaped string) {
	id, _ := url.PathUnescape(escaped)
	if s.details == nil {
		s.details = map[string]int{}
	}
	s.details[id]++
	for _, c := range s.calls {
		if c.ID == id {
			writeTest(w, c)
			return
		}
	}
	refuse(w, http.StatusNotFound, "NOT_FOUND", nil)
}

func (s *service) list(w http.ResponseWriter, q url.Values) {
	allowed := []string{"cursor", "limit", "sort_order", "start_at_after", "start_at_before"}
	if s.plain {
		allowed = allowed[:2]
	}
	for name := range q {
		if !slices.Contains(allowed, name) && !s.silent {
			refuse(w, http.StatusBadRequest, "VALIDATION_ERROR", map[string]any{"allowed_query_parameters": allowed})
			return
		}
	}
	if s.silent {
		maps.DeleteFunc(q, func(name string, _ []string) bool { return name != "cursor" && name != "limit" })
	}
	order := s.order
	if order == nil {
		order = newestFirst
	}
	calls := slices.Clone(s.calls)
	slices.SortStableFunc(calls, order)
	bound := func(name string, keep func(start, bound int64) bool) {
		if v, err := strconv.ParseInt(q.Get(name), 10, 64); err == nil {
			calls = slices.DeleteFunc(calls, func(c testCall) bool { return c.Start == nil || !keep(*c.Start, v) })
		}
	}
	bound("start_at_after", func(start, b int64) bool { return start > b || s.closed && start == b })
	bound("start_at_before", func(start, b int64) bool { return start < b || s.closed && start == b })
	total := len(calls)
	if cursor := q.Get("cursor"); cursor != "" {
		if s.offset {
			n, _ := strconv.Atoi(cursor)
			calls = calls[min(n, len(calls)):]
		} else {
			i := slices.IndexFunc(calls, func(c testCall) bool { return cursor < "c"+key(c) })
			if s.order != nil {
				i = slices.IndexFunc(calls, func(c testCall) bool { return "c"+c.ID == cursor }) + 1
			}
			if i < 0 {
				i = len(calls)
			}
			calls = calls[i:]
		}
	}
	limit, _ := strconv.Atoi(q.Get("limit"))
	p := testPage{Total: total, calls: calls}
	if len(calls) > limit {
		p.calls = calls[:limit]
		next := "c" + key(p.calls[limit-1])
		switch {
		case s.offset:
			n, _ := strconv.Atoi(q.Get("cursor"))
			next = strconv.Itoa(n + limit)
		case s.order != nil:
			next = "c" + p.calls[limit-1].ID
		}
		p.Next = &next
	}
	if s.total != nil {
		p.Total = s.total(total)
	}
	p.Items = []json.RawMessage{}
	for _, c := range p.calls {
		if c.Start != nil && s.shown != nil {
			c.Start = at(s.shown(*c.Start))
		}
		raw, _ := json.Marshal(c)
		p.Items = append(p.Items, raw)
	}
	s.pages++
	p.query = q
	if s.onPage != nil {
		s.onPage(s.pages, &p)
	}
	if p.raw != "" {
		_, _ = fmt.Fprint(w, p.raw)
		return
	}
	if s.raw != nil {
		s.writeRaw(w, &p)
		return
	}
	writeTest(w, p)
}

// writeRaw writes a page that need not be JSON.
func (s *service) writeRaw(w http.ResponseWriter, p *testPage) {
	var items, ids []string
	for i, item := range p.Items {
		items, ids = append(items, s.raw(p.calls[i], item)), append(ids, p.calls[i].ID)
	}
	next, _ := json.Marshal(p.Next)
	total, _ := json.Marshal(p.Total)
	body := fmt.Appendf(nil, `{"items":[%s],"next_cursor":%s,"total_count":%s}`, strings.Join(items, ","), next, total)
	if s.rawPage != nil {
		if body = s.rawPage(ids, body); body == nil {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}
	_, _ = w.Write(body)
}

// key returns a text that sorts calls newest first.
func key(c testCall) string {
	if c.Start == nil {
		return "0" + invert(c.ID)
	}
	return fmt.Sprintf("1%020d", int64(1)<<60-*c.Start) + invert(c.ID)
}

// invert reverses the order of texts of equal length.
func invert(s string) string {
	b := []byte(s)
	for i := range b {
		b[i] = '~' - b[i] + ' '
	}
	return string(b)
}

func writeTest(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func refuse(w http.ResponseWriter, status int, code string, details any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"code": code, "message": "no", "details": details}})
}

// refuses makes the service refuse the requests for which when returns true.
func (s *service) refuses(status int, when func(n int, q url.Values) bool) {
	s.answer = func(n int, w http.ResponseWriter, r *http.Request) bool {
		bad := when(n, r.URL.Query())
		if bad {
			refuse(w, status, "REFUSED", nil)
		}
		return bad
	}
}

// visit runs a crawler over the service, in the bubble of a test.
func (s *service) visit(t *testing.T, store *memStore, change func(*Config)) (Report, error) {
	t.Helper()
	tr, stop := serve(t, s)
	defer stop()
	began := time.Now()
	c := tester(t, tr, store, func(cfg *Config) {
		cfg.PerSecond, cfg.PerMinute = 1000, 100_000
		cfg.Now = func() time.Time { return time.UnixMilli(testNow).Add(time.Since(began)) }
		cfg.Logger = testLog(t)
		if change != nil {
			change(cfg)
		}
	})
	return c.Run(t.Context())
}
