package world

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"callhouse/internal/sandbox/dice"
	"callhouse/internal/test"
)

// busy is a Thursday, 18:30 in the company's zone: a busy time.
var busy = time.Date(2026, 11, 19, 9, 30, 0, 0, time.UTC)

// everyFault is a share of each fault.
var everyFault = func() (fs Faults) {
	for _, f := range CallFaults {
		fs = append(fs, dice.Share[Fault]{Kind: f.Kind, Rate: .2})
	}
	return fs
}()

func newWorld(t testing.TB, cfg Config) *World {
	t.Helper()
	if cfg.Origin.IsZero() {
		cfg.Origin = busy
	}
	w, err := New(cfg)
	test.OK(t, err)
	return w
}

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

func TestLifeGoesForward(t *testing.T) {
	rank := map[string]int{"queued": 0, "ongoing": 1, "ended": 2, "error": 2, "canceled": 2, "not_connected": 2}
	rapid.Check(t, func(t *rapid.T) {
		w, err := New(Config{
			Seed: rapid.Uint64().Draw(t, "seed"), Calls: 1000, Origin: busy,
			LateVisibleRate: .2, DeleteRate: .2, DriftRate: .3, Faults: everyFault,
		})
		test.OK(t, err)
		index := rapid.Int64Range(0, 2000).Draw(t, "index")
		var c Call
		w.Call(&c, index)
		before := View{Status: "queued"}
		seen, gone := false, false
		for _, at := range instants(t, &c) {
			v, ok := w.View(index, time.UnixMilli(at))
			switch {
			case ok && gone:
				t.Fatalf("call %d came back at %d", index, at)
			case !ok:
				gone = gone || seen
				continue
			}
			seen = true
			if rank[v.Status] < rank[before.Status] {
				t.Fatalf("call %d went from %s to %s", index, before.Status, v.Status)
			}
			if before.Analysis && !v.Analysis || before.CostKnown && !v.CostKnown || before.Transcript && !v.Transcript ||
				before.Recording && !v.Recording || before.Record && !v.Record || before.edit > v.edit {
				t.Fatalf("call %d lost something between %+v and %+v", index, before, *v)
			}
			checkView(t, v)
			before = *v
		}
	})
}

// instants returns the moments around changes of c, in order.
func instants(t *rapid.T, c *Call) []int64 {
	var all []int64
	at := c.QueuedAt - 10
	for at < c.EndAt+4*msDay {
		all = append(all, at)
		next := at + 1 + int64(rapid.Uint32().Draw(t, "step"))%(12*msHour)
		for _, e := range []int64{c.QueuedAt, c.StartAt, c.EndAt, c.AnalysisAt, c.CostAt, c.VisibleAt, c.DeletedAt, c.TranscriptAt,
			c.RecordingAt, c.recordAt, c.maskedAt, c.correctedAt} {
			for _, moment := range []int64{e - 1, e} {
				if moment > at && moment < next {
					next = moment
				}
			}
		}
		at = next
	}
	return all
}

func checkView(t *rapid.T, v *View) {
	over := v.Status != "queued" && v.Status != "ongoing"
	if v.Started != (v.Status != "queued") || v.Over != over || over != (v.EndAt > 0) || (v.StartAt > 0) != v.Started {
		t.Fatalf("status %s, but started %v, over %v, from %d to %d", v.Status, v.Started, v.Over, v.StartAt, v.EndAt)
	}
	if v.Over && v.EndAt < v.StartAt {
		t.Fatalf("ends before it starts: %+v", *v)
	}
	if v.Status != "ended" && (v.Analysis || v.CostKnown) {
		t.Fatalf("%s, but analysis %v and cost %v", v.Status, v.Analysis, v.CostKnown)
	}
	if v.OptedOut && (v.Analysis || v.Transcript || v.Recording) {
		t.Fatalf("opted out, but not withheld: %+v", *v)
	}
	if v.Status != "ended" && v.Status != "error" && v.Transcript {
		t.Fatalf("%s, but there is a transcript", v.Status)
	}
	if v.Agent.Direction == "inbound" && over && v.Status != "ended" && v.Status != "error" {
		t.Fatalf("inbound, but %s", v.Status)
	}
	if v.VisibleAt < v.QueuedAt || v.StartAt-v.QueuedAt > maxQueue {
		t.Fatalf("queued at %d, starts at %d", v.QueuedAt, v.Call.StartAt)
	}
}

func TestConfigIsChecked(t *testing.T) {
	for name, cfg := range map[string]Config{
		"no origin":    {Calls: 1},
		"calls":        {Calls: -1, Origin: busy},
		"days":         {Days: -1, Origin: busy},
		"agents":       {Agents: 201, Origin: busy},
		"a rate":       {DeleteRate: 1.5, Origin: busy},
		"another rate": {DriftRate: -.1, Origin: busy},
		"a fault":      {Faults: Faults{{Kind: "late", Rate: .1}}, Origin: busy},
	} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestIDsTurnBackIntoIndexes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, err := New(Config{
			Seed: rapid.Uint64().Draw(t, "seed"), Calls: rapid.Int64Range(0, 1e9).Draw(t, "calls"), Origin: busy,
		})
		test.OK(t, err)
		index := rapid.Int64Range(0, 1e12).Draw(t, "index")
		text := w.ID(index).String()
		if len(text) != 36 || text[14] != '4' || !strings.ContainsRune("89ab", rune(text[19])) {
			t.Fatalf("%s is no version 4 UUID", text)
		}
		u, ok := ParseUUID(text)
		if !ok || u != w.ID(index) {
			t.Fatalf("%s does not parse back", text)
		}
		if got, ok := w.IndexOf(u); !ok || got != index {
			t.Fatalf("call %d has id %s, which is call %d, %v", index, text, got, ok)
		}
		other := []byte(text)
		at := rapid.SampledFrom([]int{0, 1, 7, 9, 15, 20, 25, 35}).Draw(t, "at")
		other[at] = "0123456789abcdef"[(strings.IndexByte("0123456789abcdef", other[at])+1+rapid.IntRange(0, 14).Draw(t, "by"))%16]
		if u, ok := ParseUUID(string(other)); ok {
			if i, known := w.IndexOf(u); known {
				t.Fatalf("%s is no id of ours, but is taken for call %d", other, i)
			}
		}
	})
}

func TestParseUUIDIsStrict(t *testing.T) {
	good := newWorld(t, Config{}).ID(1).String()
	for _, bad := range []string{
		"", "x", strings.ToUpper(good), good + " ", good[:35], strings.ReplaceAll(good, "-", ""),
		good[:35] + "g", good[:8] + "_" + good[9:], "{" + good + "}",
	} {
		if _, ok := ParseUUID(bad); ok {
			t.Errorf("%q is taken for an id", bad)
		}
	}
}
