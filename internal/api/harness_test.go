package api

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"callhouse/internal/api/apitest"
	"callhouse/internal/loopback"
	"callhouse/internal/test"
)

func TestMain(m *testing.M) {
	loopback.Only()
	goleak.VerifyTestMain(m)
}

// serve answers requests with h, on an in-memory network.
func serve(t testing.TB, h http.Handler) http.RoundTripper {
	tr, _ := apitest.Serve(t, h)
	return tr
}

// tester returns a client on a transport.
func tester(t testing.TB, tr http.RoundTripper, change func(*Config)) *Client {
	t.Helper()
	cfg := Config{
		BaseURL: "http://calls.test", Key: "k-0123456789", KeySource: "TEST_KEY", Transport: tr,
		PerSecond: 5, PerMinute: 120, Share: 1,
		AnyClock: true, // simulated time differs from the service's
	}
	if change != nil {
		change(&cfg)
	}
	c, err := New(cfg)
	test.OK(t, err)
	t.Cleanup(c.Close)
	return c
}

// limiter is one limit of a service, and how it counts.
type limiter interface {
	full(now time.Time) bool // no room for a request now
	count(now time.Time)
}

// slidingLog counts the requests of the last window, both ends included: the strictest possible
// count.
type slidingLog struct {
	limit  int
	window time.Duration
	log    []time.Time
}

func (l *slidingLog) full(now time.Time) bool {
	for len(l.log) > 0 && now.Sub(l.log[0]) > l.window {
		l.log = l.log[1:]
	}
	return len(l.log) >= l.limit
}

func (l *slidingLog) count(now time.Time) { l.log = append(l.log, now) }

// fixedWindow counts by the clock.
type fixedWindow struct {
	limit  int
	window time.Duration
	offset time.Duration
	begun  time.Time
	n      int
}

func (l *fixedWindow) full(now time.Time) bool {
	begun := now.Add(l.offset).Truncate(l.window)
	if begun != l.begun {
		l.begun, l.n = begun, 0
	}
	return l.n >= l.limit
}

func (l *fixedWindow) count(time.Time) { l.n++ }

// tokenBucket holds limit tokens and fills within a window.
type tokenBucket struct {
	limit  int
	window time.Duration
	tokens float64
	last   time.Time
}

func (l *tokenBucket) full(now time.Time) bool {
	if l.last.IsZero() {
		l.tokens = float64(l.limit)
	} else {
		l.tokens = min(float64(l.limit), l.tokens+float64(l.limit)*now.Sub(l.last).Seconds()/l.window.Seconds())
	}
	l.last = now
	return l.tokens < 1-1e-9
}

func (l *tokenBucket) count(time.Time) { l.tokens-- }

// gate is a service's limits: every request must pass all. A strict one also counts refused
// requests.
type gate struct {
	mu       sync.Mutex
	strict   bool
	limiters []limiter
	counted  []time.Time // admitted requests; of a strict gate, all
	over     int
}

var algorithms = map[string]func(limit int, window time.Duration) limiter{
	"sliding log":  func(n int, w time.Duration) limiter { return &slidingLog{limit: n, window: w} },
	"fixed window": func(n int, w time.Duration) limiter { return &fixedWindow{limit: n, window: w, offset: w / 3} },
	"token bucket": func(n int, w time.Duration) limiter { return &tokenBucket{limit: n, window: w} },
}

func newGate(algorithm string, second, minute int) *gate {
	f := algorithms[algorithm]
	return &gate{limiters: []limiter{f(second, time.Second), f(minute, time.Minute)}, strict: true}
}

func (g *gate) allow() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	ok := true
	for _, l := range g.limiters {
		ok = !l.full(now) && ok
	}
	if ok || g.strict {
		g.counted = append(g.counted, now)
		for _, l := range g.limiters {
			l.count(now)
		}
	}
	if !ok {
		g.over++
	}
	return ok
}

// between counts the requests in a span after start.
func (g *gate) between(start time.Time, from, to time.Duration) (n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, at := range g.counted {
		if d := at.Sub(start); d >= from && d < to {
			n++
		}
	}
	return n
}

func ok(*Answer) error { return nil }
