package api

import (
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
