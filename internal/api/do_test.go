package api

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
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
				if err != nil || f == nil || f.class != timedOut || n.Load() != 3 {
					t.Errorf("%d attempts, %v, %v", n.Load(), f, err)
				}
			})
		})
	}
}
