package e2e

import (
	"encoding/json"
	"testing"
	"time"

	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
	"callhouse/internal/test"
)

var nightCalls = longtest.Int("night-calls", 1200, 20000, "calls known before the night of TestNightCostsTheMinimum")

// instant returns the instant, in milliseconds, of a statement.
func (c *company) instant(statement string) int64 {
	c.t.Helper()
	n, err := c.one(statement).(json.Number).Int64()
	test.OK(c.t, err)
	return n
}

// A night costs the pages of the last three days, and older ones with unsettled calls (failed calls
// never get an analysis, and are listed until they expire), and one detail for each call that ended
// since the night before and can have a transcript. Without new calls it costs only the pages.
func TestNightCostsTheMinimum(t *testing.T) {
	t.Parallel()
	longtest.Only(t)
	known := int64(*nightCalls)
	days := min(200, int(known/50)) // so that a night has one in two hundred calls, and some
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 7, Calls: known, Days: days}})
	c.mustExtract()
	before, evening := c.service.Server.Stats(), c.clock.Now()
	oldest := c.instant("SELECT epoch_ms(min(start_at)) FROM calls WHERE settlement IN ('open', 'ended')")

	c.clock.Advance(24 * time.Hour)
	now := c.clock.Now()
	from := min(oldest, now.Add(-72*time.Hour).UnixMilli())
	due, listed := int64(0), int64(0)
	for v := range c.service.Server.World().Visible(now) {
		if !v.Started || v.StartAt >= from {
			listed++
		} else {
			break // newest first
		}
		fresh := v.EndAt > evening.UnixMilli() || !v.Over
		talked := v.Status == "ended" || v.Status == "error" && v.EndAt > v.StartAt
		if v.Over && fresh && talked && !v.OptedOut {
			due++
		}
	}
	c.mustExtract()
	after := c.service.Server.Stats()
	minimum := (listed+99)/100 + due
	spent := after.Requests - before.Requests
	t.Logf("%d calls known; the night had %d requests (%d pages, %d details), the minimum is %d", known, spent,
		after.ByKind["page"]-before.ByKind["page"], after.ByKind["detail"]-before.ByKind["detail"], minimum)
	if spent > minimum+max(2, minimum/50) {
		t.Errorf("the night had %d requests, the minimum is %d", spent, minimum)
	}

	c.mustExtract()
	again := c.service.Server.Stats()
	if n := again.ByKind["detail"] - after.ByKind["detail"]; n != 0 {
		t.Errorf("a night with nothing new fetched %d details", n)
	}
	if n := again.ByKind["page"] - after.ByKind["page"]; n > (listed+99)/100+1 { // calls have expired since: no more pages than before
		t.Errorf("a night with nothing new listed %d pages, %d calls are in its window", n, listed)
	}
}
