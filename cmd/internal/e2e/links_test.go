package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
)

// Unconnected calls are complete without analysis, cost and transcript, even if the service sends a
// recording link for them: coverage does not count them as lost, and no run requests them again.
func TestLinksOfCallsThatNeverConnected(t *testing.T) {
	t.Parallel()
	notUnderRace(t)
	longtest.Only(t)
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 31, Calls: sized(200, 600), Days: 8}})
	e := newEditor(c)
	e.edit = func(id string, call map[string]any) bool {
		call["recording_url"] = "https://recordings.example/" + id
		return true
	}
	for night := range 3 {
		if night > 0 {
			c.clock.Advance(4 * 24 * time.Hour)
		}
		if r := e.extract(); r.code != 0 || strings.Contains(r.stderr, "unexpected values") {
			t.Fatalf("night %d: exit code %d:\n%s", night, r.code, r.stderr)
		} else if told := strings.Contains(r.stderr, "opted out"); !told && night == 0 {
			t.Errorf("nothing says that links of callers who opted out were sent:\n%s", r.stderr)
		}
	}
	if n := number(t, c.one("SELECT count(*) AS v FROM calls WHERE NOT is_connected AND settlement <> 'settled' AND NOT opt_out_sensitive_data_storage")); n > 0 {
		t.Errorf("%d calls that never connected are not settled", n)
	}
	// The expired calls connected, and failed.
	expired := number(t, c.one("SELECT count(*) AS v FROM calls WHERE settlement = 'expired' AND is_connected AND status = 'error'"))
	r := c.query("coverage", "--format", "csv")
	for line := range strings.Lines(r.stdout) {
		if cells := strings.Split(line, ","); cells[1] == "lost" && cells[2] != fmt.Sprint(expired) {
			t.Errorf("coverage says %s, and %d calls are given up", line, expired)
		}
	}
	before := c.service.Server.Stats()
	e.extract().exits(t, 0)
	if now := c.service.Server.Stats(); now.ByKind["detail"] != before.ByKind["detail"] {
		t.Errorf("a run with nothing new asked for %d records", now.ByKind["detail"]-before.ByKind["detail"])
	}
}
