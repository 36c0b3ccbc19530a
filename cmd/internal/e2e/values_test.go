package e2e

import (
	"path/filepath"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/sandbox"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/test"
)

// A caller opts out after the call was copied: the next run that lists the call erases the withheld
// data from the current snapshot; earlier snapshots are removed a day and three commits later; the
// journal has none of the data; and the call itself stays, with its times and cost.
func TestOptOutAfterTheCall(t *testing.T) {
	t.Parallel()
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 61, Calls: 120, Days: 6}})
	e := newEditor(c)
	e.extract().exits(t, cli.ExitOK)
	recent, ok := c.one(`SELECT max(call_id) AS v FROM calls WHERE settlement = 'settled' AND turn_count > 3
		AND start_at > (SELECT max(start_at) FROM calls) - INTERVAL 40 HOUR`).(string)
	if !ok {
		t.Fatal("no call is fit")
	}
	old := c.settledCall()
	e.edit = func(id string, call map[string]any) bool {
		if id == recent || id == old {
			call["opt_out_sensitive_data_storage"] = true // the service still sends the rest
		}
		return true
	}
	first := c.holding(recent)
	if len(first) == 0 || len(c.holding(old)) == 0 {
		t.Fatal("no snapshot holds the transcripts")
	}
	before := c.service.Server.Stats()
	e.extract().exits(t, cli.ExitOK)
	if n := c.service.Server.Stats().ByKind["detail"] - before.ByKind["detail"]; n != 0 {
		t.Errorf("%d details were asked for", n)
	}
	current := current(t, c.warehouse)
	n := current.Manifest.Snapshot
	call, err := sink.Find(t.Context(), current, recent)
	if err != nil || call == nil {
		t.Fatalf("the call is gone: %v", err)
	}
	if call.TranscriptState() != calls.Withheld || call.Turns().Len()+call.Items().Len() > 0 || call.HasWithheld() ||
		call.Row[schema.Calls.Column("total_cost")].IsNull() || !call.EndAt().OK {
		t.Errorf("of the call are kept %+v", call)
	}
	if now := c.holding(recent); now[n] || len(now) == 0 {
		t.Errorf("of the snapshots to %d these hold the transcript: %v", n, now)
	}
	// The old call is listed again within a week, or at once on request.
	if now := c.holding(old); !now[n] {
		t.Errorf("a call that was not listed has changed")
	}
	e.extract("--full").exits(t, cli.ExitOK)
	// A day and three commits later no snapshot has it.
	for range 3 {
		c.clock.Advance(25 * time.Hour)
		e.extract().exits(t, cli.ExitOK)
	}
	for _, id := range []string{recent, old} {
		if now := c.holding(id); len(now) > 0 {
			t.Errorf("these snapshots still hold the transcript of %s: %v", id, now)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(c.warehouse, layout.JournalName, "*")); len(left) > 0 {
		t.Errorf("the journal holds %v", left)
	}
	e.extract("verify").exits(t, cli.ExitOK)
}

// holding returns the kept snapshots with turns of a call.
func (c *company) holding(id string) map[int64]bool {
	c.t.Helper()
	current := current(c.t, c.warehouse)
	all, err := sink.Retained(c.warehouse, current)
	test.OK(c.t, err)
	out := map[int64]bool{}
	for _, s := range all {
		test.OK(c.t, err)
		call, err := sink.Find(c.t.Context(), s, id)
		test.OK(c.t, err)
		if call != nil && call.Turns().Len() > 0 {
			out[s.Manifest.Snapshot] = true
		}
	}
	return out
}
