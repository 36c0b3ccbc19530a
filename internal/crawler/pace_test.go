package crawler

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// Somebody else spends most of the budget for a while: few of our requests are
// refused, we go on at a lower pace, and get back to the full one by ourselves.
func TestBudgetYieldsAndRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate("sliding log", 5, 120)
		b := newBudget(5, 120, nil, nil)
		defer b.close()
		start := time.Now()
		go func() { // half the budget, for half an hour
			for time.Since(start) < 30*time.Minute {
				time.Sleep(time.Second)
				g.allow()
			}
		}()
		ours := newGate("sliding log", 5, 120)
		refused := spend(t.Context(), b, start.Add(60*time.Minute), 8, func() bool {
			time.Sleep(200 * time.Millisecond)
			ok := g.allow()
			if ok {
				ours.allow()
			}
			return ok
		})
		during := ours.between(start, 5*time.Minute, 30*time.Minute)
		after := ours.between(start, 45*time.Minute, 60*time.Minute)
		t.Logf("%d refused; %d a minute beside the other one, %d after", refused, during/25, after/15)
		if refused > 60 || during/25 < 25 {
			t.Errorf("%d refused, %d a minute", refused, during/25)
		}
		if after < 118*15 {
			t.Errorf("%d a minute after it was over", after/15)
		}
	})
}

func TestBudgetClosesOnRefusal(t *testing.T) {
	date := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
	for _, tc := range []struct {
		name        string
		value       func() string
		date        func() string
		least, most time.Duration
	}{
		{name: "seconds", value: func() string { return "7" }, least: 7 * time.Second, most: 8 * time.Second},
		{name: "an hour", value: func() string { return "3600" }, least: time.Hour, most: time.Hour + 3*time.Second},
		{name: "zero", value: func() string { return "0" }, least: time.Second, most: 2 * time.Second},
		{name: "a date", value: func() string { return date(20 * time.Second) }, least: 20 * time.Second, most: 22 * time.Second},
		{name: "a date that is past", value: func() string { return date(-time.Hour) }, least: time.Second, most: 2 * time.Second},
		{
			name: "a date by the service's own clock", value: func() string { return date(time.Hour + 20*time.Second) },
			date: func() string { return date(time.Hour) }, least: 20 * time.Second, most: 22 * time.Second,
		},
		{name: "absent", value: func() string { return "" }, least: time.Minute, most: 61 * time.Second},
		{name: "malformed", value: func() string { return "soon" }, least: time.Minute, most: 61 * time.Second},
		{name: "negative", value: func() string { return "-5" }, least: time.Minute, most: 61 * time.Second},
		{name: "a fraction", value: func() string { return "1.5" }, least: time.Minute, most: 61 * time.Second},
		{name: "absurd", value: func() string { return "86400" }, least: time.Minute, most: 61 * time.Second},
		{name: "more than a number", value: func() string { return "99999999999999999999" }, least: time.Minute, most: 61 * time.Second},
		{name: "a date in ten years", value: func() string { return date(87600 * time.Hour) }, least: time.Minute, most: 61 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked []time.Time
				tr, stop := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					asked = append(asked, time.Now())
					if len(asked) > 1 {
						return
					}
					if v := tc.value(); v != "" {
						w.Header().Set("Retry-After", v)
					}
					if tc.date != nil {
						w.Header().Set("Date", tc.date())
					}
					w.WriteHeader(http.StatusTooManyRequests)
				}))
				defer stop()
				c := tester(t, tr, nil, func(cfg *Config) { cfg.DownAfter = time.Hour })
				if f, err := c.fetch(t.Context(), detail, "http://calls.test/", false, ok); f != nil || err != nil {
					t.Fatal(f, err)
				}
				if waited := asked[1].Sub(asked[0]); waited < tc.least || waited > tc.most {
					t.Errorf("waited %v", waited)
				}
				if p := c.meter.progress; p.RateLimited != 1 || p.Retries != 1 || p.Requests != 2 {
					t.Errorf("%+v", p.Counts)
				}
			})
		})
	}
}

// Refusals, however many, never use up a request's attempts.
func TestRefusalsSpendNoAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		tr, stop := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if n++; n <= 15 {
				w.Header().Set("Retry-After", "2")
				w.WriteHeader(http.StatusTooManyRequests)
			}
		}))
		defer stop()
		c := tester(t, tr, nil, nil)
		if f, err := c.fetch(t.Context(), detail, "http://calls.test/", false, ok); f != nil || err != nil || n != 16 {
			t.Errorf("%v, %v after %d requests", f, err, n)
		}
	})
}

// Requests that were in flight together and are all refused lower the pace once.
func TestPaceFallsOnceForOneRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(5, 120, nil, nil)
		defer b.close()
		var tickets []ticket
		for range 5 {
			tk, err := b.acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			tickets = append(tickets, tk)
		}
		for _, tk := range tickets {
			time.Sleep(10 * time.Millisecond)
			b.answered(tk)
			b.limited(tk, 2*time.Second)
		}
		if _, allowed := b.use(); allowed != 84 {
			t.Errorf("%d a minute are left", allowed)
		}
		time.Sleep(4*time.Minute + 2*time.Second)
		if _, allowed := b.use(); allowed < 107 || allowed > 109 {
			t.Errorf("%d a minute after four minutes", allowed)
		}
		time.Sleep(3 * time.Minute)
		if _, allowed := b.use(); allowed != 120 {
			t.Errorf("%d a minute after seven", allowed)
		}
	})
}
