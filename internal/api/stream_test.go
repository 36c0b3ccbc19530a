package api

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"callhouse/internal/sandbox/limit"
)

var testAllowance = Allowance{Failures: 12, Time: 2 * time.Minute}

// misbehaviours are answers of an operation that fails while all others work.
var misbehaviours = map[string]func(w http.ResponseWriter, r *http.Request){
	"429":              func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(429) },
	"429, in a minute": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Retry-After", "60"); w.WriteHeader(429) },
	"429, in an hour": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3500")
		w.WriteHeader(429)
	},
	"503": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) },
	"503, in an hour": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3500")
		w.WriteHeader(503)
	},
	"500":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
	"401":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) },
	"403":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(403) },
	"hangs": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	"cut": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "9")
		fmt.Fprint(w, "{")
	},
}

// However an optional operation fails, its stream ends after few requests, and other requests, even
// concurrent ones, are as fast as without it.
func TestStreamAffectsNoOthers(t *testing.T) {
	for name, answer := range misbehaviours {
		synctest.Test(t, func(t *testing.T) {
			var side atomic.Int64
			c := tester(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasPrefix(r.URL.Path, "/side") {
					side.Add(1)
					answer(w, r)
				}
			})), func(cfg *Config) { cfg.Probe = Request{Path: "/list"} })
			c.health.good()
			s := NewStream(testAllowance)
			var others sync.WaitGroup
			begin := time.Now()
			others.Go(func() {
				for range 40 {
					if f, err := c.Do(t.Context(), Request{Path: "/side", Kind: Side, Stream: s}, ok); err != nil || f == nil {
						t.Errorf("%s: %v, %v", name, f, err)
					}
				}
			})
			var slowest time.Duration
			for range 150 {
				sentAt := time.Now()
				if f, err := c.Do(t.Context(), Request{Path: "/call", Kind: Record}, ok); f != nil || err != nil {
					t.Errorf("%s: another request: %v, %v", name, f, err)
				}
				slowest = max(slowest, time.Since(sentAt))
			}
			// 150 requests take 90 seconds at a run's initial pace.
			if took := time.Since(begin); took > 120*time.Second || slowest > 20*time.Second {
				t.Errorf("%s: 150 other requests took %v, one of them %v", name, took, slowest)
			}
			others.Wait()
			if side.Load() > int64(testAllowance.Failures) || s.Over() == nil {
				t.Errorf("%s: %d requests, over: %v", name, side.Load(), s.Over())
			}
			if took := time.Since(begin); took > 5*time.Minute {
				t.Errorf("%s: the stream ended after %v", name, took)
			}
			if err := c.Verdict(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// Without other requests, a stream sends one or two probes to check whether other operations work.
func TestSingleStreamProbesTheService(t *testing.T) {
	for name, answer := range misbehaviours {
		synctest.Test(t, func(t *testing.T) {
			var side, probes atomic.Int64
			c := tester(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/list" {
					probes.Add(1)
					return
				}
				side.Add(1)
				answer(w, r)
			})), func(cfg *Config) { cfg.Probe = Request{Path: "/list"} })
			s := NewStream(testAllowance)
			time.Sleep(time.Hour) // since the last success
			begin := time.Now()
			for s.Over() == nil {
				if _, err := c.Do(t.Context(), Request{Path: "/side", Kind: Side, Stream: s}, ok); err != nil {
					t.Fatal(name, err)
				}
			}
			if side.Load() > int64(testAllowance.Failures) || probes.Load() > 4 || time.Since(begin) > 4*time.Minute {
				t.Errorf("%s: %d requests and %d probes in %v", name, side.Load(), probes.Load(), time.Since(begin))
			}
			sent := side.Load()
			if f, err := c.Do(t.Context(), Request{Path: "/side", Kind: Side, Stream: s}, ok); f == nil || err != nil || side.Load() > sent {
				t.Errorf("%s: after its end: %v, %v", name, f, err)
			}
		})
	}
}

// A failure of the whole service does not count against the stream: it waits and continues. If that
// takes too long, or the key is refused, the run ends as without the stream.
func TestStreamWhileTheServiceFails(t *testing.T) {
	for name, tc := range map[string]struct {
		status int
		lasts  time.Duration
		want   any
	}{
		"down for a while":    {503, 3 * time.Minute, nil},
		"limited for a while": {429, 3 * time.Minute, nil},
		"down":                {500, 24 * time.Hour, new(*ServiceDownError)},
		"limited":             {429, 24 * time.Hour, new(*ServiceDownError)},
		"key refused":         {401, 24 * time.Hour, new(*AuthError)},
	} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			c := tester(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if at := time.Since(begin) % (21 * time.Minute); at > time.Minute && at < time.Minute+tc.lasts { // and once more
					w.WriteHeader(tc.status)
				}
			})), func(cfg *Config) { cfg.Probe = Request{Path: "/list"} })
			s := NewStream(testAllowance)
			var err error
			for err == nil && time.Since(begin) < 30*time.Minute {
				_, err = c.Do(t.Context(), Request{Path: "/side", Kind: Side, Stream: s}, ok)
			}
			if tc.want == nil && (err != nil || s.Over() != nil) || tc.want != nil && !errors.As(err, tc.want) {
				t.Errorf("%s: error %v, over: %v", name, err, s.Over())
			}
		})
	}
}

// The run yields to a neighbour even if only requests of a stream get 429s, and the stream does not
// end because of them.
func TestStreamYieldsToNeighbours(t *testing.T) {
	live := func(s *Stream) (ours int64, theirs, refused int) {
		synctest.Test(t, func(t *testing.T) {
			g := newGate(t, limit.SlidingLog)
			c := tester(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				time.Sleep(150 * time.Millisecond)
				if !g.allow() {
					w.WriteHeader(429)
				}
			})), func(cfg *Config) { cfg.Probe = Request{Path: "/list"} })
			begin := time.Now()
			done := make(chan struct{})
			go func() {
				defer close(done)
				for ; time.Since(begin) < 15*time.Minute; theirs++ {
					time.Sleep(1030 * time.Millisecond)
					if !g.allow() {
						refused++
					}
				}
			}()
			for time.Since(begin) < 15*time.Minute {
				if f, err := c.Do(t.Context(), Request{Path: "/side", Kind: Side, Stream: s}, ok); f != nil || err != nil {
					t.Fatalf("after %v: %v, %v", time.Since(begin), f, err)
				}
			}
			<-done
			ours = c.Counts().Status2xx
		})
		return ours, theirs, refused
	}
	plain, _, shutOut := live(nil)
	ours, theirs, refused := live(NewStream(testAllowance))
	t.Logf("%d requests beside %d, of which %d were refused; without a stream %d, and %d", ours, theirs, refused, plain, shutOut)
	if refused > shutOut+theirs/50 || ours < plain*9/10 {
		t.Error("a stream yields less than others, or too much")
	}
}
