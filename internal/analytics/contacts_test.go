package analytics_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/question"
	"callhouse/internal/longtest"
	"callhouse/internal/schema"
)

// Attempts equal the oracle where months begin within a week, and where clocks change in one.
func TestAttemptsAroundMonthsAndChangesOfClocks(t *testing.T) {
	r := longtest.Rand(t)
	var d analyticstest.Data
	reasons := append(schema.Calls.Columns[schema.Calls.Column("disconnection_reason")].Known, "weird", "dial_weird")
	statuses := append(schema.Calls.Columns[schema.Calls.Column("status")].Known, "weird", "ended", "ended", "ended", "ended")
	for i := range 700 {
		// from 25 August to 12 November, or around the start of one of the months
		about := pick(r, []struct{ day, days int64 }{{20_690, 80}, {20_694, 8}, {20_724, 8}, {20_747, 14}})
		at := (about.day*24*60+r.Int64N(about.days*24*60))*60_000 + r.Int64N(2)
		d.Calls = append(d.Calls, row{"call_id": fmt.Sprint(i), "start_at": at, "call_type": maybe(r, .1, "outbound", "inbound", "phone"),
			"direction": maybe(r, .2, "outbound", "outbound", "outbound", "inbound"), "settlement": pick(r, []any{"settled", "settled", "ended", "open"}),
			"status": maybe(r, .1, statuses...), "disconnection_reason": maybe(r, .1, reasons...),
			"to_number": maybe(r, .05, slices.Sorted(maps.Keys(numbers))...), "to_e164": maybe(r, .6, "+1", "+2")})
	}
	root := t.TempDir()
	analyticstest.Write(t, root, 1, d)
	at := func(month time.Month, day, hour int) time.Time {
		return time.Date(2026, month, day, hour, 0, 0, 0, time.UTC)
	}
	for _, name := range []string{"UTC", "Asia/Seoul", "Europe/Berlin", "America/New_York", "America/St_Johns", "Australia/Lord_Howe", "Pacific/Chatham"} {
		w := open(t, root, zone(t, name))
		some := []question.Params{{Since: at(9, 17, 5)}, {Until: at(10, 20, 5)}, {Since: at(10, 1, 0), Until: at(11, 3, 0)}, {By: "weekday"}}
		for _, p := range []question.Params{{}, pick(r, some)} {
			rows, err := w.Report(t.Context(), "attempts", p)
			if d := diffNear(oracle("attempts", d, p, w.Location()), all(t, rows, err)); d != "" {
				t.Errorf("%s, %+v (-oracle +report):\n%s", name, p, d)
			}
		}
	}
}
