package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
	"callhouse/internal/schema"
	"callhouse/internal/test"
)

// bulkWorld is the company of the tests of v2 pages.
var bulkWorld = sandbox.Config{Seed: 31, Calls: 260, Days: 2}

// sum returns one text of all calls, turns and items of a warehouse, value by value, except fields
// only of v2 and the provenance of rows. It asks query: as stored, a row also has its file's period.
func (c *company) sum() string {
	c.t.Helper()
	rows, _ := c.objectsOf("sql", `SELECT 'calls' AS what, count(*)::VARCHAR AS n, bit_xor(hash(r))::VARCHAR AS sum FROM (SELECT * EXCLUDE (evaluation, credits_used, billed_seconds,
			extra, first_seen_at, fetched_at, run_id, transcript_source, recording_url) FROM calls) r
		UNION ALL SELECT 'turns', count(*)::VARCHAR, bit_xor(hash(r))::VARCHAR FROM (SELECT * EXCLUDE (fetched_at) FROM transcript_turns) r
		UNION ALL SELECT 'items', count(*)::VARCHAR, bit_xor(hash(r))::VARCHAR FROM (SELECT * EXCLUDE (fetched_at) FROM analysis_items) r`)
	return fmt.Sprint(rows)
}

// bulkState returns the state of v2 pages.
func (c *company) bulkState() schema.BulkState {
	c.t.Helper()
	s, err := layout.Current(c.warehouse)
	test.OK(c.t, err)
	if s.Manifest.Bulk == nil {
		return ""
	}
	return s.Manifest.Bulk.State
}

// Whatever the service's v2 pages contain, the warehouse equals v3, value by value, after the first run. The next
// night depends on the first one's result and on the calls due: with -worlds 1, one such night is tried for each.
func TestBulkPagesOfEveryKind(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	of := func(v2 string) (*company, sandbox.Options) {
		mode, err := sandbox.ParseV2(v2)
		test.OK(t, err)
		opts := sandbox.Options{World: bulkWorld, V2: mode}
		return found(t, opts), opts
	}
	plain, _ := of("")
	plain.mustExtract("--transcripts", "v3")
	want, due := plain.sum(), plain.service.Server.Stats().ByKind["detail"]
	const few = 30 // records: twenty of the first page, and one in 500
	for _, m := range []struct {
		v2      string
		pages   int64 // maximum
		details int64 // maximum; 0: all
		state   schema.BulkState
		code    int
		says    string
	}{
		{"", 4, few, schema.BulkTrusted, cli.ExitOK, ""},
		{"off", 2, 0, schema.BulkAbsent, cli.ExitOK, "abandoned: 404"},        // other statuses: TestServicesWithoutPages in the crawler
		{"off=503", 4, 0, "", cli.ExitOK, "abandoned: they fail: status 503"}, // other failures: TestOptionalWorkDelaysNoTranscript
		{"other-shape", 1, 0, schema.BulkAbsent, cli.ExitOK, "not a page of a list"},
		{"removed-after=1", 3, 0, schema.BulkAbsent, cli.ExitOK, "abandoned: 404"},
		{"spoken-only", 1, 0, schema.BulkAbsent, cli.ExitOK, "no transcripts that can replace those of their records"},
		{"duplicate-keys", 4, few, schema.BulkTrusted, cli.ExitOK, ""},
		{"shift", 4, few, schema.BulkTrusted, cli.ExitOK, ""},
		{"ignore-filter", 6, 0, schema.BulkTrusted, cli.ExitOK, ""},
		{"extra-calls=90", 4, few, schema.BulkTrusted, cli.ExitOK, ""},
		{"slow-above=40:500", 14, few, schema.BulkTrusted, cli.ExitOK, ""},
		{"slow-above=40:cut", 14, few, schema.BulkTrusted, cli.ExitOK, ""},
		{"slow-above=1:504", 4, 0, "", cli.ExitOK, "abandoned: they fail"},
		{"wrong-turns=1", 1, 0, schema.BulkRefuted, cli.ExitIncomplete, "that was fetched in bulk differs"},
	} {
		t.Run(m.v2, func(t *testing.T) {
			t.Parallel()
			c, _ := of(m.v2)
			c.t = t
			r := c.extract(t.Context(), "--transcripts", "auto")
			stats := c.service.Server.Stats()
			pages, details := stats.ByKind["bulk"], stats.ByKind["detail"]
			want := want
			if m.v2 == "extra-calls=90" { // v3 lacks these calls
				by := *c
				by.warehouse = t.TempDir()
				by.mustExtract("--transcripts", "v3")
				want = by.sum()
			}
			if got := c.sum(); got != want {
				t.Errorf("the warehouse has %s, want %s", got, want)
			}
			r.reports(t, m.code, m.says)
			if pages < 1 || pages > m.pages || m.details > 0 && details > m.details || m.details == 0 && details > due {
				t.Errorf("%d pages and %d details; at most %d and %d of %d", pages, details, m.pages, m.details, due)
			}
			if got := c.bulkState(); got != m.state {
				t.Errorf("status says %q, want %q", got, m.state)
			}
			if *worlds == 1 && !slices.Contains([]string{"", "off", "off=503", "removed-after=1", "slow-above=1:504", "wrong-turns=1"}, m.v2) {
				return
			}
			requested := c.service.Server.Stats().ByKind["bulk"]
			c.clock.Advance(20 * time.Hour)
			c.extract(t.Context(), "--transcripts", "auto")
			sameAsTruth(t, c)
			extractAt(t.Context(), c.clock.Now, "verify", "--warehouse", c.warehouse).exits(t, cli.ExitOK)
			again := c.service.Server.Stats().ByKind["bulk"] - requested
			if off := m.state == schema.BulkAbsent || m.state == schema.BulkRefuted; off && again > 0 {
				t.Errorf("the next night asked for %d v2 pages", again)
			}
		})
	}
}
