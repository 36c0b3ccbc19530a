package sandbox

import (
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"callhouse/internal/longtest"
	"callhouse/internal/loopback"
	"callhouse/internal/sandbox/world"
	"callhouse/internal/test"
)

func TestMain(m *testing.M) {
	longtest.Checks(4, 100)
	debug.SetGCPercent(400) // the tests use little memory
	loopback.Only()
	goleak.VerifyTestMain(m)
}

// busy is a Thursday, 18:30 in the company's zone: a busy time.
var busy = time.Date(2026, 11, 19, 9, 30, 0, 0, time.UTC)

// checks makes rapid try n cases in this test, unless -rapid.checks is set.
func checks(t testing.TB, n int) {
	const name = "rapid.checks"
	given := longtest.On()
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	if given {
		return
	}
	was := flag.Lookup(name).Value.String()
	_ = flag.Set(name, strconv.Itoa(n)) // rapid defines the flag
	t.Cleanup(func() { _ = flag.Lookup(name).Value.Set(was) })
}

// newServer returns a server on a frozen clock, without limits by default.
func newServer(t testing.TB, o Options) *Server {
	t.Helper()
	if o.Clock == nil {
		o.Clock = NewManualClock(busy)
	}
	if o.PerSecond == 0 {
		o.PerSecond, o.PerMinute = -1, -1
	}
	s, err := New(o)
	test.OK(t, err)
	return s
}

// do passes one request with a valid key directly to the handler.
func do(s http.Handler, method, target string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	r.Header.Set("Authorization", "Bearer sandbox-key")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// envelope is a page as a client sees it.
type envelope struct {
	Items      []map[string]any `json:"items"`
	NextCursor *string          `json:"next_cursor"`
	TotalCount int64            `json:"total_count"`
}

// getPage fetches one page; query does not include the cursor.
func getPage(t testing.TB, s http.Handler, query, cursor string) envelope {
	t.Helper()
	target := "/v3/calls?" + query
	if cursor != "" {
		target += "&cursor=" + cursor
	}
	w := do(s, "GET", target)
	if w.Code != 200 {
		t.Fatalf("GET %s: %d %s", target, w.Code, w.Body)
	}
	var e envelope
	decode(t, w.Body.Bytes(), &e)
	return e
}

// getAll follows next_cursor to the end and returns the items in order.
func getAll(t testing.TB, s http.Handler, query string) []map[string]any {
	t.Helper()
	var all []map[string]any
	cursor := ""
	for {
		e := getPage(t, s, query, cursor)
		all = append(all, e.Items...)
		if e.NextCursor == nil {
			return all
		}
		cursor = *e.NextCursor
	}
}

func decode(t testing.TB, body []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(body, into); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
}

func ids(items []map[string]any) []string {
	all := make([]string, len(items))
	for i, it := range items {
		all[i] = it["id"].(string)
	}
	return all
}

// callFaults parses faults of calls.
func callFaults(t *testing.T, text string) world.Faults {
	t.Helper()
	fs, err := world.ParseFaults(text)
	test.OK(t, err)
	return fs
}

func TestContract(t *testing.T) {
	opts := Options{World: Config{Calls: 500}}
	plain := newServer(t, opts)
	opts.ContractOnly = true
	strict := newServer(t, opts)
	var some world.View
	for v := range plain.World().Visible(busy) {
		some = *v
	}
	detail := "/v3/calls/" + some.ID.String()
	unborn := "/v3/calls/" + plain.World().ID(600).String()
	for _, c := range []struct {
		name, method, target, key string
		strict                    bool
		status                    int
		code                      string
		holds                     string // substring of the body
	}{
		{name: "page", target: "/v3/calls", status: 200, holds: `"total_count":5`},
		{name: "page of 1", target: "/v3/calls?limit=1", status: 200},
		{name: "page of 100", target: "/v3/calls?limit=100", status: 200},
		{name: "detail", target: detail, status: 200, holds: `"transcript":`},
		{name: "no key", target: "/v3/calls", key: "none", status: 401, code: "UNAUTHORIZED"},
		{name: "wrong key", target: detail, key: "Bearer sandbox-kex", status: 401, code: "UNAUTHORIZED"},
		{name: "other scheme", target: detail, key: "Basic sandbox-key", status: 401, code: "UNAUTHORIZED"},
		{name: "limit 0", target: "/v3/calls?limit=0", status: 400, code: "VALIDATION_ERROR", holds: "1 to 100"},
		{name: "limit 101", target: "/v3/calls?limit=101", status: 400, code: "VALIDATION_ERROR"},
		{name: "limit text", target: "/v3/calls?limit=ten", status: 400, code: "VALIDATION_ERROR"},
		{name: "limit empty", target: "/v3/calls?limit=", status: 400, code: "VALIDATION_ERROR"},
		{name: "limit twice", target: "/v3/calls?limit=1&limit=2", status: 400, code: "VALIDATION_ERROR"},
		{name: "cursor made up", target: "/v3/calls?cursor=abc", status: 400, code: "VALIDATION_ERROR"},
		{name: "query malformed", target: "/v3/calls?limit=%zz", status: 400, code: "VALIDATION_ERROR"},
		{name: "unknown parameter", target: "/v3/calls?page=2", status: 400, code: "VALIDATION_ERROR",
			holds: `"allowed_query_parameters":["cursor","limit","sort_order","start_at_after","start_at_before","status","call_type","agent_id","disconnection_reason","call_from","call_to","campaign_id","customer_id"]`},
		{name: "strict parameter", target: "/v3/calls?sort_order=asc", strict: true, status: 400, code: "VALIDATION_ERROR",
			holds: `"allowed_query_parameters":["cursor","limit"]`},
		{name: "strict page", target: "/v3/calls?limit=3", strict: true, status: 200},
		{name: "unknown order", target: "/v3/calls?sort_order=up", status: 400, code: "VALIDATION_ERROR"},
		{name: "unknown status", target: "/v3/calls?status=done", status: 400, code: "VALIDATION_ERROR"},
		{name: "unknown type", target: "/v3/calls?call_type=fax", status: 400, code: "VALIDATION_ERROR"},
		{name: "time not a number", target: "/v3/calls?start_at_after=2026-11-01", status: 400, code: "VALIDATION_ERROR"},
		{name: "other time not a number", target: "/v3/calls?start_at_before=now", status: 400, code: "VALIDATION_ERROR"},
		{name: "parameter of a detail", target: detail + "?limit=1", status: 400, code: "VALIDATION_ERROR"},
		{name: "unknown call", target: "/v3/calls/00000000-0000-4000-8000-000000000000", status: 404, code: "NOT_FOUND"},
		{name: "no id at all", target: "/v3/calls/x%2Fy", status: 404, code: "NOT_FOUND"},
		{name: "call to come", target: unborn, status: 404, code: "NOT_FOUND"},
		{name: "unknown path", target: "/v3/nothing", status: 404, code: "NOT_FOUND"},
		{name: "unknown path of v2", method: "POST", target: "/v2/nothing", status: 404, code: "NOT_FOUND"},
		{name: "list of v2", target: "/v2/calls/list", status: 405, code: "METHOD_NOT_ALLOWED"},
		{name: "delete in v2", method: "DELETE", target: "/v2" + strings.TrimPrefix(detail, "/v3"), status: 405,
			code: "METHOD_NOT_ALLOWED"},
		{name: "create without a body", method: "POST", target: "/v3/calls", status: 400, code: "VALIDATION_ERROR"},
		{name: "replace all", method: "PUT", target: "/v3/calls", status: 405, code: "METHOD_NOT_ALLOWED"},
		{name: "delete", method: "DELETE", target: detail, status: 405, code: "METHOD_NOT_ALLOWED"},
	} {
		t.Run(c.name, func(t *testing.T) {
			method, key := c.method, c.key
			if method == "" {
				method = "GET"
			}
			if key == "" {
				key = "Bearer sandbox-key"
			}
			s := plain
			if c.strict {
				s = strict
			}
			r := httptest.NewRequest(method, c.target, nil)
			r.Header.Set("Authorization", key)
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if w.Code != c.status || !strings.Contains(w.Body.String(), c.holds) || w.Header().Get("Content-Type") != "application/json" {
				t.Fatalf("%d %v %s", w.Code, w.Header(), w.Body)
			}
			var e struct {
				Error  *struct{ Code, Message, Details any }
				Detail string
			}
			decode(t, w.Body.Bytes(), &e)
			if c.status == 200 {
				return
			}
			if strings.HasPrefix(c.target, "/v2") { // its envelope is detail
				if e.Detail == "" || e.Error != nil {
					t.Fatalf("no detail: %s", w.Body)
				}
				return
			}
			if e.Error == nil || e.Error.Code != c.code || e.Error.Message == "" {
				t.Fatalf("no envelope with code %s: %s", c.code, w.Body)
			}
			if _, ok := e.Error.Details.(map[string]any); !ok {
				t.Fatalf("details: %s", w.Body)
			}
		})
	}
}

func TestPagesAreCompleteAndDisjoint(t *testing.T) {
	longtest.Only(t)
	worlds := map[string]Config{
		"plain":  {Seed: 1, Calls: 700},
		"hiding": {Seed: 2, Calls: 240, LateVisibleRate: .1, DeleteRate: .3, TieRate: .5},
	}
	queries := []string{
		"", "sort_order=asc", "sort_order=desc", "status=ended", "status=ongoing", "call_type=web", "status=queued&sort_order=asc",
		"disconnection_reason=user_hangup", "disconnection_reason=nothing", "agent_id=AGENT", "agent_id=AGENT&status=ended&sort_order=asc",
		"start_at_after=MID", "start_at_before=MID", "start_at_after=EARLY&start_at_before=MID&status=ended",
		"start_at_after=MID&start_at_before=EARLY", "start_at_before=0", "start_at_after=9223372036854775807",
		"start_at_after=-9223372036854775808&start_at_before=9223372036854775807", "call_from=FROM", "call_to=TO",
	}
	for name, cfg := range worlds {
		for _, mode := range []string{"keyset", "offset", "inclusive"} {
			s := newServer(t, Options{World: cfg, ThinList: true, OffsetPaging: mode == "offset", InclusiveBounds: mode == "inclusive"})
			var all []world.View
			for v := range s.World().Visible(busy) {
				all = append(all, *v)
			}
			mid, early := all[len(all)/2], all[len(all)*3/4]
			for _, q := range queries {
				q = strings.NewReplacer("AGENT", all[0].Agent.ID.String(), "MID", itoa(mid.StartAt), "EARLY", itoa(early.StartAt),
					"FROM", all[9].From(), "TO", all[9].To()).Replace(q)
				want := brute(all, q, mode == "inclusive")
				for _, limit := range []string{"2", "9", "100"} {
					got := ids(getAll(t, s, "limit="+limit+"&"+q))
					if !slices.Equal(got, want) {
						t.Fatalf("%s %s, %q by %s: %d calls, want %d", name, mode, q, limit, len(got), len(want))
					}
				}
				if e := getPage(t, s, "limit=3&"+q, ""); e.TotalCount != int64(len(want)) {
					t.Fatalf("%s %s, %q: total %d, want %d", name, mode, q, e.TotalCount, len(want))
				}
			}
		}
	}
}

func itoa(n int64) string { b, _ := json.Marshal(n); return string(b) }

// brute selects and sorts the calls of a query by brute force.
func brute(all []world.View, query string, inclusive bool) []string {
	values, _ := url.ParseQuery(query)
	number := func(name string) (n int64) {
		_ = json.Unmarshal([]byte(values.Get(name)), &n)
		return n
	}
	got := []string{}
	for i := range all {
		v := &all[i]
		ok := true
		for name, has := range map[string]string{
			"status": v.Status, "call_type": v.Type, "agent_id": v.Agent.ID.String(), "disconnection_reason": v.Reason,
			"call_from": v.From(), "call_to": v.To(),
		} {
			ok = ok && (!values.Has(name) || values.Get(name) == has)
		}
		if a := number("start_at_after"); values.Has("start_at_after") {
			ok = ok && v.Started && (v.StartAt > a || inclusive && v.StartAt == a)
		}
		if b := number("start_at_before"); values.Has("start_at_before") {
			ok = ok && v.Started && (v.StartAt < b || inclusive && v.StartAt == b)
		}
		if ok {
			got = append(got, v.ID.String())
		}
	}
	if values.Get("sort_order") == "asc" {
		slices.Reverse(got)
	}
	return got
}
