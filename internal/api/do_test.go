package api

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

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
			var asked []time.Time
			c := tester(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if asked = append(asked, time.Now()); len(asked) <= len(pauses) {
					w.WriteHeader(500)
				}
			})), func(cfg *Config) { cfg.PerSecond = 1_000_000 })
			if f, err := c.Do(t.Context(), Request{Path: "/x", Kind: kind}, ok); f != nil || err != nil {
				t.Fatal(f, err)
			}
			for i, want := range pauses {
				if pause := asked[i+1].Sub(asked[i]); (pause > time.Millisecond) != want {
					t.Errorf("%v: pause %d is %v", kind, i+1, pause)
				}
			}
		})
	}
}
