package e2e

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"callhouse/internal/sandbox"
)

// A run's last line says what the next night costs. With the new calls, that is what it then costs.
func TestNextNight(t *testing.T) {
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 5, Calls: 60, Days: 2}})
	var said, before int64
	for night := range 3 {
		r := c.extract(t.Context(), "--resources", "all", "--transcripts", "auto")
		stats := c.service.Server.Stats()
		spent := stats.Requests - before
		before = stats.Requests
		fresh := number(t, c.one("SELECT calls_new FROM runs ORDER BY started_at DESC LIMIT 1"))
		if night > 0 && (spent < said*2/3 || spent > said+fresh) {
			t.Errorf("night %d took %d requests for %d new calls, and the one before said %d", night, spent, fresh, said)
		}
		m := regexp.MustCompile(`  next night +about ([0-9,]+) requests? [^\n]*\n$`).FindStringSubmatch(r.stderr)
		if m == nil {
			t.Fatalf("night %d does not say: %s", night, r.stderr)
		}
		said, _ = strconv.ParseInt(strings.ReplaceAll(m[1], ",", ""), 10, 64)
		c.clock.Advance(24 * time.Hour)
	}
}
