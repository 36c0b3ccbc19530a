package sandbox

import (
	"context"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// TestLimitersKeepTheirLimits drives each algorithm with random arrivals and
// counts what it lets in by hand.
func TestLimitersKeepTheirLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		algorithm := rapid.SampledFrom([]Algorithm{SlidingLog, FixedWindow, TokenBucket}).Draw(t, "algorithm")
		perSecond := rapid.IntRange(1, 8).Draw(t, "perSecond")
		perMinute := rapid.IntRange(1, 200).Draw(t, "perMinute")
		l, err := newLimiter(algorithm, perSecond, perMinute)
		if err != nil {
			t.Fatal(err)
		}
		now := busy
		var in []time.Time
		for range 400 {
			now = now.Add(time.Duration(rapid.IntRange(0, 400).Draw(t, "gap")) * time.Millisecond)
			ok, wait := l.allow(now)
			if ok != (wait == 0) {
				t.Fatalf("let in %v, wait %v", ok, wait)
			}
			if should := room(algorithm, in, now, perSecond, time.Second) && room(algorithm, in, now, perMinute, time.Minute); algorithm != TokenBucket && ok != should {
				t.Fatalf("%s let in %v, want %v", algorithm, ok, should)
			}
			if ok {
				in = append(in, now)
			} else if rapid.Bool().Draw(t, "wait") {
				if now = now.Add(wait); !allowSoon(l, &now) {
					t.Fatalf("%s asked to wait %v and then refused", algorithm, wait)
				}
				in = append(in, now)
			}
		}
		if algorithm != TokenBucket {
			return
		}
		for i := range in { // no span of any length lets in more than the bucket and what flows into it
			for j := i; j < len(in); j++ {
				span := in[j].Sub(in[i])
				if n := j - i + 1; float64(n) > float64(perSecond)*(1+span.Seconds())+1e-6 || float64(n) > float64(perMinute)*(1+span.Minutes())+1e-6 {
					t.Fatalf("%d requests in %v", n, span)
				}
			}
		}
	})
}

// allowSoon asks again at now, and while the other window still refuses, later.
func allowSoon(l *limiter, now *time.Time) bool {
	for range 3 {
		ok, wait := l.allow(*now)
		if ok {
			return true
		}
		*now = now.Add(wait)
	}
	return false
}

// room counts by hand whether a window has room for one more.
func room(a Algorithm, in []time.Time, now time.Time, limit int, span time.Duration) bool {
	n := 0
	for _, at := range in {
		if a == FixedWindow && at.Truncate(span).Equal(now.Truncate(span)) || a == SlidingLog && now.Sub(at) < span {
			n++
		}
	}
	return n < limit
}

func TestLimiterRefusesUnknownAlgorithm(t *testing.T) {
	if _, err := newLimiter("leaky", 1, 1); err == nil {
		t.Error("no error")
	}
}

// TestServerLimitsOverHTTP runs a client against the server in simulated time:
// 5 requests a second are let in, the 6th gets 429 with a time to wait, and a
// client that keeps to it is never refused again.
func TestServerLimitsOverHTTP(t *testing.T) {
	for _, algorithm := range []Algorithm{SlidingLog, FixedWindow, TokenBucket} {
		synctest.Test(t, func(t *testing.T) {
			s, err := New(Options{World: Config{Calls: 50, Origin: busy}, Limiter: algorithm})
			if err != nil {
				t.Fatal(err)
			}
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
			if statuses[200] != 245 || stats.AboveLimit != 3 || stats.RateLimited != 3 || stats.MaxPerSecond != 8 || stats.MaxPerMinute != 120 || stats.Requests != 248 {
				t.Errorf("%s: %v %+v", algorithm, statuses, stats)
			}
		})
	}
}

// TestLatencyAndServeInSimulatedTime runs the whole net/http stack over pipes.
func TestLatencyAndServeInSimulatedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Options{World: Config{Calls: 50, Origin: busy}, Latency: 2 * time.Second, Jitter: time.Second, PerSecond: -1, PerMinute: -1})
		if err != nil {
			t.Fatal(err)
		}
		l := newPipes()
		running := Serve(t.Context(), l, s)
		client := &http.Client{Transport: &http.Transport{DialContext: l.dial}}
		for range 20 {
			start := time.Now()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://sandbox/v3/calls", nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer sandbox-key")
			a, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = a.Body.Close()
			if took := time.Since(start); took < 2*time.Second || took > 3*time.Second || a.StatusCode != http.StatusOK {
				t.Errorf("%d after %v", a.StatusCode, took)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://sandbox/v3/calls", nil)
		if _, err := client.Do(r); err == nil {
			t.Error("no time-out")
		}
		client.CloseIdleConnections()
		if err := running.Close(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if n := s.Stats().Requests; n != 21 {
			t.Errorf("%d requests counted, want 21: one that is given up arrives too", n)
		}
	})
}

// pipes is a listener in memory.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func newPipes() *pipes { return &pipes{make(chan net.Conn), make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	select {
	case <-p.closed:
	default:
		close(p.closed)
	}
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
