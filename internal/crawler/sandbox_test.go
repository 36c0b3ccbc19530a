package crawler

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
	"callhouse/internal/sandbox/limit"
	"callhouse/internal/test"
)

// fixture is the sandbox behind a transport, in simulated time.
type fixture struct {
	server *sandbox.Server
	clock  *sandbox.ManualClock
	store  *memStore
}

func newFixture(opts sandbox.Options) (*fixture, error) {
	st := &fixture{clock: sandbox.NewManualClock(opts.World.Origin), store: newMemStore()}
	opts.Clock = st.clock
	var err error
	st.server, err = sandbox.New(opts)
	return st, err
}

// run is one run, interrupted after stopAfter requests, if not 0.
func (st *fixture) run(t *testing.T, stopAfter int64, change func(*Config)) (Report, error) {
	tr, stop := serve(t, st.server)
	defer stop()
	c := tester(t, tr, st.store, func(cfg *Config) {
		cfg.Key, cfg.Now = "sandbox-key", st.clock.Now
		if change != nil {
			change(cfg)
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if stopAfter > 0 {
		go func() {
			for ctx.Err() == nil && c.Progress().Requests < stopAfter {
				time.Sleep(300 * time.Millisecond)
			}
			cancel()
		}()
	}
	return c.Run(ctx)
}

// differs returns how the store differs from the sandbox.
func (st *fixture) differs() error {
	calls, ended := 0, 0
	for v := range st.server.World().Visible(st.clock.Now()) {
		id := st.server.World().ID(v.Index).String()
		calls++
		if _, ok := st.store.items[id]; !ok {
			return fmt.Errorf("call %s is not in the store", id)
		}
		if v.Status != "queued" && v.Status != "ongoing" && !v.OptedOut {
			ended++
			if st.store.details[id]+st.store.missing[id] == 0 {
				return fmt.Errorf("call %s has no detail", id)
			}
		}
	}
	for id, n := range st.store.details {
		if n != 1 {
			return fmt.Errorf("the detail of %s was fetched %d times", id, n)
		}
	}
	return nil
}

var origin = time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)

// A first run stores every call and requests every due record once. A second one without changes
// costs its window's pages. However the sandbox counts, it counts no request above the limit.
func TestSandboxFirstAndSecondRun(t *testing.T) {
	tried, n := longtest.Each(3), 0
	for _, contractOnly := range []bool{false, true} {
		for _, algorithm := range []limit.Algorithm{limit.SlidingLog, limit.FixedWindow, limit.TokenBucket} {
			if n++; !tried(n - 1) {
				continue
			}
			synctest.Test(t, func(t *testing.T) {
				st, err := newFixture(sandbox.Options{
					World: sandbox.Config{Seed: 7, Calls: 1000, Origin: origin}, Limiter: algorithm,
					ContractOnly: contractOnly, Latency: 100 * time.Millisecond, Jitter: 400 * time.Millisecond,
				})
				test.OK(t, err)
				r, err := st.run(t, 0, nil)
				if err == nil {
					err = st.differs()
				}
				if err != nil || !r.Complete() {
					t.Fatal(err, r.Problems, r.Aside)
				}
				due := int64(len(st.store.details))
				stats := st.server.Stats()
				minimum := stats.ByKind["page"] + due
				if stats.ByKind["page"] > 12 || r.Requests != minimum || stats.DetailsAgain > 0 {
					t.Errorf("%d requests, %d pages; %d details were due", r.Requests, stats.ByKind["page"], due)
				}
				time.Sleep(2 * time.Minute)
				second, err := st.run(t, 0, nil)
				if err != nil || second.DetailRequests != 0 || second.PageRequests > 4 {
					t.Errorf("second run: %d pages, %d details, %v", second.PageRequests, second.DetailRequests, err)
				}
				if stats := st.server.Stats(); stats.AboveLimit > 0 || stats.RateLimited > 0 {
					t.Errorf("%d above a limit, %d refused", stats.AboveLimit, stats.RateLimited)
				}
			})
		}
	}
}
