package api

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"callhouse/internal/sandbox/limit"
	"callhouse/internal/test"
)

// When the others are gone, the run returns to its full pace.
func TestPaceComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, limit.SlidingLog)
		b := newBudget(5, 120, nil, nil)
		start := time.Now()
		go func() {
			for time.Since(start) < 10*time.Minute {
				time.Sleep(time.Second)
				g.allow()
			}
		}()
		spend(t.Context(), b, start.Add(15*time.Minute), 8, func() bool {
			time.Sleep(200 * time.Millisecond)
			return g.allow()
		})
		if n := g.between(start, 12*time.Minute, 15*time.Minute); n < 3*113 {
			t.Errorf("%d a minute, two minutes after", n/3)
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
		{name: "absent", value: func() string { return "" }, least: time.Second, most: 2 * time.Second},
		{name: "malformed", value: func() string { return "soon" }, least: time.Second, most: 2 * time.Second},
		{name: "negative", value: func() string { return "-5" }, least: time.Second, most: 2 * time.Second},
		{name: "a fraction", value: func() string { return "1.5" }, least: 1500 * time.Millisecond, most: 1600 * time.Millisecond},
		{name: "less than a second", value: func() string { return "0.5" }, least: time.Second, most: 2 * time.Second},
		{name: "nothing after the point", value: func() string { return "4." }, least: 4 * time.Second, most: 5 * time.Second},
		{name: "with spaces", value: func() string { return " 4 " }, least: 4 * time.Second, most: 5 * time.Second},
		{name: "two points", value: func() string { return "60.60.60" }, least: time.Second, most: 2 * time.Second},
		{name: "a point", value: func() string { return "." }, least: time.Second, most: 2 * time.Second},
		{name: "a unit", value: func() string { return "60s" }, least: time.Second, most: 2 * time.Second},
		{name: "an exponent", value: func() string { return "6e1" }, least: time.Second, most: 2 * time.Second},
		{name: "no number", value: func() string { return "NaN" }, least: time.Second, most: 2 * time.Second},
		{name: "infinite", value: func() string { return "Inf" }, least: time.Second, most: 2 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var sentAt []time.Time
				tr := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					sentAt = append(sentAt, time.Now())
					if len(sentAt) > 1 {
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
				c := tester(t, tr, func(cfg *Config) { cfg.DownAfter = time.Hour })
				if f, err := c.Do(t.Context(), Request{Path: "/", Kind: Record}, ok); f != nil || err != nil {
					t.Fatal(f, err)
				}
				if waited := sentAt[1].Sub(sentAt[0]); waited < tc.least || waited > tc.most {
					t.Errorf("waited %v", waited)
				}
				if p := c.Counts(); p.RateLimited != 1 || p.Retries != 1 || p.Requests != 2 {
					t.Errorf("%+v", p)
				}
			})
		})
	}
}

// A wait that lasts longer than the run ends it at once, after one request. The error names the time.
func TestLongWaits(t *testing.T) {
	const day = 24 * time.Hour
	const month = 31 * day
	date := func(at time.Time) string { return at.UTC().Format(http.TimeFormat) }
	for value, wait := range map[string]time.Duration{
		"1200": 20 * time.Minute, "1200.5": 1200500 * time.Millisecond, "3600": time.Hour, "7200": 2 * time.Hour, "86400": day,
		"99999999999999999999": month, strings.Repeat("9", 400): month, "date": 2*time.Hour + time.Second, "far": month + time.Second,
	} {
		for _, status := range []int{403, 429, 500, 502, 503, 529} {
			for _, gap := range []time.Duration{0, 5 * time.Hour} { // of the service's clock and ours
				synctest.Test(t, func(t *testing.T) {
					n, theirs := 0, time.Now().Add(gap)
					tr := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
						n++
						v := value
						switch value {
						case "date":
							v = date(theirs.Add(2 * time.Hour))
						case "far":
							v = date(theirs.AddDate(500, 0, 0))
						}
						w.Header().Set("Retry-After", v)
						w.Header().Set("Date", date(theirs))
						w.WriteHeader(status)
					}))
					c := tester(t, tr, nil)
					_, err := c.Do(t.Context(), Request{Path: "/", Kind: Page}, ok)
					down, isDown := errors.AsType[*ServiceDownError](err)
					until := theirs.Add(wait)
					if !isDown || n != 1 || down.Wait != wait || down.Until.Sub(until).Abs() > time.Second ||
						!strings.Contains(err.Error(), down.Until.UTC().Format("2006-01-02 15:04:05 UTC")) {
						t.Errorf("%d, %s: %v after %d requests, want a wait of %v until %v", status, value, err, n, wait, until)
					}
				})
			}
		}
	}
}

// A wait for one request, such as a conflict's, holds back no other, and ends no run.
func TestWaitOfOneRequest(t *testing.T) {
	for _, tc := range []struct {
		wait          string
		status, tries int
	}{{"30", 409, 3}, {"1200", 409, 1}, {"86400", 409, 1}, {"30", 202, 2}, {"86400", 202, 1}, {"86400", 404, 1}} {
		wait, tries := tc.wait, tc.tries
		synctest.Test(t, func(t *testing.T) {
			var sentAt []time.Time
			tr := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				sentAt = append(sentAt, time.Now())
				w.Header().Set("Retry-After", wait)
				w.WriteHeader(tc.status)
			}))
			c := tester(t, tr, nil)
			c.health.good()
			f, err := c.Do(t.Context(), Request{Path: "/", Kind: Record}, ok)
			if _, _, closed := c.Use(); err != nil || f == nil || f.Then != SetAside || len(sentAt) != tries || closed > 0 {
				t.Errorf("wait %s: %v, %v after %d requests; closed for %v", wait, f, err, len(sentAt), closed)
			}
			for i := range len(sentAt) - 1 {
				if pause := sentAt[i+1].Sub(sentAt[i]); pause < 30*time.Second {
					t.Errorf("a pause of %v", pause)
				}
			}
		})
	}
}

// Refusals never use up a request's attempts.
func TestRefusalsSpendNoAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		tr := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if n++; n <= 15 {
				w.Header().Set("Retry-After", "2")
				w.WriteHeader(http.StatusTooManyRequests)
			}
		}))
		c := tester(t, tr, nil)
		if f, err := c.Do(t.Context(), Request{Path: "/", Kind: Record}, ok); f != nil || err != nil || n != 16 {
			t.Errorf("%v, %v after %d requests", f, err, n)
		}
	})
}

// Refusals of requests in flight together count as one.
func TestPaceFallsOnceForOneRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(5, 120, nil, nil)
		batch := func(n int) {
			var tickets []*ticket
			for range n {
				tk, err := b.acquire(t.Context(), 0)
				test.OK(t, err)
				tickets = append(tickets, tk)
			}
			for _, tk := range tickets {
				time.Sleep(10 * time.Millisecond)
				b.answer(tk)
				b.limited(tk, 2*time.Second)
			}
		}
		for i, lowered := range []bool{false, true, true} { // the first one may be a fault
			before := b.pace.lowered
			batch(3)
			if (b.pace.lowered > before) != lowered || i > 0 && b.pace.steady != steadyFirst<<(i-1) {
				t.Errorf("batch %d: lowered at %v, steady for %v", i, b.pace.lowered, b.pace.steady)
			}
		}
	})
}
