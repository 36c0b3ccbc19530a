package sandbox

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"callhouse/internal/sandbox/limit"
	"callhouse/internal/test"
)

// TestServerLimitsOverHTTP runs a client against the server in simulated time: 5 requests a second are admitted,
// the 6th gets 429 with a waiting time, and a client that respects it is never refused again.
func TestServerLimitsOverHTTP(t *testing.T) {
	for _, algorithm := range []limit.Algorithm{limit.SlidingLog, limit.FixedWindow, limit.TokenBucket} {
		synctest.Test(t, func(t *testing.T) {
			s, err := New(Options{World: Config{Calls: 50, Origin: busy}, Limiter: algorithm})
			test.OK(t, err)
			statuses := map[int]int{}
			send := func() *http.Response {
				w := do(s, "GET", "/v3/calls?limit=1")
				statuses[w.Code]++
				return w.Result()
			}
			for range 8 {
				if r := send(); r.StatusCode == 429 && r.Header.Get("Retry-After") != "1" {
					t.Errorf("%s: Retry-After %q", algorithm, r.Header.Get("Retry-After"))
				}
			}
			if statuses[200] != 5 || statuses[429] != 3 {
				t.Errorf("%s: %v", algorithm, statuses)
			}
			time.Sleep(time.Minute)
			for range 240 {
				time.Sleep(500 * time.Millisecond)
				send()
			}
			stats := s.Stats()
			if statuses[200] != 245 || stats.AboveLimit != 3 || stats.RateLimited != 3 || stats.MaxPerSecond != 8 ||
				stats.MaxPerMinute != 120 || stats.Requests != 248 {
				t.Errorf("%s: %v %+v", algorithm, statuses, stats)
			}
		})
	}
}
