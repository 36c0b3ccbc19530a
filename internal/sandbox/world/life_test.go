package world

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"callhouse/internal/test"
)

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
	if !v.Connected() && v.Transcript {
		t.Fatalf("%s, but there is a transcript", v.Status)
	}
	if v.Agent.Direction == "inbound" && over && !v.Connected() {
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
