package api

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"callhouse/internal/longtest"
	"callhouse/internal/sandbox/limit"
)

// setting is a service, including its other clients, during the first four minutes of a run.
type setting struct {
	algorithm limit.Algorithm
	mean      time.Duration // latency
	vary      float64       // maximum difference from the mean, as a fraction of it
	moment    float64       // when it counts a request: 0 as it is sent, 1 as its answer begins; negative: at random
	faults    float64       // share of requests that fail; a sixth of them with a 429 that asks for 1 to 3 s
	every     time.Duration // interval of another client's requests, from a minute before; 0: none
	drift     float64       // of the service's clock
}

// fourMinutes returns the number of admitted requests, and of those refused within the limits.
func (s setting) fourMinutes(t *testing.T, seed uint64) (out outcome) {
	synctest.Test(t, func(t *testing.T) {
		service, err := limit.New(s.algorithm, 5, 120)
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		allow := func(now time.Time) (bool, time.Duration) {
			return service.Allow(now.Add(time.Duration(s.drift * float64(now.Sub(begun)))))
		}
		rnd := rand.New(rand.NewPCG(seed, 7))
		var mu sync.Mutex
		random := func() float64 {
			mu.Lock()
			defer mu.Unlock()
			return rnd.Float64()
		}
		ahead := time.Duration(0)
		if s.every > 0 {
			ahead = time.Minute
		}
		ctx, cancel := context.WithTimeout(t.Context(), ahead+4*time.Minute)
		defer cancel()
		var done sync.WaitGroup
		if s.every > 0 {
			done.Go(func() {
				for sleep(ctx, time.Duration(float64(s.every)*(0.9+0.2*random()))) == nil {
					mu.Lock()
					out.theirs++
					if ok, _ := allow(time.Now()); !ok {
						out.shutOut++
					}
					mu.Unlock()
				}
			})
		}
		time.Sleep(ahead)
		b := newBudget(5, 120, nil, nil)
		for range 20 {
			done.Go(func() {
				for {
					tk, err := b.acquire(ctx, 0)
					if err != nil {
						return
					}
					took := time.Duration(float64(s.mean) * (1 + s.vary*(2*random()-1)))
					part := s.moment
					if part < 0 {
						part = random()
					}
					before := time.Duration(part * float64(took))
					time.Sleep(before)
					mu.Lock()
					ok, wait := allow(time.Now())
					mu.Unlock()
					late, fault, kind := ctx.Err() != nil, random() < s.faults, random()
					asked := time.Duration(math.Ceil(wait.Seconds())) * time.Second
					if ok {
						asked = time.Duration(1+random()*3) * time.Second
					}
					time.Sleep(took - before)
					b.answer(tk)
					limited := !ok || fault && kind < 1.0/6
					if b.ended(tk, !limited && !fault, !limited && fault); limited {
						b.limited(tk, asked+margin(asked))
					}
					mu.Lock()
					if ok && !late {
						out.ours++
					} else if !ok {
						out.refused++
					}
					mu.Unlock()
				}
			})
		}
		done.Wait()
	})
	return out
}

// eachService calls f for each way of counting, and each moment at which a service may count.
func (s setting) eachService(f func(s setting)) {
	for _, s.algorithm = range []limit.Algorithm{limit.SlidingLog, limit.FixedWindow, limit.TokenBucket} {
		for _, s.moment = range []float64{0, 0.5, 1} {
			f(s)
		}
	}
}

// Almost all of the limits is used at any latency, even if requests fail, and no request exceeds
// them. docs/design/benchmarks.md has these figures.
func TestFourMinutes(t *testing.T) {
	seeds := uint64(4)
	if longtest.On() {
		seeds = 20
	}
	for _, mean := range []time.Duration{150 * time.Millisecond, time.Second, 2 * time.Second, 3 * time.Second} {
		for _, faults := range []float64{0, 0.06} {
			var ours []int
			setting{mean: mean, vary: 0.1, faults: faults, drift: 1.0 / 2000}.eachService(func(s setting) {
				for seed := range seeds {
					out := s.fourMinutes(t, seed)
					ours = append(ours, out.ours)
					if out.refused > 0 {
						t.Errorf("%+v, seed %d: %d over a limit", s, seed, out.refused)
					}
				}
			})
			slices.Sort(ours)
			least, usual := ours[0], ours[len(ours)/2]
			t.Logf("latency %v, %v %% faults: %d of 480 requests, at least %d", mean, 100*faults, usual, least)
			if usual < 456 || faults == 0 && least < 456 {
				t.Errorf("at least 456 were wanted")
			}
		}
	}
}

// A client that was active before the run is hardly refused in its first minutes.
// docs/design/benchmarks.md has these figures.
func TestFourMinutesBesideAnother(t *testing.T) {
	runs, more := 8, 3.0 // fewer runs vary more
	if longtest.On() {
		runs, more = 40, 0
	}
	for _, c := range []struct {
		algorithm limit.Algorithm
		every     time.Duration
		shutOut   float64 // maximum refused share of the other client's requests, in percent
	}{
		{limit.SlidingLog, time.Second, 4.5},
		{limit.SlidingLog, 3 * time.Second, 3.5},
		{limit.TokenBucket, time.Second, 4},
		{limit.TokenBucket, 3 * time.Second, 0.5},
		{limit.FixedWindow, time.Second, 18},
		{limit.FixedWindow, 3 * time.Second, 8},
	} {
		for _, mean := range []time.Duration{150 * time.Millisecond, 2 * time.Second} {
			var sum outcome
			for seed := range uint64(runs) {
				out := setting{algorithm: c.algorithm, mean: mean, vary: 0.1, every: c.every}.fourMinutes(t, seed)
				sum.ours, sum.theirs, sum.shutOut = sum.ours+out.ours, sum.theirs+out.theirs, sum.shutOut+out.shutOut
			}
			shutOut := 100 * float64(sum.shutOut) / float64(sum.theirs)
			t.Logf("%s, another every %v, latency %v: we %d in four minutes; of theirs %.1f %% refused", c.algorithm, c.every, mean, sum.ours/runs, shutOut)
			if shutOut > c.shutOut+more {
				t.Errorf("at most %v %% were wanted", c.shutOut+more)
			}
		}
	}
}

// If latencies vary from zero to twice their mean, no slot can be freed early.
func TestJitter(t *testing.T) {
	for _, mean := range []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second} {
		setting{mean: mean, vary: 1, drift: -1.0 / 2000}.eachService(func(s setting) {
			for _, s.moment = range []float64{s.moment, -1} {
				if out := s.fourMinutes(t, 1); out.refused > 0 {
					t.Errorf("%+v: %d over a limit", s, out.refused)
				}
			}
		})
	}
}

// A service that counts at a random moment of a long constant latency refuses requests. Then the
// assumption is dropped.
func TestAssumptionDropped(t *testing.T) {
	refused := 0
	for seed := range uint64(10) {
		out := setting{algorithm: limit.SlidingLog, mean: 3 * time.Second, vary: 0.01, moment: -1}.fourMinutes(t, seed)
		refused += out.refused
		if out.refused > 5 { // others were already in flight
			t.Errorf("seed %d: %d over a limit", seed, out.refused)
		}
	}
	if refused == 0 {
		t.Error("no request was refused")
	}
}
