package crawler

import (
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

func newFixture(t *testing.T, opts sandbox.Options) *fixture {
	t.Helper()
	st := &fixture{clock: sandbox.NewManualClock(opts.World.Origin), store: newMemStore()}
	opts.Clock = st.clock
	var err error
	st.server, err = sandbox.New(opts)
	test.OK(t, err)
	return st
}

// run is one run, after which the store has what the sandbox has.
func (st *fixture) run(t *testing.T, change func(*Config)) Report {
	t.Helper()
	tr, stop := serve(t, st.server)
	defer stop()
	c := tester(t, tr, st.store, func(cfg *Config) {
		cfg.Key, cfg.Now = "sandbox-key", st.clock.Now
		if change != nil {
			change(cfg)
		}
	})
	r, err := c.Run(t.Context())
	test.OK(t, err)
	test.OK(t, st.differs())
	return r
}

// complete is a run that reports no problem.
func (st *fixture) complete(t *testing.T, change func(*Config)) Report {
	t.Helper()
	r := st.run(t, change)
	if !r.Complete() {
		t.Fatal(r.Problems, r.Aside)
	}
	return r
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
				st := newFixture(t, sandbox.Options{
					World: sandbox.Config{Seed: 7, Calls: 500, Origin: origin}, Limiter: algorithm,
					ContractOnly: contractOnly, Latency: 100 * time.Millisecond, Jitter: 400 * time.Millisecond,
				})
				r := st.complete(t, nil)
				due := int64(len(st.store.details))
				stats := st.server.Stats()
				minimum := stats.ByKind["page"] + due
				if stats.ByKind["page"] > 12 || r.Requests != minimum || stats.DetailsAgain > 0 {
					t.Errorf("%d requests, %d pages; %d details were due", r.Requests, stats.ByKind["page"], due)
				}
				time.Sleep(2 * time.Minute)
				second := st.run(t, nil)
				if second.DetailRequests != 0 || second.PageRequests > 4 {
					t.Errorf("second run: %d pages, %d details", second.PageRequests, second.DetailRequests)
				}
				if stats := st.server.Stats(); stats.AboveLimit > 0 || stats.RateLimited > 0 {
					t.Errorf("%d above a limit, %d refused", stats.AboveLimit, stats.RateLimited)
				}
			})
		}
	}
}
