package crawler

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	_ = flag.Set("rapid.checks", "40") // a flag on the command line still wins
	goleak.VerifyTestMain(m)
}

// memNet is a network in memory: one listener, whose connections are pipes. It
// works in a synctest bubble, where sockets do not.
type memNet struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newMemNet() *memNet {
	return &memNet{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (n *memNet) Accept() (net.Conn, error) {
	select {
	case c := <-n.conns:
		return c, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

func (n *memNet) Close() error {
	n.once.Do(func() { close(n.closed) })
	return nil
}

func (n *memNet) Addr() net.Addr { return memAddr{} }

func (n *memNet) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case n.conns <- theirs:
		return ours, nil
	case <-n.closed:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type memAddr struct{}

func (memAddr) Network() string { return "mem" }
func (memAddr) String() string  { return "mem" }

// serve runs a handler on a network in memory, until the test ends or the
// returned function is called, and returns a transport to it.
func serve(t testing.TB, h http.Handler) (*http.Transport, func()) {
	t.Helper()
	n := newMemNet()
	// A bubble's time is not that of the calls. The sandbox says its own.
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Date"] = nil
		h.ServeHTTP(w, r)
	})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(n)
	}()
	tr := newTransport(64)
	tr.Proxy = nil
	tr.DialContext = n.dial
	var once sync.Once
	stop := func() {
		once.Do(func() {
			tr.CloseIdleConnections()
			_ = s.Close()
			<-done
		})
	}
	t.Cleanup(stop)
	return tr, stop
}

// tester returns a crawler on a transport, for tests of its parts.
func tester(t testing.TB, tr http.RoundTripper, store Store, change func(*Config)) *Crawler {
	t.Helper()
	cfg := Config{BaseURL: "http://calls.test", Key: "k-0123456789", KeySource: "TEST_KEY", Transport: tr}
	if change != nil {
		change(&cfg)
	}
	c, err := New(cfg, store)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.budget.close)
	return c
}

// limiter is one limit of a service, and how it counts.
type limiter interface {
	full(now time.Time) bool // there is no room for a request now
	count(now time.Time)
}

// slidingLog keeps every request that it counts, and counts the ones of the last
// window, both ends included: the strictest way there is.
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

// tokenBucket holds limit tokens and fills in a window.
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

// gate is a service's limits: every request must pass all. A strict one counts
// the requests that it refuses, too.
type gate struct {
	mu       sync.Mutex
	strict   bool
	limiters []limiter
	counted  []time.Time // what was let in; of a strict one, all
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

// between counts the requests counted in a span after start.
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

func ok(answer) error { return nil }

// testLog logs into the test's own log.
func testLog(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func errorAs[E error](err error) (e E, ok bool) {
	ok = errors.As(err, &e)
	return e, ok
}
