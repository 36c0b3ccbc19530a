package api

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"callhouse/internal/sandbox/limit"
	"callhouse/internal/test"
)

// By whichever algorithm a service counts the requests that arrive, at any latency, and however many
// are concurrent, it never counts one above the limit, and almost all of the limit is used.
func TestBudgetNeverOverAndFullyUsed(t *testing.T) {
	latencies := []struct{ low, high time.Duration }{
		{0, 0},
		{0, 100 * time.Millisecond},
		{100 * time.Millisecond, 500 * time.Millisecond},
		{500 * time.Millisecond, 500 * time.Millisecond},
		{0, 2 * time.Second},
		{2 * time.Second, 2 * time.Second},
	}
	for _, algorithm := range everyAlgorithm {
		for _, workers := range []int{1, 8, 64} {
			for _, l := range latencies {
				t.Run(fmt.Sprintf("%s/%d workers/%v to %v", algorithm, workers, l.low, l.high), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { tryBudget(t, algorithm, workers, l.low, l.high) })
				})
			}
		}
	}
}

func tryBudget(t *testing.T, algorithm limit.Algorithm, workers int, low, high time.Duration) {
	const minutes = 6
	g := newGate(t, algorithm)
	rnd := rand.New(rand.NewPCG(1, uint64(workers)))
	var rmu sync.Mutex
	tr := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		rmu.Lock()
		latency := low
		if high > low {
			latency += time.Duration(rnd.Int64N(int64(high - low)))
		}
		until := min(latency, time.Duration(rnd.Int64N(int64(onTheWay))))
		rmu.Unlock()
		time.Sleep(until)
		if !g.allow() {
			w.WriteHeader(http.StatusTooManyRequests)
		}
		time.Sleep(latency - until)
	}))
	c := tester(t, tr, nil)
	start := time.Now()
	ctx, cancel := context.WithDeadline(t.Context(), start.Add(minutes*time.Minute))
	defer cancel()
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for ctx.Err() == nil {
				_, _ = c.Do(ctx, Request{Path: "/", Kind: Record}, ok)
			}
		})
	}
	wg.Wait()
	if n := c.Counts().RateLimited; g.over > 0 || n > 0 {
		t.Errorf("%d requests over a limit, %d answers 429", g.over, n)
	}
	used := g.between(start, time.Minute, minutes*time.Minute)
	mean := (low + high).Seconds() / 2
	can := 116 / (60 + mean) // per second, without the spare part
	if workers == 1 && mean > 0 {
		can = min(can, 1/mean)
	}
	share := float64(used) / (can * 60 * (minutes - 1))
	whole := float64(used) / (120 * (minutes - 1))
	t.Logf("used %.2f %% of 120 a minute, %.2f %% of what the rule allows", 100*whole, 100*share)
	if share < 0.97 {
		t.Errorf("used %.2f %% of what the rule allows", 100*share)
	}
	if workers > 1 && whole < 0.92 {
		t.Errorf("used %.2f %% of 120 a minute", 100*whole)
	}
}

// spend spends the budget with many workers until the deadline. do takes as long as the request and
// reports whether it was admitted.
func spend(ctx context.Context, b *budget, until time.Time, workers int, do func() bool) (refused int) {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	var wg sync.WaitGroup
	var mu sync.Mutex
	for range workers {
		wg.Go(func() {
			for {
				tk, err := b.acquire(ctx, 0)
				if err != nil {
					return
				}
				ok := do()
				b.answer(tk)
				if !ok {
					b.limited(tk, 0)
					mu.Lock()
					refused++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return refused
}

// ring is the ledger, as in the command.
type ring struct {
	mu     sync.Mutex
	spends []Spend
}

func (r *ring) note(slot int, s Spend) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spends[slot] = s
}

// Consecutive runs, some killed within a request, count as one run for the service.
func TestBudgetRemembersAcrossRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, limit.SlidingLog)
		var recall []Spend
		start := time.Now()
		for run := range 12 {
			r := &ring{spends: make([]Spend, max(120, len(recall)))}
			b := newBudget(5, 120, recall, r.note)
			killed := run%3 == 1
			spend(t.Context(), b, time.Now().Add(time.Duration(run+1)*3*time.Second), 8, func() bool {
				time.Sleep(300 * time.Millisecond)
				return g.allow()
			})
			if killed { // with requests in flight, counted by the service as it dies
				for range 4 {
					if tk, err := b.acquire(t.Context(), 0); err == nil {
						_ = tk
						time.Sleep(50 * time.Millisecond)
						g.allow()
					}
				}
			}
			recall = nil
			for _, s := range r.spends { // like a file: no monotonic clock
				if !s.Sent.IsZero() {
					recall = append(recall, Spend{s.Sent.Round(0), s.Answered.Round(0)})
				}
			}
		}
		if g.over > 0 {
			t.Errorf("%d requests over a limit", g.over)
		}
		if n := len(g.counted); time.Since(start) > 3*time.Minute && n < 200 {
			t.Errorf("only %d requests in %v", n, time.Since(start))
		}
	})
}

func TestBudgetRecallsOddSpends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		spends := []Spend{
			{},
			{Sent: now.Add(-24 * time.Hour)}, // in flight, long ago
			{Sent: now.Add(-2 * time.Minute), Answered: now.Add(-time.Hour)}, // answered
			{Sent: now.Add(time.Hour), Answered: now.Add(time.Hour)},         // a clock set back
			{Sent: now.Add(-2 * time.Minute)},                                // in flight: perhaps until just now
		}
		for range 300 { // more than this run's limit
			spends = append(spends, Spend{Sent: now.Add(-10 * time.Second), Answered: now.Add(-9 * time.Second)})
		}
		b := newBudget(5, 120, spends, nil)
		if held, _, _ := b.use(); held != 302 {
			t.Errorf("%d slots held", held)
		}
		_, err := b.acquire(t.Context(), 0)
		test.OK(t, err)
		if waited := time.Since(now); waited < 51*time.Second || waited > 52*time.Second {
			t.Errorf("waited %v", waited)
		}
	})
}

func TestBudgetIsFairAndGivesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(1, 1, nil, nil)
		first, err := b.acquire(t.Context(), 0)
		test.OK(t, err)
		var order []int
		var mu sync.Mutex
		var wg sync.WaitGroup
		for i := range 6 {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if i%2 == 1 {
				time.AfterFunc(time.Minute, cancel) // before its turn
			}
			wg.Go(func() {
				tk, err := b.acquire(ctx, 0)
				if err != nil {
					return
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				time.Sleep(10 * time.Millisecond)
				b.answer(tk)
			})
			synctest.Wait()
		}
		time.Sleep(2 * time.Minute)
		b.answer(first)
		wg.Wait() // a minute each
		test.Same(t, "[0 2 4]", fmt.Sprint(order), "order")
		time.Sleep(time.Hour)
		tk, err := b.acquire(t.Context(), 0)
		test.OK(t, err)
		b.answer(tk)
		time.Sleep(2 * time.Minute)
		if held, _, _ := b.use(); held != 0 || len(b.free) != 1 {
			t.Errorf("%d held, %d free", held, len(b.free))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := b.acquire(ctx, 0); err == nil {
			t.Error("a cancelled request got in")
		}
	})
}

func TestShare(t *testing.T) {
	for _, tc := range []struct {
		share          float64
		second, minute int
	}{{1, 5, 120}, {0.5, 2, 60}, {0.1, 1, 12}, {0.001, 1, 1}, {0.6, 3, 72}} {
		cfg := Config{PerSecond: 5, PerMinute: 120, Share: tc.share}
		if s, m := cfg.Limits(); s != tc.second || m != tc.minute {
			t.Errorf("share %v: %d and %d", tc.share, s, m)
		}
	}
}

// A request of a higher priority is sent before those that waited longer.
func TestPriorities(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(1, 60, nil, nil)
		var order []Priority
		var wg sync.WaitGroup
		for _, p := range []Priority{Spare, Older, Newest, Older, Recent} {
			wg.Go(func() {
				tk, err := b.acquire(t.Context(), p)
				if err != nil {
					t.Error(err)
					return
				}
				order = append(order, p)
				b.answer(tk)
			})
			synctest.Wait()
		}
		wg.Wait()
		test.Same(t, []Priority{Spare, Newest, Recent, Older, Older}, order, "order")
	})
}
