package e2e

import (
	"fmt"
	"math/big"
	"path/filepath"
	"strconv"
	"strings"
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

// Costs are summed with every digit sent, in any spelling. Costs that no column can hold are
// counted by status, in coverage, and in the coverage line of every report with costs.
func TestCostsWithManyDecimals(t *testing.T) {
	t.Parallel()
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 71, Calls: 100, Days: 2}})
	e := newEditor(c)
	sent, sum, unheld := map[string]string{}, new(big.Rat), 0
	prices := []string{"0.05", "0.04213", "0.1234567", "0.0000000000000000000012"}
	e.edit = func(id string, call map[string]any) bool {
		cost, ok := call["call_cost"].(map[string]any)
		if !ok {
			return true
		}
		if sent[id] == "" {
			sent[id] = prices[len(sent)%len(prices)]
			price, _ := new(big.Rat).SetString(sent[id])
			if len(sent[id]) > 20 {
				unheld++
			} else {
				sum.Add(sum, price)
			}
		}
		cost["total_cost"] = sent[id]
		return true
	}
	e.extract().exits(t, cli.ExitOK)
	held := len(sent) - unheld
	if held < 30 || unheld < 10 {
		t.Fatalf("%d costs, %d of them unheld", len(sent), unheld)
	}
	want := strings.TrimRight(sum.FloatString(18), "0")
	row := c.sql("SELECT sum(total_cost) AS cost, count(total_cost) AS n FROM calls")[0]
	if fmt.Sprint(row["cost"]) != want || fmt.Sprint(row["n"]) != strconv.Itoa(held) {
		t.Errorf("SQL sums %v of %v calls, want %s of %d", row["cost"], row["n"], want, held)
	}
	r := c.query("costs", "--format", "csv")
	r.exits(t, cli.ExitOK)
	_, line, _ := strings.Cut(strings.TrimSpace(r.stdout), "\n")
	if cells := strings.Split(line, ","); cells[2] != want || cells[6] != strconv.Itoa(held) {
		t.Errorf("costs tells %q, want %s of %d", cells, want, held)
	}
	said := strconv.Itoa(unheld) + " have a cost that does not fit total_cost"
	for _, report := range []string{"costs", "agents"} {
		if r := c.query(report); !strings.Contains(r.stderr, said) {
			t.Errorf("%s says %q, not %q", report, r.stderr, said)
		}
	}
	if r := c.query("coverage", "--format", "csv"); !strings.Contains(r.stdout, "cost that total_cost cannot hold,lost,"+strconv.Itoa(unheld)+",") {
		t.Errorf("coverage tells\n%s", r.stdout)
	}
	if r := extractAt(t.Context(), c.clock.Now, "status", "--warehouse", c.warehouse); !strings.Contains(r.stdout, strconv.Itoa(unheld)+" calls with a cost that does not fit total_cost") {
		t.Errorf("status tells\n%s", r.stdout)
	}
}

// A caller opts out after the call was copied: the next run that lists the call erases the withheld
// data from the current snapshot; earlier snapshots are removed a day and three commits later; the
// journal has none of the data; and the call itself stays, with its times and cost.
func TestOptOutAfterTheCall(t *testing.T) {
	t.Parallel()
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 61, Calls: 150, Days: 8}})
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
	e.extract("verify", "--all").exits(t, cli.ExitOK)
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
