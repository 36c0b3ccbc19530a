package e2e

import (
	"fmt"
	"slices"
	"strings"
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
// only of v2 and the provenance of rows.
func (c *company) sum() string {
	c.t.Helper()
	rows := c.sql(`SELECT 'calls' AS what, count(*)::VARCHAR AS n, bit_xor(hash(r))::VARCHAR AS sum FROM (SELECT * EXCLUDE (evaluation, credits_used, billed_seconds,
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

// Whatever the service's v2 pages contain, the warehouse equals v3, value by value, after the first
// run. The next night depends on the first one's result and on the calls due: the quick tests try
// one such night for each.
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
	tried := longtest.Each(6)
	const few = 30 // records: twenty of the first page, and one in 500
	for i, m := range []struct {
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
			if !tried(i) && m.state != schema.BulkRefuted && m.v2 != "" {
				longtest.Only(t)
			}
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
			extractAt(t.Context(), c.clock.Now, "verify", "--all", "--warehouse", c.warehouse).exits(t, cli.ExitOK)
			if r := c.extract(t.Context(), "status"); m.v2 == "off=503" && !strings.Contains(r.stdout, "\n  skipped       bulk requests, until ") {
				t.Errorf("status does not say that v2 pages are skipped:\n%s", r.stdout)
			}
			again := c.service.Server.Stats().ByKind["bulk"] - requested
			if off := m.state == schema.BulkAbsent || m.state == schema.BulkRefuted || m.v2 == "off=503"; off && again > 0 {
				t.Errorf("the next night asked for %d v2 pages", again)
			}
		})
	}
}

// mode changes the service's v2 faults.
func (c *company) mode(v2 string) {
	c.t.Helper()
	m, err := sandbox.ParseV2(v2)
	if err == nil {
		err = c.service.Server.SetV2(m)
	}
	test.OK(c.t, err)
}

// If v2 pages turn out to be wrong on a later night, all their earlier transcripts are distrusted.
// v2 is used again only on request, and is then verified from the start.
func TestBulkPagesThatBecomeWrong(t *testing.T) {
	t.Parallel()
	notUnderRace(t)
	longtest.Only(t)
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 32, Calls: sized(300, 500), Days: 6}})
	fromV2 := func() string {
		return fmt.Sprint(c.one("SELECT count(*) AS v FROM calls WHERE transcript_source = 'v2'"))
	}
	c.mustExtract("--transcripts", "auto")
	if c.bulkState() != schema.BulkTrusted || fromV2() == "0" {
		t.Fatalf("the pages are %q, and %s transcripts came on them", c.bulkState(), fromV2())
	}
	c.clock.Advance(24 * time.Hour)
	c.mode("wrong-turns=1")
	r := c.extract(t.Context(), "--transcripts", "auto")
	if r.code != cli.ExitIncomplete || !strings.Contains(r.stderr, "are fetched again, one by one") || c.bulkState() != schema.BulkRefuted {
		t.Errorf("exit code %d, the pages are %q:\n%s", r.code, c.bulkState(), r.stderr)
	}
	if n := fromV2(); n != "0" {
		t.Errorf("%s transcripts are still those of v2", n)
	}
	reference := *c
	reference.warehouse = t.TempDir()
	reference.mustExtract("--transcripts", "v3")
	if got, want := c.sum(), reference.sum(); got != want {
		t.Errorf("the warehouse has %s, want %s", got, want)
	}
	c.mode("")
	c.clock.Advance(24 * time.Hour)
	requested := c.service.Server.Stats().ByKind["bulk"]
	c.mustExtract("--transcripts", "auto")
	if n := c.service.Server.Stats().ByKind["bulk"] - requested; n > 0 || c.bulkState() != schema.BulkRefuted {
		t.Errorf("%d pages were asked for, and are %q", n, c.bulkState())
	}
	c.clock.Advance(24 * time.Hour)
	c.mustExtract("--transcripts", "v2")
	if c.bulkState() != schema.BulkTrusted || fromV2() == "0" {
		t.Errorf("asked to use the pages: they are %q, and %s transcripts came on them", c.bulkState(), fromV2())
	}
	sameAsTruth(t, c)
	runs := c.sql("SELECT sum(bulk_requests)::BIGINT AS requests, sum(bulk_transcripts)::BIGINT AS transcripts, sum(bulk_differing)::BIGINT AS differing FROM runs")
	if number(t, runs[0]["requests"]) != c.service.Server.Stats().ByKind["bulk"] || number(t, runs[0]["differing"]) < 1 {
		t.Errorf("the runs say %v", runs)
	}
}

// killable founds a company whose runs, with v2 pages, are killed some time after the service has
// received a number of requests of a kind; 0: never.
func killable(t *testing.T, world sandbox.Config, kind string) (c *company, run func(after int64, wait time.Duration) (killed bool)) {
	t.Helper()
	bin := linkProgram(t, t.TempDir(), "extract")
	fuse := new(fuse)
	c = foundNow(t, sandbox.Options{World: world, Inject: func(_ int64, r sandbox.Request) sandbox.FaultKind {
		if r.Kind == kind {
			fuse.burn()
		}
		return ""
	}})
	return c, func(after int64, wait time.Duration) bool {
		return c.runProgram(fuse.light(t, after, wait), bin, "--transcripts", "auto")
	}
}

// bulkKills is the number of runs that TestKilledAmongBulkPages kills; make soak uses 50.
var bulkKills = longtest.Int("bulk-kills", 1, 3, "how many runs TestKilledAmongBulkPages kills")

// A run killed while fetching v2 pages loses nothing, and durable data is not requested again.
func TestKilledAmongBulkPages(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	c, run := killable(t, sandbox.Config{Seed: 33, Calls: sized(300, 1000) * int64(*bulkKills), Days: 4}, "bulk")
	killed, rnd := 0, longtest.Rand(t)
	for i := range *bulkKills {
		switch back := 2 * time.Minute; i { // so pages can be older than the list items before them
		case 1:
			c.clock.Advance(-back)
		case 2:
			c.clock.Advance(back)
		}
		if run(1+rnd.Int64N(sized(3, 6)), time.Duration(rnd.Int64N(int64(60*time.Millisecond)))) {
			killed++
		}
		if i > 0 && i%10 == 0 {
			if v := extract(t.Context(), "verify", "--warehouse", c.warehouse); v.code != cli.ExitOK {
				t.Fatalf("after %d kills: %s%s", killed, v.stdout, v.stderr)
			}
		}
	}
	t.Logf("%d of %d runs were killed", killed, *bulkKills)
	if run(0, 0) {
		t.Fatal("the last run was killed")
	}
	sameAsTruth(t, c)
	extract(t.Context(), "verify", "--all", "--warehouse", c.warehouse).exits(t, cli.ExitOK)
	// A killed run may lose the four pages in flight, and begins again with smaller ones. Some 450
	// of 500 calls are due.
	if n, most := c.service.Server.Stats().ByKind["bulk"], int64(*bulkKills*(2+8)+12); n > most {
		t.Errorf("%d v2 pages were asked for, want at most %d", n, most)
	}
}
