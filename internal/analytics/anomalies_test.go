package analytics_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/value"
	"callhouse/internal/longtest"
	"callhouse/internal/test"
)

// measures are the figures by which a day is judged: a value, and the number of calls it is based on.
var measures = []struct {
	name string
	of   func(calls []row) (v float64, n int)
}{
	{"calls", func(calls []row) (float64, int) { return float64(len(calls)), len(calls) }},
	{"connected_percent", func(calls []row) (float64, int) { return percentOf(count(calls, connected), len(calls)), len(calls) }},
	{"completed_percent", func(calls []row) (float64, int) {
		whole := count(calls, answered)
		return percentOf(count(calls, completed), whole), whole
	}},
	{"handle_ms", func(calls []row) (float64, int) {
		mean, n := handle(calls)
		ms, _ := mean.(int64)
		return float64(ms), int(n)
	}},
	{"negative_percent", func(calls []row) (float64, int) {
		rated := count(calls, func(r row) bool { return r["user_sentiment"] != nil && !reasonIs(r, "voicemail_reached") })
		v, _ := sentimentShare(calls, "negative").(float64)
		return v, rated
	}},
}

// aDay is a measure of one day, and what it is compared with.
type aDay struct {
	day                time.Time
	value, usual, step float64
	n, past            int
	distance           float64
	known              bool
}

// anomaliesOf judges every day that p selects, in every group, by the days before it.
func anomaliesOf(groups []*group, p question.Params, loc *time.Location) (out [][]any, judged string) {
	days, byCalls, byShares, of := 0, 0, map[[2]any]bool{}, map[any]bool{}
	cut := question.Params{Until: p.Until}
	if !p.Since.IsZero() {
		cut.Since = p.Since.In(loc).AddDate(0, 0, -120)
	}
	for _, g := range groups {
		byDay := map[time.Time][]row{}
		var first, last time.Time
		for _, d := range groupsOf(g.calls, question.Params{By: "day"}, loc) {
			if d.key == nil {
				continue
			}
			day := time.Time(d.key.(value.Date))
			if y, m, n := day.Date(); cutOff(time.Date(y, m, n, 0, 0, 0, 0, loc), time.Date(y, m, n+1, 0, 0, 0, 0, loc), cut) {
				continue
			}
			byDay[day] = d.calls
			if first.IsZero() {
				first = day
			}
			last = day
		}
		if first.IsZero() {
			continue
		}
		for _, m := range measures {
			all := map[time.Time]*aDay{}
			for day := first; !day.After(last); day = day.AddDate(0, 0, 1) {
				v, n := m.of(byDay[day])
				if !mayHave(g.key, p.By, day) || m.name != "calls" && n < 20 {
					continue
				}
				d := &aDay{day: day, value: v, n: n}
				all[day] = d
				d.judgeBy(m.name, all)
				if y, mm, n := day.Date(); !p.Since.IsZero() && time.Date(y, mm, n, 0, 0, 0, 0, loc).Before(p.Since) {
					continue
				}
				switch {
				case m.name != "calls":
					if d.known {
						byShares[[2]any{g.key, day}] = true
					}
				case d.known:
					byCalls++
					fallthrough
				default:
					days++
					of[g.key] = true
				}
				if score, ok := d.score(m.name, all); ok {
					out = append(out, []any{g.key, value.Date(day), m.name, v, d.usual, score, int64(n), int64(d.past)})
				}
			}
		}
	}
	sort.SliceStable(out, func(i, j int) bool {
		a, b := out[i], out[j]
		if x, y := time.Time(a[1].(value.Date)), time.Time(b[1].(value.Date)); !x.Equal(y) {
			return x.After(y)
		}
		if a[0] != b[0] {
			return keyLess(a[0], b[0])
		}
		return a[2].(string) < b[2].(string)
	})
	groupsToo := ""
	if p.By != "" {
		groupsToo = fmt.Sprintf(" (groups: %d)", len(of))
	}
	return out, fmt.Sprintf("judged by the number of calls: %d of %d days%s; by shares or times: %d; the others have too few calls or too short a past",
		byCalls, days, groupsToo, len(byShares))
}

// before returns those of the preceding 56 days that are like d, latest first.
func before(d *aDay, all map[time.Time]*aDay, alike func(day time.Time) bool) (out []*aDay) {
	for back := 1; back <= 56; back++ {
		if o := all[d.day.AddDate(0, 0, -back)]; o != nil && alike(o.day) {
			out = append(out, o)
		}
	}
	return out
}

func (d *aDay) past56(all map[time.Time]*aDay) []*aDay {
	return before(d, all, func(day time.Time) bool { return weekend(day) == weekend(d.day) })
}

// pastOf returns the days that d is compared with.
func (d *aDay) pastOf(all map[time.Time]*aDay) []*aDay {
	past := before(d, all, func(day time.Time) bool { return day.Weekday() == d.day.Weekday() })
	if len(past) < 4 {
		if past = d.past56(all); len(past) < 8 {
			return nil
		}
		past = past[:min(len(past), 28)]
	}
	return past
}

func (d *aDay) judgeBy(measure string, all map[time.Time]*aDay) {
	past := d.pastOf(all)
	if past == nil {
		return
	}
	var values []float64
	for _, o := range past {
		values = append(values, o.value)
	}
	d.past, d.usual = len(past), middle(values)
	switch measure {
	case "calls":
		d.step = math.Sqrt(max(d.usual, 1))
	case "handle_ms":
		d.step = d.usual / math.Sqrt(float64(d.n))
	default:
		p := (d.usual/100*float64(d.n) + 1) / float64(d.n+2)
		d.step = 100 * math.Sqrt(p*(1-p)/float64(d.n))
	}
	if d.step > 0 {
		d.known, d.distance = true, (d.value-d.usual)/d.knownStep()
	}
}

func (d *aDay) knownStep() float64 { return d.step * math.Sqrt(1+math.Pi/2/float64(d.past)) }

func (d *aDay) score(measure string, all map[time.Time]*aDay) (score float64, off bool) {
	if !d.known {
		return 0, false
	}
	var away []float64
	for _, o := range d.past56(all) {
		if o.known {
			away = append(away, math.Abs(o.distance))
		}
	}
	if len(away) < 8 {
		away = nil
		for _, o := range d.pastOf(all) {
			away = append(away, math.Abs(o.value-d.usual)/d.step)
		}
	}
	overdispersion := 1.4826 * middle(away)
	spread := max(overdispersion, 1) * d.knownStep()
	if measure == "handle_ms" {
		spread = max(spread, d.usual/10)
	}
	return (d.value - d.usual) / spread, math.Abs(d.value-d.usual) >= 3.5*spread
}

// middle returns the median.
func middle(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// mayHave reports whether calls of a day can belong to a group.
func mayHave(key any, by string, day time.Time) bool {
	if first, second, two := strings.Cut(by, ","); two {
		return mayHave(key.(pair).first, first, day) && mayHave(key.(pair).second, second, day)
	}
	switch by {
	case "day", "week":
		return time.Time(key.(value.Date)).Equal(time.Time(timeKey(day, by).(value.Date)))
	case "month", "weekday":
		return key == timeKey(day, by)
	}
	return true
}

// cutOff reports whether p's bounds exclude a part of a day.
func cutOff(midnight, next time.Time, p question.Params) bool {
	return !p.Since.IsZero() && p.Since.After(midnight) || !p.Until.IsZero() && p.Until.Before(next)
}

func weekend(day time.Time) bool {
	return day.Weekday() == time.Saturday || day.Weekday() == time.Sunday
}

// Three months of a company of two agents, with some bad days: the report finds what the oracle
// finds, and that includes the bad days.
func TestAnomalies(t *testing.T) {
	loc := zone(t, "America/New_York")
	r := rand.New(rand.NewPCG(5, 5))
	first := time.Date(2026, 8, 20, 0, 0, 0, 0, loc)
	var calls []row
	for day := range 80 { // across a clock change
		date := first.AddDate(0, 0, day)
		n := 30 + r.IntN(6)
		if weekend(date) {
			n = 8 + r.IntN(3)
		}
		switch day {
		case 40: // Tuesday: hardly any calls
			n = 2
		case 50: // Friday: no calls
			n = 0
		}
		for i := range n {
			at := date.Add(time.Duration(r.IntN(24*60-60)) * time.Minute)
			c := row{"call_id": fmt.Sprintf("%d-%d", day, i), "agent_id": []string{"one", "two"}[i%2], "start_at": at.UnixMilli(), "status": "ended", "user_turns": int64(1),
				"duration_ms": int64(50_000 + r.IntN(20_000)), "disconnection_reason": "user_hangup", "user_sentiment": maybe(r, 0, "neutral", "positive", "positive", "negative")}
			if day == 60 && i%2 == 0 { // Monday: agent one transfers every call
				c["disconnection_reason"] = "call_transfer"
			}
			if day == 70 { // long calls
				c["duration_ms"] = int64(300_000)
			}
			calls = append(calls, c)
		}
	}
	data := analyticstest.Data{Calls: calls}
	w := warehouse(t, data, loc)
	for _, p := range longtest.Some(6, []question.Params{{}, {By: "agent"}, {By: "user_sentiment"}, {By: "weekday"}, {By: "month,agent"}, {Since: first.Add(300 * time.Hour)}, {Until: first.Add(1500 * time.Hour)}}) {
		got := rowsOf(t, w, "anomalies", p)
		want := oracle("anomalies", data, p, loc)
		test.NoDiff(t, diffNear(want, got), "%+v (-oracle +report)", p)
		_, judged := anomaliesOf(groupsOf(calls, question.Params{By: p.By, Until: p.Until}, loc), p, loc)
		r, err := w.Remarks(t.Context(), analytics.Question{Report: "anomalies", Params: p})
		if test.OK(t, err); !slices.Contains(r.Notes, judged) {
			t.Errorf("%+v: %s, want %s", p, r.Notes, judged)
		}
	}
	for _, since := range longtest.Some(3, []time.Time{first.AddDate(0, 0, 39), {}, first.AddDate(0, 0, 70)}) { // the judged days may begin late
		checkFound(t, w, question.Params{Since: since}, "2026-09-29 calls", "2026-10-09 calls", "2026-10-19 completed_percent", "2026-10-29 handle_ms")
	}
}

func checkFound(t *testing.T, w *analytics.Warehouse, p question.Params, days ...string) {
	t.Helper()
	found := map[string]bool{}
	for _, line := range rowsOf(t, w, "anomalies", p) {
		found[time.Time(line[0].(value.Date)).Format(time.DateOnly)+" "+line[1].(string)] = true
	}
	for _, want := range days {
		if late := p.Since.IsZero() || want >= p.Since.Format(time.DateOnly); found[want] != late {
			t.Errorf("since %v: %s is found: %v; found are %v", p.Since, want, found[want], found)
		}
	}
}
