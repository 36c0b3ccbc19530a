package analytics_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/question"
	"callhouse/internal/schema"
)

const hour = int64(3_600_000)

// numbers are possible values of a caller's number, and whether each is one.
var numbers = map[string]bool{"+821012345678": true, "821012345678": true, "masked:01c0ffee01c0ffee01c0ffee01c0ffee": true, "sip:777@10.0.0.1": true,
	"": false, " ": false, "anonymous": false, "Restricted": false, "+0000": false, "sip:Anonymous@10.0.0.1": false}

// wayOf returns the direction of a call; "" for a web call.
func wayOf(r row) string {
	kind, _ := text(r, "call_type")
	if way, ok := text(r, "direction"); ok {
		return way
	}
	return map[string]string{"inbound": "inbound", "outbound": "outbound", "web": ""}[kind] +
		map[bool]string{true: "unknown"}[kind != "inbound" && kind != "outbound" && kind != "web"]
}

// callerOf returns the number of a call's caller; "" if unknown.
func callerOf(r row) string {
	switch wayOf(r) {
	case "inbound":
		return numberIn(r, "from")
	case "outbound":
		return numberIn(r, "to")
	}
	return ""
}

// numberIn returns a number of a call in the form that identifies callers; "" if unknown.
func numberIn(r row, side string) string {
	if s, ok := text(r, side+"_e164"); ok {
		return s
	}
	if s, ok := text(r, side+"_number"); ok && numbers[s] {
		return s
	}
	return ""
}

func contact(r row) bool {
	_, started := r["start_at"].(int64)
	return started && (wayOf(r) == "inbound" || linked(r) != "no" && !reasonIs(r, "voicemail_reached"))
}

// meets reports whether the caller of a call had another contact that starts up to within ms later
// or, if negative, earlier.
func meets(r row, calls []row, within int64) bool {
	for _, other := range calls {
		if other["call_id"] == r["call_id"] || !contact(other) || callerOf(other) != callerOf(r) {
			continue
		}
		if ms := other["start_at"].(int64) - r["start_at"].(int64); ms >= min(0, within) && ms <= max(0, within) {
			return true
		}
	}
	return false
}

func callersOf(g *group, d analyticstest.Data) []any {
	listed := int64(1 << 60)
	if d.Coverage != nil {
		listed = d.Coverage[len(d.Coverage)-1].To
	}
	var calls, judged, done, first, open, anonymous, undirected int
	from := int64(math.MaxInt64)
	for _, r := range d.Calls {
		if ms, ok := r["start_at"].(int64); ok {
			from = min(from, ms)
		}
	}
	day, week, callers := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, r := range g.calls {
		if !contact(r) {
			continue
		}
		calls++
		who := callerOf(r)
		if wayOf(r) == "unknown" {
			undirected++
			continue
		}
		if who == "" {
			anonymous++
			continue
		}
		callers[who] = true
		for repeats, hours := range map[*map[string]bool]int64{&day: 24, &week: 7 * 24} {
			if r["start_at"].(int64)-hours*hour >= from {
				(*repeats)[who] = (*repeats)[who] || meets(r, d.Calls, -hours*hour)
			}
		}
		switch {
		case !answered(r):
		case r["start_at"].(int64)+24*hour >= listed:
			open++
		default:
			judged++
			if completed(r) {
				done++
				if !meets(r, d.Calls, 24*hour) {
					first++
				}
			}
		}
	}
	if calls == 0 {
		return nil
	}
	low, high := wilson(first, judged)
	again := func(repeats map[string]bool) (n int) {
		for _, repeated := range repeats {
			if repeated {
				n++
			}
		}
		return n
	}
	return []any{g.key, int64(calls), int64(len(callers)), int64(again(day)), share(again(day), len(day)), int64(len(day)),
		int64(again(week)), share(again(week), len(week)), int64(len(week)),
		int64(judged), share(done, judged), int64(first), share(first, judged), low, high, int64(open), int64(anonymous), int64(undirected)}
}

// Calls whose next 24 hours are not listed yet are open, and it is unknown whether the first calls repeat. A call-back
// counts regardless of the agent, and also before and after the period.
func TestCallersAtTheEnd(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	d := randomData(r, 400)
	d.Turns, d.Items = nil, nil
	to := time.Date(2026, 10, 25, 6, 0, 0, 0, time.UTC)
	d.Coverage = []schema.Span{{From: -1 << 60, To: to.UnixMilli()}}
	w := warehouse(t, d, nil)
	for _, p := range []question.Params{{}, {By: "agent"}, {By: "call_type", Since: to.Add(-24 * time.Hour), Until: to.Add(-12 * time.Hour)}, {Agent: "b-three", Since: to}} {
		want := oracle("callers", d, p, w.Location())
		if diff := diffNear(want, rowsOf(t, w, "callers", p)); diff != "" || len(want) == 0 {
			t.Errorf("%+v (-oracle +report):\n%s", p, diff)
		}
	}
}
