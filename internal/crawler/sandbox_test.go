package crawler

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
	"callhouse/internal/sandbox/limit"
	"callhouse/internal/test"
)

// stand is the sandbox behind a transport, in simulated time.
type stand struct {
	server *sandbox.Server
	clock  *sandbox.ManualClock
	store  *memStore
	marked bool // a byte order mark precedes every answer
}

func newStand(opts sandbox.Options) (*stand, error) {
	st := &stand{clock: sandbox.NewManualClock(opts.World.Origin), store: newMemStore()}
	opts.Clock = st.clock
	var err error
	st.server, err = sandbox.New(opts)
	return st, err
}

// run is one run, interrupted after stopAfter requests, if not 0.
func (st *stand) run(t *testing.T, stopAfter int64, change func(*Config)) (Report, error) {
	var h http.Handler = st.server
	if st.marked {
		h = marked(h)
	}
	tr, stop := serve(t, h)
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
func (st *stand) differs() error {
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
				st, err := newStand(sandbox.Options{
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

// The first night of a real organisation: everything except the transcripts of older calls is
// stored after a hundredth as many requests as there are calls, at 116 a minute. With
// CALLHOUSE_SOAK there are 201,312 calls, otherwise a tenth of that.
func TestSandboxFirstNight(t *testing.T) {
	calls := soakCalls()
	synctest.Test(t, func(t *testing.T) {
		st, err := newStand(sandbox.Options{
			World: sandbox.Config{Seed: 1, Calls: calls, Days: 365, Origin: origin}, Latency: 300 * time.Millisecond,
		})
		test.OK(t, err)
		start := time.Now()
		var r Report
		recent := calls / 365 * 4 // transcripts of the last three days come first
		r, err = st.run(t, 0, func(cfg *Config) { cfg.MaxDuration = time.Duration(calls/100+recent)*time.Minute/116 + 20*time.Second })
		test.OK(t, err)
		want := st.server.World().Count(origin)
		if int64(len(st.store.items)) != want || r.PageRequests > (want+99)/100*51/50+1 {
			t.Errorf("%d of %d calls after %d pages and %v", len(st.store.items), want, r.PageRequests, time.Since(start))
		}
		t.Logf("%d calls, %d pages, %d details in %v; budget used %.1f %%", len(st.store.items), r.PageRequests, r.DetailRequests, time.Since(start), r.BudgetUsed)
	})
}

// trouble is a set of random disturbances for a property test.
type trouble struct {
	opts    sandbox.Options
	runs    []troubledRun
	rate    float64
	kinds   []sandbox.FaultKind
	workers int
	seed    uint64
	step    time.Duration // how far each request advances the clock
}

type troubledRun struct {
	stopAfter int64
	later     time.Duration // until the next one
}

var drawTrouble = rapid.Custom(func(t *rapid.T) trouble {
	kinds := []sandbox.FaultKind{
		"204", "302", "400", "401", "403", "404", "405", "409", "429", "500", "503", sandbox.Fault429Bare, sandbox.Fault429Date,
		sandbox.Fault429Malformed, "429-fraction", "429-long", "503-long", sandbox.Fault503HTML, sandbox.FaultReset, sandbox.FaultCut,
		sandbox.FaultTruncated, sandbox.FaultNonJSON, sandbox.FaultMarked, sandbox.FaultSlow, sandbox.FaultHang, sandbox.FaultDuplicate,
		sandbox.FaultShort, sandbox.FaultEmpty, sandbox.FaultLoop, sandbox.FaultExpired, sandbox.FaultTotal, sandbox.FaultDisorder,
		sandbox.FaultEarlyEnd,
	}
	tr := trouble{
		opts: sandbox.Options{
			World: sandbox.Config{
				Seed:            rapid.Uint64().Draw(t, "world"),
				Calls:           rapid.Int64Range(0, 900).Draw(t, "calls"),
				Days:            rapid.IntRange(1, 40).Draw(t, "days"),
				TieRate:         rapid.SampledFrom([]float64{-1, 0.05, 0.8, 0.99}).Draw(t, "ties"),
				LateVisibleRate: rapid.SampledFrom([]float64{0, 0.1}).Draw(t, "late"),
				Origin:          origin,
			},
			ContractOnly:    rapid.Bool().Draw(t, "contract only"),
			ThinList:        rapid.Bool().Draw(t, "thin"),
			OffsetPaging:    rapid.Bool().Draw(t, "offset"),
			InclusiveBounds: rapid.Bool().Draw(t, "inclusive"),
			CursorTTL:       rapid.SampledFrom([]time.Duration{0, 0, time.Minute}).Draw(t, "ttl"),
		},
		rate:    rapid.SampledFrom([]float64{0, 0.02, 0.1, 0.3}).Draw(t, "rate"),
		kinds:   rapid.SliceOfNDistinct(rapid.SampledFrom(kinds), 1, 6, rapid.ID[sandbox.FaultKind]).Draw(t, "kinds"),
		workers: rapid.SampledFrom([]int{1, 8, 64}).Draw(t, "workers"),
		seed:    rapid.Uint64().Draw(t, "faults"),
		step:    rapid.SampledFrom([]time.Duration{0, time.Second, time.Minute}).Draw(t, "step"),
	}
	tr.opts.Lists = rapid.SampledFrom([]sandbox.Lists{
		{}, {}, {}, {Depth: 100}, {Most: 100}, {Extra: -5}, {Null: true}, {Last: "0"}, {Last: "false"}, {Last: `""`}, {Last: "same"},
	}).Draw(t, "lists")
	if l := tr.opts.Lists; l.Depth > 0 || l.Most > 0 || l.Extra < 0 { // only start_at_before leads beyond such an end
		tr.opts.ContractOnly, tr.opts.World.TieRate = false, min(tr.opts.World.TieRate, 0.05)
	}
	if !tr.opts.OffsetPaging { // with it, a call that vanishes while another arrives is undetectable
		tr.opts.World.DeleteRate = rapid.SampledFrom([]float64{0, 0.1}).Draw(t, "deleted")
	}
	for range rapid.IntRange(1, 5).Draw(t, "runs") {
		tr.runs = append(tr.runs, troubledRun{
			stopAfter: rapid.Int64Range(0, 30).Draw(t, "stop"),
			later:     time.Duration(rapid.Int64Range(1, int64(12*24*time.Hour)).Draw(t, "later")),
		})
	}
	return tr
})

// Whatever happens to the runs, every one ends, none requests a call's record again, and after an
// undisturbed one the store has every call.
func TestSandboxInTrouble(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tr := drawTrouble.Draw(rt, "trouble")
		var err error
		synctest.Test(t, func(t *testing.T) { err = tr.try(t) })
		test.OK(rt, err)
	})
}

func (tr *trouble) try(t *testing.T) error {
	rnd := rand.New(rand.NewPCG(tr.seed, 0))
	var mu sync.Mutex
	calm := false
	var st *stand
	tr.opts.Inject = func(_ int64, r sandbox.Request) sandbox.FaultKind {
		mu.Lock()
		defer mu.Unlock()
		st.clock.Advance(tr.step)
		if calm || rnd.Float64() >= tr.rate {
			return ""
		}
		k := tr.kinds[rnd.IntN(len(tr.kinds))]
		if k == "404" && r.Kind == "detail" {
			return "" // that is correct: the record is gone
		}
		return k
	}
	st, err := newStand(tr.opts)
	if err != nil {
		return err
	}
	for _, run := range tr.runs {
		began := time.Now()
		_, _ = st.run(t, run.stopAfter, func(cfg *Config) { cfg.Workers = tr.workers })
		if took := time.Since(began); took > 20*time.Hour {
			return fmt.Errorf("a run took %v", took)
		}
		time.Sleep(2 * time.Minute)
		st.clock.Advance(run.later)
	}
	mu.Lock()
	calm, tr.step = true, 0
	mu.Unlock()
	r, err := st.run(t, 0, func(cfg *Config) { cfg.Workers = tr.workers })
	if err != nil {
		return fmt.Errorf("the last run: %w", err)
	}
	if !r.Complete() {
		return fmt.Errorf("the last run is not complete: %q %v", r.Problems, r.Aside)
	}
	return st.differs()
}
