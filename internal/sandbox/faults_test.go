package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"callhouse/internal/api/apitest"
	"callhouse/internal/test"
)

// TestFaultsOverTCP requests each fault over a real connection.
func TestFaultsOverTCP(t *testing.T) {
	var kind atomic.Value // the FaultKind of the next request
	kind.Store(FaultKind(""))
	s := newServer(t, Options{
		World:  Config{Calls: 300},
		Inject: func(int64, Request) FaultKind { return kind.Load().(FaultKind) },
	})
	running, err := Listen(t.Context(), "127.0.0.1:0", s)
	test.OK(t, err)
	defer running.Close()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	type got struct {
		status     int
		retryAfter string
		json       bool
		err        error
		body       string
	}
	fetch := func() (g got) {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, running.URL+"/v3/calls?limit=10", nil)
		r.Header.Set("Authorization", "Bearer sandbox-key")
		a, err := client.Do(r)
		if err != nil {
			return got{err: err}
		}
		defer a.Body.Close()
		body, err := io.ReadAll(a.Body)
		return got{a.StatusCode, a.Header.Get("Retry-After"), a.Header.Get("Content-Type") == "application/json", err, string(body)}
	}
	right := fetch()
	for _, c := range []struct {
		kind  FaultKind
		check func(got) bool
	}{
		{"400", func(g got) bool { return g.status == 400 && g.json }},
		{"401", func(g got) bool { return g.status == 401 && strings.Contains(g.body, `"UNAUTHORIZED"`) }},
		{"403", func(g got) bool { return g.status == 403 }},
		{"404", func(g got) bool { return g.status == 404 }},
		{"409", func(g got) bool { return g.status == 409 }},
		{"500", func(g got) bool { return g.status == 500 && strings.Contains(g.body, `"INTERNAL_ERROR"`) }},
		{"503", func(g got) bool { return g.status == 503 && g.json }},
		{"429", func(g got) bool {
			return g.status == 429 && strings.Contains("123", g.retryAfter) && strings.Contains(g.body, `"RATE_LIMIT_EXCEEDED"`)
		}},
		{Fault429Bare, func(g got) bool { return g.status == 429 && g.retryAfter == "" }},
		{Fault429Malformed, func(g got) bool { return g.status == 429 && g.retryAfter == "soon" }},
		{Fault429Date, func(g got) bool { _, err := http.ParseTime(g.retryAfter); return g.status == 429 && err == nil }},
		{Fault503HTML, func(g got) bool { return g.status == 503 && !g.json && strings.HasPrefix(g.body, "<!DOCTYPE") }},
		{FaultNonJSON, func(g got) bool { return g.status == 200 && strings.Contains(g.body, "<h1>Please sign in</h1>") }},
		{"204", func(g got) bool { return g.status == 204 && g.err == nil && g.body == "" }},
		{"302", func(g got) bool { return g.status == 302 }},
		{"405", func(g got) bool { return g.status == 405 && g.json }},
		{"429-fraction", func(g got) bool { return g.status == 429 && g.retryAfter == "1.5" }},
		{"429-long", func(g got) bool { return g.status == 429 && g.retryAfter == "5400" }},
		{"503-long", func(g got) bool { return g.status == 503 && g.retryAfter == "7200" }},
		{FaultMarked, func(g got) bool { return g.status == 200 && g.body == "\ufeff"+right.body }},
		{FaultEarlyEnd, func(g got) bool { return strings.Contains(g.body, `"next_cursor":null,"total_count":300`) }},
		{FaultReset, func(g got) bool { return errors.Is(g.err, syscall.ECONNRESET) || errors.Is(g.err, io.EOF) }},
		{FaultCut, func(g got) bool { return errors.Is(g.err, io.ErrUnexpectedEOF) && g.body != "" }},
		{FaultTruncated, func(g got) bool { return g.err == nil && g.status == 200 && g.body == right.body[:len(right.body)/2] }},
		{FaultHuge, func(g got) bool { return g.status == 200 && len(g.body) > 64<<20 }},
		{FaultLoop, func(g got) bool { return g == right }}, // a first page has no cursor to repeat
	} {
		if kind.Store(c.kind); !isIn(requestFaults, c.kind) && !isIn(pageFaults, c.kind) {
			t.Errorf("%s is not in the list", c.kind)
		}
		if g := fetch(); !c.check(g) {
			t.Errorf("%s: %d, Retry-After %q, %v, %.200s", c.kind, g.status, g.retryAfter, g.err, g.body)
		}
	}
	kind.Store(FaultKind(""))
	if g := fetch(); g != right {
		t.Errorf("afterwards: %+v", g)
	}
	stats := s.Stats()
	if stats.Faults[FaultReset] != 1 || stats.Faults["429"] != 1 || stats.ByStatus["aborted"] != 2 || stats.RateLimited != 0 ||
		stats.Requests != 28 {
		t.Errorf("%+v", stats)
	}
}

// TestSlowAndHang waits for an answer that comes late, and for one that never comes.
func TestSlowAndHang(t *testing.T) {
	for kind, want := range map[FaultKind]time.Duration{FaultSlow: 5 * time.Second, FaultHang: time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			tr, _ := apitest.Serve(t, newServer(t, Options{World: Config{Calls: 10}, Faults: Faults{{Kind: kind, Rate: 1}}}))
			client := &http.Client{Transport: tr, Timeout: time.Hour}
			r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://sandbox/v3/calls", nil)
			r.Header.Set("Authorization", "Bearer sandbox-key")
			start := time.Now()
			a, err := client.Do(r)
			if took := time.Since(start); took != want || (err == nil) != (kind == FaultSlow) {
				t.Errorf("%s: %v after %v", kind, err, took)
			}
			if err == nil {
				test.OK(t, a.Body.Close())
			}
		})
	}
}

// TestPageFaultsLoseNothing follows lists of v3's and v2's calls and of tools whose pages have every fault
// in turn, and repeats a request that is refused.
func TestPageFaultsLoseNothing(t *testing.T) {
	type pager func(s *Server, cursor string) (status int, ids []string, next *string)
	v3 := func(target string) pager {
		return func(s *Server, cursor string) (int, []string, *string) {
			to := target
			if cursor != "" {
				to += "&cursor=" + cursor
			}
			w := do(s, "GET", to)
			var e envelope
			decode(t, w.Body.Bytes(), &e)
			return w.Code, ids(e.Items), e.NextCursor
		}
	}
	faults := slices.DeleteFunc(kinds(pageFaults), func(k FaultKind) bool { return k == FaultEarlyEnd })
	for name, page := range map[string]pager{
		"limit": v3("/v3/calls?limit=10"), "order": v3("/v3/calls?limit=7&sort_order=asc"), "filter": v3("/v3/calls?limit=5&status=ended"),
		"bound": v3("/v3/calls?limit=9&start_at_before=1795080000000"), "tools": v3("/v3/tools?limit=2"),
		"v2": func(s *Server, key string) (int, []string, *string) {
			body := `{"limit":20}`
			if key != "" {
				body = fmt.Sprintf(`{"limit":20,"pagination_key":%q}`, key)
			}
			w := post(s, bulkPath, body)
			var p bulkPage
			decode(t, w.Body.Bytes(), &p)
			return w.Code, bulkIDs(p.Calls), p.Next
		},
	} {
		inject := false
		s := newServer(t, Options{World: Config{Calls: 300, Seed: 3}, Inject: func(n int64, _ Request) FaultKind {
			if inject && n%2 == 1 {
				return faults[int(n/2)%len(faults)]
			}
			return ""
		}})
		follow := func() map[string]bool {
			seen := map[string]bool{}
			cursor := ""
			for range 5000 {
				status, ids, next := page(s, cursor)
				for _, id := range ids {
					seen[id] = true
				}
				if status != 200 {
					continue
				}
				if next == nil {
					return seen
				}
				cursor = *next
			}
			t.Errorf("%s: no end", name)
			return seen
		}
		want := follow()
		inject = true
		test.Same(t, want, follow(), "%s (-without faults +with)", name)
		for _, k := range faults {
			if stats := s.Stats(); stats.Faults[k] == 0 {
				t.Errorf("%s: no fault %s in %d requests", name, k, stats.Requests)
			}
		}
	}
}

// TestAClientAsksForAFault requests faults with a header.
func TestAClientAsksForAFault(t *testing.T) {
	s := newServer(t, Options{World: Config{Calls: 20}})
	for _, c := range []struct {
		requested, said string
		status          int
	}{{"503", "503", 503}, {"truncated", "truncated", 200}, {"duplicate", "duplicate", 200}, {"no such fault", "", 200}, {"", "", 200}} {
		r := httptest.NewRequest(http.MethodGet, "/v3/calls?limit=5", nil)
		r.Header.Set("Authorization", "Bearer sandbox-key")
		r.Header.Set(faultHeader, c.requested)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != c.status || w.Header().Get(faultHeader) != c.said || json.Valid(w.Body.Bytes()) == (c.requested == "truncated") {
			t.Errorf("%q: %d %v %s", c.requested, w.Code, w.Header(), w.Body)
		}
	}
	if got := s.Stats().Faults; got["503"] != 1 || got["truncated"] != 1 || got["duplicate"] != 1 || len(got) != 3 {
		t.Errorf("the faults were %v", got)
	}
}
