package crawler

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"callhouse/internal/api"
	"callhouse/internal/test"
)

// Every row of the table, for a page and for a detail: the number of requests, and the result of the run.
func TestFailureTable(t *testing.T) {
	status := func(code int) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { refuse(w, code, "CODE", nil) }
	}
	html := func(code int) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.WriteHeader(code)
			fmt.Fprint(w, "<html>sorry</html>")
		}
	}
	body := func(text string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { fmt.Fprint(w, text) }
	}
	short := func(w http.ResponseWriter) {
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, `{"items":[`)
	}
	reset := func(http.ResponseWriter) { panic(http.ErrAbortHandler) }
	type outcome struct {
		attempts int
		err      any // a pointer to the error type, or nil
		problem  bool
		aside    bool
		missing  bool
		unread   bool // noted as unreadable, too
	}
	aside := func(n int) outcome { return outcome{attempts: n, aside: true} }
	unread := func(n int) outcome { return outcome{attempts: n, aside: true, unread: true} }
	ends := func(n int) outcome { return outcome{attempts: n, problem: true} }
	auth := outcome{attempts: 1, err: new(*api.AuthError)} // before the key was accepted
	address := func(n int) outcome { return outcome{attempts: n, err: new(*api.AddressError)} }
	stated := outcome{attempts: 1, err: new(*api.ServiceDownError)} // in the contract's form
	rows := []struct {
		name         string
		fail         func(http.ResponseWriter)
		page, detail outcome
	}{
		{"400", status(400), ends(2), aside(1)}, // the page is requested again without filters
		{"401", status(401), auth, aside(2)},
		{"403", status(403), auth, aside(2)},
		{"404", status(404), stated, outcome{attempts: 1, missing: true}},
		{"404 from a proxy", html(404), address(1), aside(2)},
		{"405", status(405), stated, aside(2)},
		{"408", status(408), ends(6), aside(3)},
		{"409", status(409), ends(5), aside(3)},
		{"410", status(410), stated, aside(1)},
		{"500", status(500), ends(8), aside(4)},
		{"501", html(501), ends(8), aside(4)},
		{"502", html(502), ends(8), aside(5)},
		{"503", html(503), ends(8), aside(5)},
		{"504", status(504), ends(8), aside(5)},
		{"302", status(302), stated, aside(2)},
		{"204", status(204), address(1), aside(2)},
		{"200 and HTML", html(200), address(5), aside(4)},
		{"200 and nothing", html(200), address(5), aside(4)},
		{"200 and another thing", body(`{"id":"another","items":7}`), address(5), unread(4)},
		{"200 and JSON cut short", body(`{"items":[{"id":"a`), ends(5), unread(4)},
		{"cut short", short, ends(6), aside(4)},
		{"reset", reset, outcome{attempts: 4, err: new(*api.UnreachableError)}, aside(4)},
	}
	for _, row := range rows {
		for kind, want := range map[api.Kind]outcome{api.Page: row.page, api.Record: row.detail} {
			t.Run(fmt.Sprintf("%s on a %v", row.name, kind), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &service{calls: someCalls(3, time.Hour)}
					attempts := 0
					s.answer = func(_ int, w http.ResponseWriter, r *http.Request) bool {
						if q := r.URL.Query(); kind == api.Page && q.Get("limit") == "100" && !q.Has("start_at_before") || kind == api.Record && strings.HasSuffix(r.URL.Path, "/call-000002") {
							attempts++
							row.fail(w)
							return true
						}
						return false
					}
					store := newMemStore()
					r, err := s.visit(t, store, nil)
					test.Same(t, want.attempts, attempts, "attempts")
					switch down := (*api.ServiceDownError)(nil); {
					case want.err != nil:
						if !errors.As(err, want.err) {
							t.Errorf("error %v, want a %T", err, want.err)
						}
					case kind == api.Page && want.problem: // nothing ever succeeded
						if !errors.As(err, &down) {
							t.Errorf("error %v", err)
						}
					case err != nil:
						t.Error(err)
					}
					test.Same(t, want.problem, len(r.Problems) > 0, "problems %q", r.Problems)
					test.Same(t, want.aside, r.SetAside == 1, "set aside %v", r.Aside)
					test.Same(t, want.missing, store.missing["call-000002"] == 1, "missing %v", store.missing)
					test.Same(t, want.unread, store.unreadable["call-000002"] == 1, "unreadable %v", store.unreadable)
					if kind == api.Record && want.err == nil && store.details["call-000001"]+store.details["call-000003"] != 2 {
						t.Errorf("the other calls were not fetched: %v", store.details)
					}
					test.Same(t, int64(s.n), r.Requests, "what the budget was charged for")
				})
			})
		}
	}
}

// An error in the contract's form is an answer of the service: its code and message are reported. Only
// another body raises doubt about the address.
func TestFirstAnswerIsAnError(t *testing.T) {
	const contract = `{"error":{"code":"NO_CALLS_FOUND","message":"There are no calls yet.","details":{}}}`
	const doubt = "is the base URL right?"
	for _, tc := range []struct {
		body     string
		statuses []int
		says     string
	}{
		{contract, []int{400, 401, 402, 403, 404, 405, 409, 410, 422, 500, 503}, "NO_CALLS_FOUND: There are no calls yet."},
		{`{"error":{"code":"NO_CALLS_FOUND"}}`, []int{404}, "NO_CALLS_FOUND"},
		{"<html><h1>404 Not Found</h1>nginx</html>", []int{302, 404, 405, 410}, doubt},
		{`<?xml version="1.0"?><Error><Code>NoSuchKey</Code></Error>`, []int{404}, doubt},
		{`{"message":"no Route matched with those values"}`, []int{404}, doubt},
		{`{"detail":"Not Found"}`, []int{404}, doubt},
		{`{"error":"not_found","message":"no such path"}`, []int{404}, doubt},
		{`{"error":{"code":404,"message":"Requested entity was not found.","status":"NOT_FOUND"}}`, []int{404}, doubt},
		{`{"error":{}}`, []int{404}, doubt},
		{"", []int{404}, doubt},
	} {
		for _, status := range tc.statuses {
			synctest.Test(t, func(t *testing.T) {
				s := &service{}
				s.answer = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
					w.WriteHeader(status)
					fmt.Fprint(w, tc.body)
					return true
				}
				_, err := s.visit(t, newMemStore(), nil)
				if err == nil || !strings.Contains(err.Error(), tc.says) || tc.says != doubt && strings.Contains(err.Error(), doubt) {
					t.Errorf("%d %s: %v, want %q", status, tc.body, err, tc.says)
				}
			})
		}
	}
}

// A long outage ends the run; a short one loses no call.
func TestServiceDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{calls: someCalls(500, time.Minute)}
		var since time.Time
		s.answer = func(n int, w http.ResponseWriter, _ *http.Request) bool {
			if n > 50 {
				if since.IsZero() {
					since = time.Now()
				}
				w.WriteHeader(503)
				return true
			}
			return false
		}
		store := newMemStore()
		r, err := s.visit(t, store, nil)
		down, isDown := errors.AsType[*api.ServiceDownError](err)
		if !isDown || down.Failures < 20 {
			t.Fatalf("error %v", err)
		}
		if took := time.Since(since); took < 10*time.Minute || took > 15*time.Minute {
			t.Errorf("it took %v to see it", took)
		}
		if s.n > 400 || r.SetAside > 0 {
			t.Errorf("%d requests, %d set aside", s.n, r.SetAside)
		}
		if len(store.items) != 500 || store.commits != 2 {
			t.Errorf("%d items, %d commits", len(store.items), store.commits)
		}
	})
}

// A stray answer to any request, after the key was accepted, changes nothing but the time: no call is
// missing, and the request is repeated once.
func TestStrayAnswers(t *testing.T) {
	const contract = `{"error":{"code":"CODE","message":"no"}}`
	requests := map[int]int{} // without one
	for _, calls := range []int{102, 8} {
		synctest.Test(t, func(t *testing.T) {
			s := &service{calls: someCalls(calls, time.Hour)}
			_, err := s.visit(t, newMemStore(), func(cfg *Config) { cfg.ListOnly = calls > 100 })
			test.OK(t, err)
			requests[calls] = s.n
		})
	}
	for _, body := range []string{contract, "<html>sign in</html>", `{"message":"Unauthorized"}`, ""} {
		for _, status := range []int{200, 201, 204, 206, 302, 304, 307, 400, 401, 402, 403, 404, 405, 407, 410, 421, 422, 451, 499} {
			if body == contract && (status == 400 || status == 404 || status == 410 || status == 422) {
				continue // about the request
			}
			for _, calls := range []int{102, 8} { // to a page with a cursor, and to a record
				synctest.Test(t, func(t *testing.T) {
					listOnly, at, records := calls > 100, 2, 0
					if !listOnly {
						at, records = 5, calls
					}
					s := &service{calls: someCalls(calls, time.Hour)}
					s.answer = func(n int, w http.ResponseWriter, _ *http.Request) bool {
						if n == at {
							w.WriteHeader(status)
							fmt.Fprint(w, body)
						}
						return n == at
					}
					began, store := time.Now(), newMemStore()
					r, err := s.visit(t, store, func(cfg *Config) { cfg.ListOnly = listOnly })
					if err != nil || !r.Complete() || len(store.items) != calls || len(store.details) != records || r.Retries != 1 || s.n > requests[calls]+2 {
						t.Errorf("%d %q to request %d: %v, problems %q, set aside %v, %d calls, %d records, %d requests", status, body, at, err,
							r.Problems, r.Aside, len(store.items), len(store.details), s.n)
					}
					if time.Since(began) < time.Second && status != 200 {
						t.Errorf("%d %q to request %d: repeated at once", status, body, at)
					}
				})
			}
		}
	}
}

// Two such answers in a row to a page stop the list.
func TestTwoStrayAnswersToThePage(t *testing.T) {
	for status, want := range map[int]any{401: new(*api.AuthError), 403: new(*api.AuthError), 302: nil, 204: nil} {
		synctest.Test(t, func(t *testing.T) {
			s, refused := &service{calls: someCalls(350, time.Hour)}, 0
			s.refuses(status, func(_ int, q url.Values) bool {
				bad := s.pages == 2 && q.Has("cursor")
				if bad {
					refused++
				}
				return bad
			})
			store := newMemStore()
			r, err := s.visit(t, store, nil)
			if want == nil && (err != nil || len(r.Problems) != 1 || len(store.details) != 200) || want != nil && !errors.As(err, want) {
				t.Errorf("%d: %v, problems %q, %d records", status, err, r.Problems, len(store.details))
			}
			if refused != 2 || len(store.items) != 200 {
				t.Errorf("%d: %d refusals, %d calls", status, refused, len(store.items))
			}
		})
	}
}

// A service that fails for a while, or a gateway that answers everything, is an outage: the run waits.
func TestServiceDownForAWhile(t *testing.T) {
	for _, status := range []int{500, 302, 405, 204} {
		synctest.Test(t, func(t *testing.T) {
			s := &service{calls: someCalls(250, time.Hour)}
			var until time.Time
			s.answer = func(n int, w http.ResponseWriter, _ *http.Request) bool {
				if n == 50 {
					until = time.Now().Add(3 * time.Minute)
				}
				bad := time.Now().Before(until)
				if bad {
					w.WriteHeader(status)
				}
				return bad
			}
			store := newMemStore()
			r, err := s.visit(t, store, nil)
			if err != nil || !r.Complete() || len(store.details) != 250 || s.n > 400 {
				t.Errorf("%d: %v, problems %q, set aside %v, %d records, %d requests", status, err, r.Problems, r.Aside, len(store.details), s.n)
			}
		})
	}
}

// A key revoked during the night stops the run after few requests.
func TestKeyRevoked(t *testing.T) {
	for _, code := range []int{401, 403} {
		synctest.Test(t, func(t *testing.T) {
			s := &service{calls: someCalls(500, time.Minute)}
			s.refuses(code, func(n int, _ url.Values) bool { return n > 100 })
			store := newMemStore()
			r, err := s.visit(t, store, func(cfg *Config) { cfg.Workers = 4 })
			e, isIt := errors.AsType[*api.AuthError](err)
			if !isIt || e.Status != code || e.Code != "REFUSED" || e.KeySource != "TEST_KEY" {
				t.Fatalf("error %v", err)
			}
			if s.n > 112 { // each worker's requests, and two for the list
				t.Errorf("%d requests after the first refusal", s.n-101)
			}
			if got := len(store.details); got != 94 || store.commits != 2 || r.DetailsFetched != 94 {
				t.Errorf("%d details kept, %d commits", got, store.commits)
			}
		})
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	var n atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		http.Redirect(w, r, "https://login.example/in?next=secret", http.StatusFound)
	}))
	defer s.Close()
	c := tester(t, nil, newMemStore(), func(cfg *Config) { cfg.BaseURL = s.URL })
	_, err := c.Run(t.Context())
	if _, ok := errors.AsType[*api.AddressError](err); !ok || !strings.Contains(err.Error(), "https://login.example/in") {
		t.Errorf("error %v", err)
	}
	test.Same(t, 1, n.Load(), "requests")
}

func TestNoKeyInLogsOrErrors(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusUnauthorized, "INVALID_KEY", nil)
	}))
	defer s.Close()
	var texts []string
	for _, base := range []string{s.URL, "http://127.0.0.1:1"} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		c := tester(t, nil, newMemStore(), func(cfg *Config) { cfg.BaseURL, cfg.Logger = base, logger })
		_, err := c.Run(ctx)
		cancel()
		texts = append(texts, fmt.Sprintf("%v %+v", err, err))
	}
	if text := log.String() + strings.Join(texts, ""); strings.Contains(text, "0123456789") {
		t.Errorf("the key shows: %s", text)
	}
	if !strings.Contains(texts[0], "TEST_KEY") {
		t.Errorf("the key's source does not show: %s", texts[0])
	}
}
