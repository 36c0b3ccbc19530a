package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"callhouse/internal/test"
)

// A request may have its own method, body and limit.
func TestRequestWithBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		c := tester(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body := make([]byte, 20)
			n, _ := r.Body.Read(body)
			got = append(got, r.Method+" "+r.URL.String()+" "+r.Header.Get("Content-Type")+" "+string(body[:n]))
			_, _ = w.Write([]byte(`{"items":[]}`))
		})), nil)
		for limit, rule := range map[int]*rule{11: tooLarge, 12: canceled} {
			f, err := c.Do(t.Context(), Request{Method: http.MethodPost, Path: "/v2/things", Body: []byte(`{"limit":500}`), MaxBody: limit}, ok)
			if err != nil || (f != nil) != (rule == tooLarge) || f != nil && f.rule != rule {
				t.Errorf("limit %d: %v, %v", limit, f, err)
			}
		}
		for _, g := range got {
			test.Same(t, `POST /v2/things application/json {"limit":500}`, g, "the service got")
		}
	})
}

// The class of a failure does not quote the service.
func TestClassQuotesNothing(t *testing.T) {
	for _, r := range rules {
		f := &RequestError{rule: r, Status: 418, code: "secret_code", message: "no call secret-id", Err: errors.New("call secret-id")}
		if strings.Contains(f.Class(), "secret") || f.Class() == "" || !strings.HasPrefix(f.Error(), f.Class()) {
			t.Errorf("%q of %q", f.Class(), f.Error())
		}
	}
}

func TestTimeouts(t *testing.T) {
	for name, hang := range map[string]func(w http.ResponseWriter){
		"before the answer":   func(http.ResponseWriter) {},
		"in the body's midst": func(w http.ResponseWriter) { fmt.Fprint(w, `{"id":`); w.(http.Flusher).Flush() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var n atomic.Int64
				tr := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					n.Add(1)
					hang(w)
					<-r.Context().Done()
				}))
				c := tester(t, tr, nil)
				c.health.good()
				f, err := c.Do(t.Context(), Request{Path: "/", Kind: Record}, ok)
				if err != nil || f == nil || f.rule != timedOut || n.Load() != 3 {
					t.Errorf("%d attempts, %v, %v", n.Load(), f, err)
				}
			})
		})
	}
}

// Nothing else happens during a page request, so it is retried at once. A record waits, and so does
// a page that failed twice.
func TestPageIsRepeatedAtOnce(t *testing.T) {
	for kind, pauses := range map[Kind][]bool{Page: {false, true, true}, Record: {true, true, true}} {
		synctest.Test(t, func(t *testing.T) {
			var sentAt []time.Time
			c := tester(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if sentAt = append(sentAt, time.Now()); len(sentAt) <= len(pauses) {
					w.WriteHeader(500)
				}
			})), func(cfg *Config) { cfg.PerSecond = 1_000_000 })
			if f, err := c.Do(t.Context(), Request{Path: "/x", Kind: kind}, ok); f != nil || err != nil {
				t.Fatal(f, err)
			}
			for i, want := range pauses {
				if pause := sentAt[i+1].Sub(sentAt[i]); (pause > time.Millisecond) != want {
					t.Errorf("%v: pause %d is %v", kind, i+1, pause)
				}
			}
		})
	}
}

// A service that has served an earlier run is awaited from the first request on, as long as in the middle of a run;
// another address is given up soon. The wait is shown meanwhile.
func TestKnownServiceIsAwaited(t *testing.T) {
	refused := errors.New("connection refused")
	for _, c := range []struct {
		known            bool
		down, limit      time.Duration // the run's time limit; 0: none
		least, most      time.Duration
		err              error
		works, cancelled bool
	}{
		{down: time.Hour, most: firstContact, err: new(UnreachableError)},
		{known: true, down: 8 * time.Minute, least: 8 * time.Minute, most: 10 * time.Minute, works: true},
		{known: true, down: time.Hour, least: 10 * time.Minute, most: 20 * time.Minute, err: new(ServiceDownError)},
		{known: true, down: time.Hour, limit: time.Minute, least: time.Minute, most: time.Minute, cancelled: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			client := tester(t, roundTrip(func(r *http.Request) (*http.Response, error) {
				if time.Since(begun) < c.down {
					return nil, refused
				}
				return &http.Response{StatusCode: 200, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
			}), func(cfg *Config) { cfg.Known, cfg.Probe = c.known, Request{Path: "/"} })
			ctx, cancel := context.WithTimeout(t.Context(), cmp.Or(c.limit, 24*time.Hour))
			defer cancel()
			if c.known {
				time.AfterFunc(30*time.Second, func() {
					if d, status := client.Failing(); d < 25*time.Second || status != 0 {
						t.Errorf("it fails for %v with status %d", d, status)
					}
				})
			}
			f, err := client.Do(ctx, Request{Path: "/"}, ok)
			took := time.Since(begun)
			if took < c.least || took > c.most || fmt.Sprintf("%T", err) != fmt.Sprintf("%T", c.err) || c.works != (f == nil) ||
				c.cancelled != (f != nil && f.Canceled()) {
				t.Errorf("%+v: %v, %v after %v", c, f, err, took)
			}
		})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
