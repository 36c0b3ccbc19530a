package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
	"callhouse/internal/schema"
)

// perNight is a share that lets a night compare 90 transcripts at the limits of the tests.
const perNight = "0.000002"

// verified has the figures of a run's row about v2 transcripts.
type verified struct{ came, compared, later, differing, left, requests int64 }

// verifiedBy returns the figures of the last run.
func (c *company) verifiedBy() verified {
	c.t.Helper()
	rows := c.sql(`SELECT bulk_transcripts, bulk_compared, bulk_verified, bulk_differing, bulk_unverified, detail_requests
		FROM runs ORDER BY started_at DESC LIMIT 1`)
	n := func(name string) int64 { return number(c.t, rows[0][name]) }
	return verified{n("bulk_transcripts"), n("bulk_compared"), n("bulk_verified"), n("bulk_differing"), n("bulk_unverified"), n("detail_requests")}
}

// sameAsV3 compares the warehouse with one filled from v3 only.
func (c *company) sameAsV3() {
	c.t.Helper()
	sameAsTruth(c.t, c)
	reference := *c
	reference.warehouse = c.t.TempDir()
	reference.mustExtract("--transcripts", "v3")
	const turns = "SELECT count(*)::BIGINT AS n, bit_xor(hash(r))::VARCHAR AS sum FROM (SELECT * EXCLUDE (fetched_at) FROM transcript_turns) r"
	if got, want := fmt.Sprint(c.sql(turns)), fmt.Sprint(reference.sql(turns)); got != want {
		c.t.Errorf("the warehouse has %s, want %s", got, want)
	}
	if v := extractAt(c.t.Context(), c.clock.Now, "verify", "--all", "--warehouse", c.warehouse); v.code != cli.ExitOK {
		c.t.Errorf("verify: %s%s", v.stdout, v.stderr)
	}
}

// If v2 is correct, all of its transcripts are compared with v3 after some nights, each night
// within its share, and nothing else changes. Afterwards a night sends no additional requests.
func TestEveryTranscriptIsVerified(t *testing.T) {
	t.Parallel()
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 34, Calls: sized(120, 1500), Days: 2}})
	c.mustExtract("--transcripts", "auto", "--resources", "none")
	first := c.verifiedBy()
	if first.came == 0 || first.left != first.came || first.later > 0 {
		t.Fatalf("the first night: %+v", first)
	}
	before, last, nights := c.sum(), first, int64(0)
	for ; last.left > 0 && nights < 30; nights++ {
		c.clock.Advance(time.Second) // the rows of runs are in order
		c.mustExtract("--transcripts", "auto", "--resources", "none", "--verify-transcripts", perNight)
		was := last
		last = c.verifiedBy()
		if last.later > 92 || last.later < 1 || last.left != was.left+last.came-last.later || last.differing > 0 {
			t.Errorf("night %d: %+v after %+v", nights, last, was)
		}
	}
	if want := first.left/92 + 1; nights < want || nights > want+2 {
		t.Errorf("%d transcripts took %d nights", first.left, nights)
	}
	if after := c.sum(); after != before {
		t.Errorf("the warehouse has %s, and had %s", after, before)
	}
	coverage := c.query("coverage").stdout
	if !strings.Contains(coverage, "page of v2 compared with v3") || strings.Contains(coverage, "still to be compared") || strings.Contains(coverage, "may differ") {
		t.Errorf("the coverage is\n%s", coverage)
	}
	asked := func(share string) int64 {
		at := c.service.Server.Stats().Requests
		c.mustExtract("--transcripts", "auto", "--resources", "none", "--verify-transcripts", share)
		return c.service.Server.Stats().Requests - at
	}
	if with, without := asked("1"), asked("0"); with != without {
		t.Errorf("a night without unverified transcripts takes %d requests instead of %d", with, without)
	}
	c.sameAsV3()
}

// If v2 begins to truncate transcripts, all are as in v3 after ten nights: after the first mismatch
// v2 is no longer used, and all are fetched again, in the same night or within the time limit of
// the next ones.
func TestTruncatedTranscriptsAreFound(t *testing.T) {
	t.Parallel()
	notUnderRace(t)
	longtest.Only(t)
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 35, Calls: sized(900, 3000), Days: 20}})
	c.clock.Advance(-10 * 24 * time.Hour) // half of the calls are still in the future
	c.mustExtract("--transcripts", "auto")
	c.mode("truncate=0.02")
	truncated := func() (n int64) {
		for v := range c.service.Server.World().Visible(c.clock.Now()) {
			if v.Transcript && c.service.Server.V2Wrong(&v.Call) {
				n++
			}
		}
		return n
	}
	found, refuted := int64(0), 0
	for night := 1; night <= 10; night++ {
		c.clock.Advance(24 * time.Hour)
		r := c.extract(t.Context(), "--transcripts", "auto", "--verify-transcripts", perNight)
		row := c.verifiedBy()
		found += row.differing
		t.Logf("night %2d: %d came from v2, %d compared, %d different, %d left; exit code %d, %s; %d calls would be truncated",
			night, row.came, row.compared+row.later, row.differing, row.left, r.code, c.bulkState(), truncated())
		switch {
		case row.differing > 0 && refuted == 0:
			refuted = night
			if r.code != cli.ExitIncomplete || c.bulkState() != schema.BulkRefuted || row.left > 0 {
				t.Errorf("night %d: exit code %d, v2 is %s, %+v", night, r.code, c.bulkState(), row)
			}
			coverage := c.query("coverage").stdout
			if !strings.Contains(coverage, "transcript of v2 that differed") || strings.Contains(coverage, "still to be compared") {
				t.Errorf("the coverage is\n%s", coverage)
			}
		case r.code != cli.ExitOK || refuted > 0 && (row.came > 0 || row.later > 0):
			t.Errorf("night %d: exit code %d, %+v\n%s", night, r.code, row, r.stderr)
		}
	}
	if found == 0 || refuted == 0 {
		t.Error("no truncated transcript was found")
	}
	c.sameAsV3()
}

// verifyKills is the number of runs that TestKilledWhileVerifying kills; make crash uses 50.
var verifyKills = longtest.Int("verify-kills", 1, 3, "how many runs TestKilledWhileVerifying kills")

// A run killed among comparisons loses none that is durable: records fetched by then are not
// requested again, and a wrong transcript is never kept.
func TestKilledWhileVerifying(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	c, run := killable(t, sandbox.Config{Seed: 36, Calls: sized(300, 1000), Days: 4}, "detail")
	if run(0, 0) {
		t.Fatal("the first run was killed")
	}
	came := c.verifiedBy().came
	asked := c.service.Server.Stats().ByKind["detail"]
	killed, rnd := 0, longtest.Rand(t)
	for range *verifyKills {
		if run(1+rnd.Int64N(came/2), time.Duration(rnd.Int64N(int64(30*time.Millisecond)))) {
			killed++
		}
	}
	t.Logf("%d of %d runs were killed", killed, *verifyKills)
	if run(0, 0) {
		t.Fatal("the last run was killed")
	}
	if left := c.verifiedBy().left; left > 0 {
		t.Errorf("%d of %d are left", left, came)
	}
	// At most one request per worker was in flight, and new calls arrive meanwhile.
	if n := c.service.Server.Stats().ByKind["detail"] - asked; n > came+int64(killed)*70+60 {
		t.Errorf("%d records were requested for %d transcripts", n, came)
	}
	if n := fmt.Sprint(c.one("SELECT count(*) AS v FROM calls WHERE transcript_source = 'v2'")); n != "0" {
		t.Errorf("%s transcripts are still those of v2", n)
	}
	sameAsTruth(t, c)
}
