package world

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestArrivalsAreMonotoneAndInverted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		perDay := rapid.Float64Range(.02, 4e6).Draw(t, "perDay")
		ties := rapid.SampledFrom([]float64{0, .002, .5, 1}).Draw(t, "ties")
		a := newArrivals(rapid.Uint64().Draw(t, "key"), perDay, ties, rapid.Bool().Draw(t, "steady"))
		k := int64(rapid.Float64Range(-50, 800).Draw(t, "day") * perDay)
		last := a.start(k - 1)
		for i := k; i < k+20; i++ {
			start := a.start(i)
			if start < last {
				t.Fatalf("call %d starts %d ms before call %d", i, last-start, i-1)
			}
			last = start
			if n := a.before(start); n <= i || a.start(n) <= start || a.start(n-1) > start {
				t.Fatalf("call %d starts at %d, but before(%d) is %d", i, start, start, n)
			}
		}
	})
}

func TestArrivalsKeepThePaceAndTheHours(t *testing.T) {
	w := newWorld(t, Config{Seed: 3, Calls: 200_000})
	oldest := w.arrivals.start(w.base)
	if days := float64(busy.UnixMilli()-oldest) / float64(msDay); days < 28.5 || days > 31.5 {
		t.Errorf("200,000 calls over 30 days took %.1f days", days)
	}
	if n := w.Started(busy); n != 200_000 {
		t.Errorf("%d calls have started by the origin, want 200,000", n)
	}
	week := w.Started(busy.Add(7*24*time.Hour)) - 200_000
	if want := w.PerDay() * 7; float64(week) < want*.85 || float64(week) > want*1.15 {
		t.Errorf("%d calls in the week after the origin, want about %.0f", week, want)
	}
	ten := time.Date(2026, 11, 18, 1, 0, 0, 0, time.UTC) // 10:00 in the company's zone
	inHour := func(from time.Time) int64 { return w.Started(from.Add(time.Hour)) - w.Started(from) }
	if day, night := inHour(ten), inHour(ten.Add(-7*time.Hour)); day < 20*night {
		t.Errorf("%d calls at ten and %d at three in the night", day, night)
	}
}

func TestWorldOutlivesItsOrigin(t *testing.T) {
	// A sandbox restarted a day later shows the same calls.
	early := newWorld(t, Config{Seed: 1, Calls: 5000, Origin: busy})
	late := newWorld(t, Config{Seed: 1, Calls: 5000, Origin: busy.Add(24 * time.Hour)})
	shift, ok := late.IndexOf(early.ID(1000))
	if !ok || shift >= 1000 {
		t.Fatalf("call 1000 of the day before is now call %d, %v", shift, ok)
	}
	var a, b Call
	early.Call(&a, 1000)
	late.Call(&b, shift)
	b.Index, b.Agent, b.scenario = a.Index, a.Agent, a.scenario
	if a != b {
		t.Errorf("a call changed with the origin:\n%+v\n%+v", a, b)
	}
}

func TestTies(t *testing.T) {
	for _, c := range []struct {
		rate     float64
		min, max int // runs of equal starts among 10,000 calls
	}{{-1, 9990, 10000}, {0, 9900, 9999}, {.5, 4500, 5500}, {1, 19, 22}} {
		w := newWorld(t, Config{Calls: 10_000, TieRate: c.rate})
		var last int64
		runs := 0
		for v := range w.Visible(busy) {
			if v.Started && v.StartAt != last {
				last = v.StartAt
				runs++
			}
		}
		if runs < c.min || runs > c.max {
			t.Errorf("tie rate %v: %d distinct starts, want %d to %d", c.rate, runs, c.min, c.max)
		}
	}
}
