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
