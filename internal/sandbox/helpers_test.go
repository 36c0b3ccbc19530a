package sandbox

import (
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"strconv"
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
	asked := longtest.On()
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == name })
	if asked {
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

// incidents parses incidents.
func incidents(t *testing.T, text string) (all world.Incidents) {
	t.Helper()
	test.OK(t, all.Set(text))
	return all
}
