package api

import (
	"net/http"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"callhouse/internal/api/apitest"
	"callhouse/internal/loopback"
	"callhouse/internal/sandbox/limit"
	"callhouse/internal/test"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // the tests use little memory
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

// gate is a service's limits.
type gate struct {
	mu      sync.Mutex
	limits  *limit.Limiter
	counted []time.Time // admitted requests
	over    int
}

func newGate(t testing.TB, a limit.Algorithm) *gate {
	t.Helper()
	limits, err := limit.New(a, 5, 120)
	test.OK(t, err)
	return &gate{limits: limits}
}

func (g *gate) allow() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	ok, _ := g.limits.Allow(now.Add(time.Minute / 3)) // its windows begin at other times than the run
	if ok {
		g.counted = append(g.counted, now)
	} else {
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
