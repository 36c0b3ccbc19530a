package analytics_test

import (
	"fmt"
	"testing"
	"time"

	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/question"
	"callhouse/internal/longtest"
)

// St. John's changed its clocks at one minute past midnight, and Liberia was 44 and a half minutes
// behind. If a broken clock dates a call centuries ahead, the zone has too many changes for a table
// of its offsets.
func TestDaysInOddZones(t *testing.T) {
	for _, c := range []struct {
		zone string
		cut  time.Time
		far  bool
	}{
		{"America/St_Johns", time.Date(2010, 11, 7, 2, 31, 0, 0, time.UTC), false}, // 00:01, back to 23:01 of the previous day
		{"America/St_Johns", time.Date(2010, 11, 7, 2, 31, 0, 0, time.UTC), true},
		{"Africa/Monrovia", time.Date(1971, 6, 1, 0, 44, 30, 0, time.UTC), false}, // midnight
	} {
		var calls []row
		for i := range 8 {
			calls = append(calls, row{"call_id": fmt.Sprint(i), "start_at": c.cut.UnixMilli() + int64(i-4)*30_000, "user_sentiment": "positive"})
		}
		groups := map[string]int{"day": 2, "hour": 2}
		if c.far {
			groups["day"]++ // its hour counts as one of the two
			calls = append(calls, row{"call_id": "far", "start_at": c.cut.AddDate(300, 0, 0).UnixMilli(), "user_sentiment": "positive"})
		}
		d := analyticstest.Data{Calls: calls}
		root := t.TempDir()
		analyticstest.Write(t, root, 1, d)
		loc := zone(t, c.zone)
		w := open(t, root, loc)
		for by, groups := range groups {
			rows, err := w.Report(t.Context(), "sentiment", question.Params{By: by})
			got := all(t, rows, err)
			want := oracle("sentiment", d, question.Params{By: by}, loc)
			if d := diffNear(want, got); d != "" || len(want) != groups {
				t.Errorf("%s by %s, far %v, in %d groups (-oracle +report):\n%s", c.zone, by, c.far, len(want), d)
			}
		}
	}
}

// The service has sent calls that end before they start; they are counted as sent.
func TestDurationsBelowZero(t *testing.T) {
	var calls []row
	for i, ms := range []int64{-12_000, -5_001, -5_000, -4_999, -3, -3, 0, 2, 4_999, 5_000, 5_001, 60_000} {
		calls = append(calls, row{"call_id": fmt.Sprint(i), "start_at": time.Date(2026, 10, i+1, 0, 0, 0, 0, time.UTC).UnixMilli(), "duration_ms": ms})
	}
	d := analyticstest.Data{Calls: calls}
	root := t.TempDir()
	analyticstest.Write(t, root, 1, d)
	w := open(t, root, nil)
	tried := longtest.Each(4)
	for n := range len(calls) {
		if !tried(n) {
			continue
		}
		p := question.Params{Since: time.Date(2026, 10, n+1, 0, 0, 0, 0, time.UTC)}
		for _, report := range []string{"durations", "distribution"} {
			rows, err := w.Report(t.Context(), report, p)
			if d := diff(oracle(report, d, p, time.UTC), all(t, rows, err)); d != "" {
				t.Errorf("%s since day %d (-oracle +report):\n%s", report, n+1, d)
			}
		}
	}
}
