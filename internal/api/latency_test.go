package api

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"callhouse/internal/longtest"
	"callhouse/internal/sandbox/limit"
	"callhouse/internal/test"
)

// latencies are a distribution of the times from sending a request to its answer.
type latencies struct {
	mean time.Duration
	// vary is the largest difference from the mean, as a fraction of it; if tail is set, the latencies
	// are log-normal around it instead, and tail is the standard deviation of their logarithm.
	vary, tail float64
}

func (l latencies) String() string {
	if l.tail > 0 {
		return fmt.Sprintf("%v, log-normal %v", l.mean, l.tail)
	}
	return fmt.Sprintf("%v +- %v %%", l.mean, 100*l.vary)
}

func (l latencies) draw(rnd *rand.Rand) time.Duration {
	factor := 1 + l.vary*(2*rnd.Float64()-1)
	if l.tail > 0 {
		factor = math.Exp(l.tail * rnd.NormFloat64())
	}
	return min(requestTimeout, time.Duration(float64(l.mean)*factor))
}

// When a service counts a request, as a part of its latency.
const (
	atArrival = 0
	onArrival = -2 // up to onTheWay after it is sent
	atRandom  = -1
)

// setting is a service, including its other clients, at the beginning of a run.
type setting struct {
	latencies
	algorithm limit.Algorithm
	moment    float64       // when it counts a request: 0 to 1, or one of the above
	faults    float64       // share of requests that fail; a sixth of them with a 429 that asks for 1 to 3 s
	every     time.Duration // interval of another client's requests; 0: none
	from      time.Duration // when they begin, relative to the run
	silent    bool          // refusals name no waiting time
	drift     float64       // of the service's clock
}

// outcome is the result, summed over runs.
type outcome struct{ ours, refused, theirs, shutOut, strict int }

func (o *outcome) add(p outcome) {
	o.ours, o.refused, o.theirs, o.shutOut, o.strict = o.ours+p.ours, o.refused+p.refused, o.theirs+p.theirs, o.shutOut+p.shutOut, o.strict+p.strict
}

// run returns the number of admitted requests, and of those refused within the limits.
func (s setting) run(t *testing.T, seed uint64, lasts time.Duration) (out outcome) {
	synctest.Test(t, func(t *testing.T) {
		service, err := limit.New(s.algorithm, 5, 120)
		test.OK(t, err)
		begun := time.Now()
		rnd := rand.New(rand.NewPCG(seed, 7))
		var mu sync.Mutex // of rnd, service and out
		allow := func() (bool, time.Duration) {
			now := time.Now()
			return service.Allow(now.Add(time.Duration(s.drift * float64(now.Sub(begun)))))
		}
		ahead := max(0, -s.from)
		ctx, cancel := context.WithTimeout(t.Context(), ahead+lasts)
		defer cancel()
		var done sync.WaitGroup
		if s.every > 0 {
			done.Go(func() {
				_ = sleep(ctx, s.from)
				for {
					mu.Lock()
					wait := time.Duration(float64(s.every) * (0.9 + 0.2*rnd.Float64()))
					mu.Unlock()
					if sleep(ctx, wait) != nil {
						return
					}
					mu.Lock()
					out.theirs++
					if ok, _ := allow(); !ok {
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
					mu.Lock()
					took, fault, kind := s.draw(rnd), rnd.Float64() < s.faults, rnd.Float64()
					before := time.Duration(s.moment * float64(took))
					switch s.moment {
					case atRandom:
						before = time.Duration(rnd.Float64() * float64(took))
					case onArrival:
						before = min(took, time.Duration(rnd.Float64()*float64(onTheWay)))
					}
					mu.Unlock()
					time.Sleep(before)
					mu.Lock()
					late := ctx.Err() != nil
					ok, left := allow()
					wait := time.Duration(math.Ceil(left.Seconds())) * time.Second
					if ok {
						wait = time.Duration(1+18*kind) * time.Second
					}
					if s.silent {
						wait = 0
					}
					limited := !ok || fault && kind < 1.0/6
					if ok && !late {
						out.ours++
					} else if !ok {
						out.refused++
					}
					mu.Unlock()
					time.Sleep(took - before)
					if b.answer(tk); limited {
						b.limited(tk, wait)
					}
				}
			})
		}
		done.Wait()
		if b.strict() {
			out.strict++
		}
	})
	return out
}

var everyAlgorithm = []limit.Algorithm{limit.SlidingLog, limit.FixedWindow, limit.TokenBucket}

// distributions are latencies, and the least number of requests in 205 seconds, of the 440 that a service may admit.
var distributions = []struct {
	latencies
	least int
}{
	{latencies{mean: 150 * time.Millisecond, vary: 1}, 398},
	{latencies{mean: time.Second, vary: 1}, 390},
	{latencies{mean: 2 * time.Second, vary: 1}, 384},
	{latencies{mean: 3 * time.Second, vary: 1}, 378},
	{latencies{mean: time.Second, tail: 1}, 390},
	{latencies{mean: 3 * time.Second, vary: 0.1}, 378},
}

var (
	seeds     = longtest.Int("seeds", 2, 10, "how many runs the tests of latencies have in each setting")
	neighbour = longtest.Int("neighbours", 5, 40, "how many runs the tests with other clients have in each setting")
)

// Almost all of the limits is used at any latency, even if requests fail, and a service that counts
// requests as they arrive refuses none. docs/design/benchmarks.md has these figures.
func TestLatencies(t *testing.T) {
	for _, d := range distributions {
		for _, faults := range []float64{0, 0.06} {
			var ours []int
			for _, s := range eachService(d.latencies, faults, atArrival, onArrival) {
				for seed := range uint64(*seeds) {
					out := s.run(t, seed, 205*time.Second)
					ours = append(ours, out.ours)
					if out.refused > 0 {
						t.Errorf("%+v, seed %d: %d over a limit", s, seed, out.refused)
					}
				}
			}
			slices.Sort(ours)
			least, usual := ours[0], ours[len(ours)/2]
			t.Logf("latency %v, %v %% faults: usually %d, at least %d", d.latencies, 100*faults, usual, least)
			if usual < d.least || faults == 0 && least < d.least {
				t.Errorf("at least %d were wanted", d.least)
			}
		}
	}
}

// A service that counts at another moment, even at random, refuses few requests. After that no
// request may be counted above a limit.
func TestCountedElsewhere(t *testing.T) {
	refused := 0
	for _, d := range distributions {
		for _, faults := range []float64{0, 0.06} {
			var sum outcome
			var most int
			for _, s := range eachService(d.latencies, faults, 0.5, 1, atRandom) {
				for seed := range uint64(*seeds) {
					out := s.run(t, seed, 205*time.Second)
					sum.add(out)
					if most = max(most, out.refused); out.refused > 8 {
						t.Errorf("%+v, seed %d: %d over a limit", s, seed, out.refused)
					}
				}
			}
			runs := 9 * *seeds
			t.Logf("latency %v, %v %% faults: %d requests, %.1f refused, at most %d; strict at the end of %d of %d runs",
				d.latencies, 100*faults, sum.ours/runs, float64(sum.refused)/float64(runs), most, sum.strict, runs)
			refused += sum.refused
		}
	}
	if refused == 0 {
		t.Error("no request was refused")
	}
}

// eachService returns services of each algorithm and with the given moments.
func eachService(l latencies, faults float64, moments ...float64) (all []setting) {
	for _, a := range everyAlgorithm {
		for _, m := range moments {
			all = append(all, setting{latencies: l, algorithm: a, moment: m, faults: faults, drift: 1.0 / 2000})
		}
	}
	return all
}

// Over an hour (with -long six), a service that counts at random refuses no more than that.
func TestStrictForGood(t *testing.T) {
	longtest.Only(t)
	for _, d := range distributions {
		s := setting{latencies: d.latencies, algorithm: limit.SlidingLog, moment: atRandom}
		out := s.run(t, 1, time.Duration(*seeds)*36*time.Minute)
		t.Logf("latency %v: %d requests, %d refused", d.latencies, out.ours, out.refused)
		if out.refused > 8 {
			t.Errorf("latency %v: %d over a limit", d.latencies, out.refused)
		}
	}
}

// A client that was active before the run is hardly refused in its first minutes.
// docs/design/benchmarks.md has these figures.
func TestFourMinutesWithAnotherClient(t *testing.T) {
	longtest.Only(t)
	runs := *neighbour
	for _, c := range []struct {
		algorithm limit.Algorithm
		every     time.Duration
		ours      int     // least number of our requests
		shutOut   float64 // maximum refused share of the other client's requests, in percent
	}{
		{limit.SlidingLog, time.Second, 205, 5.5},
		{limit.SlidingLog, 3 * time.Second, 360, 5.5},
		{limit.TokenBucket, time.Second, 350, 4},
		{limit.TokenBucket, 3 * time.Second, 455, 0.5},
		{limit.FixedWindow, time.Second, 265, 17},
		{limit.FixedWindow, 3 * time.Second, 370, 9},
	} {
		for _, l := range []latencies{{mean: 150 * time.Millisecond, vary: 1}, {mean: 2 * time.Second, vary: 1}, {mean: 2 * time.Second, vary: 0.1}} {
			var sum outcome
			for seed := range uint64(runs) {
				sum.add(setting{algorithm: c.algorithm, latencies: l, every: c.every, from: -time.Minute}.run(t, seed, 4*time.Minute))
			}
			shutOut := 100 * float64(sum.shutOut) / float64(sum.theirs)
			t.Logf("%s, another every %v, latency %v: we %d in four minutes, %.1f refused; of theirs %.1f %% refused",
				c.algorithm, c.every, l, sum.ours/runs, float64(sum.refused)/float64(runs), shutOut)
			if shutOut > c.shutOut || sum.ours/runs < c.ours {
				t.Errorf("at least %d were wanted, and at most %v %% of theirs refused", c.ours, c.shutOut)
			}
		}
	}
}

// Another client of the same limits gets through, and the run uses the rest, even if no refusal names a
// waiting time. docs/design/benchmarks.md has these measurements.
func TestNeighbours(t *testing.T) {
	longtest.Only(t)
	const minutes = 15
	runs := min(*neighbour, 8)
	for _, c := range []struct {
		setting
		ours, shutOut float64 // minimum of ours per minute; maximum of theirs refused, in percent
	}{
		{setting{algorithm: limit.SlidingLog}, 114, 0},
		{setting{algorithm: limit.FixedWindow}, 114, 0},
		{setting{algorithm: limit.TokenBucket}, 114, 0},
		{setting{algorithm: limit.SlidingLog, faults: 0.06}, 110, 0},
		{setting{algorithm: limit.SlidingLog, every: time.Second, from: -time.Minute}, 53, 3},
		{setting{algorithm: limit.SlidingLog, every: time.Second, from: 2 * time.Minute}, 60, 3},
		{setting{algorithm: limit.SlidingLog, every: 3 * time.Second, from: -time.Minute}, 87, 4},
		{setting{algorithm: limit.TokenBucket, every: time.Second, from: -time.Minute}, 65, 3.5},
		{setting{algorithm: limit.TokenBucket, every: 3 * time.Second, from: -time.Minute}, 104, 2.5},
		{setting{algorithm: limit.FixedWindow, every: time.Second, from: -time.Minute}, 60, 20},
		{setting{algorithm: limit.FixedWindow, every: 3 * time.Second, from: -time.Minute}, 96, 13},
	} {
		c.latencies, c.moment, c.silent = latencies{mean: 150 * time.Millisecond, vary: 1}, 0.5, true
		var sum outcome
		for seed := range uint64(runs) {
			sum.add(c.run(t, seed, minutes*time.Minute))
		}
		ours, shutOut := float64(sum.ours)/float64(runs*minutes), 100*float64(sum.shutOut)/float64(max(1, sum.theirs))
		t.Logf("%s, another every %v, from %v on, %v %% faults: we %.1f a minute, %.2f refused; of theirs %.1f %% refused",
			c.algorithm, c.every, c.from, 100*c.faults, ours, float64(sum.refused)/float64(runs*minutes), shutOut)
		if ours < c.ours || shutOut > c.shutOut {
			t.Errorf("at least %v a minute were wanted, and at most %v %% of theirs refused", c.ours, c.shutOut)
		}
	}
}

// Each limit has its own gap: however long requests are on their way, no second has too many.
func TestGap(t *testing.T) {
	for _, perSecond := range []int{1, 2, 3, 5, 10, 50, 1000} {
		synctest.Test(t, func(t *testing.T) {
			b := newBudget(perSecond, 120*perSecond, []Spend{{Sent: time.Now(), Answered: time.Now()}}, nil)
			sent := []time.Duration{0}
			for range 5 * perSecond {
				tk, err := b.acquire(t.Context(), 0)
				test.OK(t, err)
				b.answer(tk)
				sent = append(sent, tk.at)
			}
			for i := range len(sent) - perSecond {
				if took := sent[i+perSecond] - sent[i]; took <= b.second+onTheWay {
					t.Fatalf("%d a second: %d requests in %v", perSecond, perSecond+1, took)
				}
			}
			if took := sent[len(sent)-1]; took > 8*time.Second {
				t.Errorf("%d a second: %d requests took %v", perSecond, len(sent), took)
			}
		})
	}
}
