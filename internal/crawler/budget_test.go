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
)

// The proof, tried: whatever way the service counts, wherever between sending
// and answering it does, and however many ask at once, it never counts one
// request too many; and next to nothing of what it allows is left unused.
func TestBudgetNeverOverAndFullyUsed(t *testing.T) {
	latencies := []struct{ low, high time.Duration }{
		{0, 0},
		{0, 100 * time.Millisecond},
		{100 * time.Millisecond, 500 * time.Millisecond},
		{500 * time.Millisecond, 500 * time.Millisecond},
		{0, 2 * time.Second},
		{2 * time.Second, 2 * time.Second},
	}
	for algorithm := range algorithms {
		for _, workers := range []int{1, 8, 64} {
			for _, l := range latencies {
				t.Run(fmt.Sprintf("%s/%d workers/%v to %v", algorithm, workers, l.low, l.high), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { tryBudget(t, algorithm, workers, l.low, l.high) })
				})
			}
		}
	}
}

func tryBudget(t *testing.T, algorithm string, workers int, low, high time.Duration) {
	const minutes = 21
	g := newGate(algorithm, 5, 120)
	rnd := rand.New(rand.NewPCG(1, uint64(workers)))
	var rmu sync.Mutex
	tr, stop := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		rmu.Lock()
		latency, part := low, rnd.Float64()
		if high > low {
			latency += time.Duration(rnd.Int64N(int64(high - low)))
		}
		rmu.Unlock()
		until := time.Duration(float64(latency) * part)
		time.Sleep(until)
		if !g.allow() {
			w.WriteHeader(http.StatusTooManyRequests)
		}
		time.Sleep(latency - until)
	}))
	defer stop()
	c := tester(t, tr, nil, nil)
	start := time.Now()
	ctx, cancel := context.WithDeadline(t.Context(), start.Add(minutes*time.Minute))
	defer cancel()
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for ctx.Err() == nil {
				_, _ = c.fetch(ctx, detail, "http://calls.test/", ok)
			}
		})
	}
	wg.Wait()
	if n := c.meter.progress.RateLimited; g.over > 0 || n > 0 {
		t.Errorf("%d requests over a limit, %d answers 429", g.over, n)
	}
	used := g.between(start, time.Minute, minutes*time.Minute)
	mean := (low + high).Seconds() / 2
	can := min(120/(60+mean), 5/(1+mean)) // a second, by the proof
	if workers == 1 && mean > 0 {
		can = min(can, 1/mean)
	}
	share := float64(used) / (can * 60 * (minutes - 1))
	whole := float64(used) / (120 * (minutes - 1))
	t.Logf("used %.2f %% of 120 a minute, %.2f %% of what the proof allows", 100*whole, 100*share)
	if share < 0.99 {
		t.Errorf("used %.2f %% of what the proof allows", 100*share)
	}
	if workers > 1 && high <= 500*time.Millisecond && whole < 0.99 {
		t.Errorf("used %.2f %% of 120 a minute", 100*whole)
	}
}
