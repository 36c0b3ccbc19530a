package world

import (
	"slices"
	"strings"
	"testing"

	"callhouse/internal/test"
)

// incidents parses incidents.
func incidents(t *testing.T, text string) (all Incidents) {
	t.Helper()
	test.OK(t, all.Set(text))
	if all.String() != text {
		t.Fatalf("%s was read as %s", text, &all)
	}
	return all
}

// Incidents change the calls of their days, with all consequences, and no other call.
func TestIncidents(t *testing.T) {
	share := func(w *World, of func(v *View) (is, counts bool)) float64 {
		var n, all float64
		for v := range w.Visible(busy.AddDate(0, 0, 3)) {
			day := int(floorDiv(v.StartAt-w.midnight, msDay))
			if is, counts := of(v); counts && day >= -9 && day < -4 {
				all++
				if is {
					n++
				}
			}
		}
		return n / all
	}
	usual := newWorld(t, Config{Seed: 4, Calls: 6000, Agents: 6})
	for _, c := range []struct {
		incident, what string
		before, during [2]float64 // bounds of the share
		of             func(v *View) (is, counts bool)
	}{
		{"carrier", "dials that fail", [2]float64{.02, .06}, [2]float64{.45, .55}, func(v *View) (bool, bool) {
			return v.Reason == "dial_failed", v.Agent.Direction == "outbound"
		}},
		{"tool:validate_address", "uses that fail", [2]float64{0, .1}, [2]float64{1, 1}, func(v *View) (failed, used bool) {
			turns := v.Turns()
			i := slices.IndexFunc(turns, func(t Turn) bool { return t.Tool == "validate_address" })
			return i >= 0 && strings.Contains(strings.ToLower(turns[i+1].Content), "error"), i >= 0
		}},
		{"tool:validate_address", "calls that succeed", [2]float64{.5, .9}, [2]float64{0, 0}, func(v *View) (bool, bool) {
			return v.Good, v.Agent.Number == 5 && v.Status == "ended"
		}},
		{"tool:validate_address", "unhappy callers", [2]float64{.05, .25}, [2]float64{.3, .6}, func(v *View) (bool, bool) {
			return v.Call.Sentiment == "negative", v.Agent.Number == 5 && v.Call.Sentiment != ""
		}},
		{"release:2", "calls that succeed", [2]float64{.6, .95}, [2]float64{.2, .55}, func(v *View) (bool, bool) {
			return v.Good, v.Agent.Number == 2 && v.Status == "ended"
		}},
		{"release:2", "unhappy callers", [2]float64{.05, .2}, [2]float64{.25, .5}, func(v *View) (bool, bool) {
			return v.Call.Sentiment == "negative", v.Agent.Number == 2 && v.Call.Sentiment != ""
		}},
	} {
		w := newWorld(t, Config{Seed: 4, Calls: 6000, Agents: 6, Incidents: incidents(t, c.incident+"=-9..-4")})
		before, during := share(usual, c.of), share(w, c.of)
		if !(before >= c.before[0] && before <= c.before[1] && during >= c.during[0] && during <= c.during[1]) {
			t.Errorf("%s: the share of %s goes from %.3f to %.3f", c.incident, c.what, before, during)
		}
		var a, b Call
		for i := range usual.Started(busy) {
			usual.Call(&a, i)
			w.Call(&b, i)
			b.Agent = a.Agent
			if day := int(floorDiv(a.StartAt-w.midnight, msDay)); (day < -9 || day >= -4) && a != b {
				t.Fatalf("%s changes call %d of day %d:\n%+v\n%+v", c.incident, i, day, a, b)
			}
		}
	}
}

func TestWrongIncidents(t *testing.T) {
	for _, text := range []string{"carrier", "carrier=3", "carrier=3..3", "carrier=a..b", "fire=1..2", "carrier:SKT=1..2", "tool=1..2", "tool:no_such=1..2",
		"tool:schedule_delivery=1..2", "release=1..2", "release:3=1..2", "release:30=1..2"} {
		var all Incidents
		err := all.Set(text)
		if err == nil {
			_, err = New(Config{Calls: 10, Agents: 6, Origin: busy, Incidents: all})
		}
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
