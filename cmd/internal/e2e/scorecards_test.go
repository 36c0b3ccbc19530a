package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"callhouse/internal/sandbox"
)

// Evaluations come from v2 pages, in undocumented forms. The report counts exactly those that the
// sandbox made good, in any form.
func TestScorecardsOfTheSandbox(t *testing.T) {
	t.Parallel()
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 35, Calls: 240, Days: 2, Agents: 3}})
	c.mustExtract("--transcripts", "auto", "--resources", "none")
	held := map[any]bool{}
	for _, row := range c.sql("SELECT call_id FROM calls WHERE evaluation IS NOT NULL") {
		held[row["call_id"]] = true
	}
	if len(held) < 100 {
		t.Fatalf("%d calls have an evaluation", len(held))
	}
	want := map[string][2]int64{} // judged, and good
	for v := range c.service.Server.World().Visible(c.clock.Now()) {
		if held[v.ID.String()] {
			path := [...]string{"task_completed", "task_completed", "criteria.task_completed.passed"}[v.Agent.Number%3]
			n := want[v.Agent.ID.String()+" "+path]
			if n[0]++; v.Good {
				n[1]++
			}
			want[v.Agent.ID.String()+" "+path] = n
		}
	}
	if len(want) != 3 {
		t.Fatalf("there are %d shapes: %v", len(want), want)
	}
	var rows []map[string]any
	r := c.query("scorecards", "--by", "agent", "--format", "json")
	d := json.NewDecoder(strings.NewReader(r.stdout))
	d.UseNumber()
	if err := d.Decode(&rows); err != nil {
		t.Fatal(err, r)
	}
	got, kinds := map[string][2]int64{}, map[any]int{}
	for _, row := range rows {
		if kinds[row["kind"]]++; row["kind"] == "boolean" {
			got[fmt.Sprint(row["agent"], " ", row["criterion"])] = [2]int64{number(t, row["judged"]), number(t, row["hits"])}
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the report has\n%v, want\n%v", got, want)
	}
	for _, kind := range []string{"number", "string", "null", "array"} {
		if kinds[kind] == 0 {
			t.Errorf("there is no %s: %v", kind, kinds)
		}
	}
}
