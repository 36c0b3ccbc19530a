package e2e

import (
	"encoding/csv"
	"fmt"
	"maps"
	"math/big"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/resource"
	"callhouse/internal/sandbox"
	"callhouse/internal/sandbox/organisation"
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

// The sandbox knows the direction of each call, which the types phone and api do not show. The
// warehouse and the reports derive it from the organisation's numbers, even if these are fetched
// later than the calls.
func TestDirectionOfCalls(t *testing.T) {
	t.Parallel()
	world := sandbox.Config{Seed: 33, Calls: 150, Days: 2, Agents: 6}
	c := found(t, sandbox.Options{World: world, Organisation: organisation.Config{Pace: -1}})
	c.mustExtract("--resources", "none")
	if n := c.one("SELECT count(*) AS v FROM calls WHERE direction = 'unknown'"); fmt.Sprint(n) == "0" {
		t.Error("without the organisation's numbers, every direction is known")
	}
	c.clock.Advance(time.Hour)
	c.mustExtract("--resources", "telephone_numbers", "--country", "KR")
	directions := map[string]string{}
	for _, row := range c.sql("SELECT call_id, direction FROM calls") {
		directions[fmt.Sprint(row["call_id"])] = fmt.Sprint(row["direction"])
	}
	byType := map[string]int{}
	for v := range c.service.Server.World().Visible(c.clock.Now()) {
		id := v.ID.String()
		want := v.Agent.Direction
		if v.Type == "web" {
			want = "<nil>"
		}
		if directions[id] != want {
			t.Errorf("call %s of type %s is %s, want %s", id, v.Type, directions[id], want)
		}
		byType[v.Type+" "+want]++
	}
	for _, kind := range []string{"phone inbound", "phone outbound", "api outbound"} {
		if byType[kind] == 0 {
			t.Errorf("no call is %s: %v", kind, byType)
		}
	}
}

// Each of the 19 disconnection reasons has its outcome. None counts as unknown, and those of
// unconnected calls do not count as connected.
func TestNewDisconnectionReasons(t *testing.T) {
	t.Parallel()
	longtest.Only(t)
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 26, Calls: 1600, Days: 40, NewReasons: true}})
	c.mustExtract()
	got := map[string]string{}
	for _, row := range c.sql(`SELECT disconnection_reason AS reason, string_agg(DISTINCT coalesce(is_connected, false) || ' ' || outcome, ', ') AS is
		FROM calls WHERE disconnection_reason IN ('dial_busy', 'dial_declined', 'blocked_number', 'hourly_call_limit_reached', 'daily_call_limit_reached',
			'operator_hangup', 'orphaned_no_agent_pickup') GROUP BY ALL`) {
		got[row["reason"].(string)] = row["is"].(string)
	}
	const never = "false not_connected"
	want := map[string]string{"dial_busy": never, "dial_declined": never, "blocked_number": never, "hourly_call_limit_reached": never,
		"daily_call_limit_reached": never, "operator_hangup": "true transferred", "orphaned_no_agent_pickup": "true failed"}
	test.Same(t, want, got, "(-want +got)")
}

// Reports name agents: in place of their ids for people, and next to the ids in files. Agents with
// equal names are distinguished, a deleted one keeps its name, and a name selects like an id.
func TestAgentsByName(t *testing.T) {
	t.Parallel()
	longtest.Only(t)
	c := found(t, sandbox.Options{
		World:        sandbox.Config{Seed: 25, Calls: 150, Days: 5, Agents: 6},
		Organisation: organisation.Config{Pace: -1, Sizes: organisation.Sizes{"drafts": 0}},
	})
	c.mustExtract("--resources", "all")
	names, ids := map[string]string{}, map[string][]string{}
	for id, o := range c.truth(resource.Agents, c.clock.Now()) {
		name := o["name"].(string)
		names[id], ids[name] = name, append(ids[name], id)
	}
	var twins []string
	unique := ""
	all := slices.Sorted(maps.Keys(ids))
	for _, name := range all {
		if len(ids[name]) == 2 {
			twins = ids[name]
		} else if strings.Count(strings.Join(all, "\n"), name) == 1 {
			unique = name
		}
	}
	if len(twins) == 0 || unique == "" {
		t.Fatalf("no two agents have one name, or all have: %v", ids)
	}
	for _, id := range twins {
		names[id] += " (" + id[:8] + ")"
	}
	gone := ids[unique][0]
	test.OK(t, c.service.Server.Organisation().Delete(c.clock.Now(), "agents", "", gone))
	c.clock.Advance(time.Hour)
	c.mustExtract("--resources", "all")
	if _, deleted := c.stored(resource.Agents); len(deleted) != 1 || deleted[0] != gone {
		t.Fatalf("deleted are %v, want %s", deleted, gone)
	}

	for _, ask := range [][]string{{"agents"}, {"durations", "--by", "agent"}} {
		r := c.query(append(ask, "--format", "csv")...)
		rows, err := csv.NewReader(strings.NewReader(r.stdout)).ReadAll()
		if r.code != cli.ExitOK || err != nil || len(rows) < 3 {
			t.Fatalf("%v: %v\n%s%s", ask, err, r.stdout, r.stderr)
		}
		at := map[string]int{}
		for i, name := range rows[0] {
			at[name] = i
		}
		id, named := at["agent_id"], at["agent_name"]
		if ask[0] == "durations" {
			id = at["key"]
		}
		seen := map[string]bool{}
		for _, row := range rows[1:] {
			seen[row[id]] = true
			if names[row[id]] == "" || row[named] != names[row[id]] {
				t.Errorf("%v: agent %q is called %q, want %q", ask, row[id], row[named], names[row[id]])
			}
		}
		if !seen[gone] || !seen[twins[0]] || !seen[twins[1]] {
			t.Errorf("%v: the agent that is gone or one of two of one name is not there:\n%s", ask, r.stdout)
		}
		people := c.query(append(ask, "--format", "table")...).stdout
		for id := range seen {
			if !strings.Contains(people, names[id]) || strings.Contains(people, id) {
				t.Errorf("%v: %q is not in the place of %s:\n%s", ask, names[id], id, people)
			}
		}
	}

	count := func(agent string) string {
		t.Helper()
		r := c.query("durations", "--agent", agent, "--format", "csv")
		if r.code != cli.ExitOK {
			t.Errorf("--agent %q: exit code %d\n%s", agent, r.code, r.stderr)
		}
		return r.stdout
	}
	for _, id := range append([]string{gone}, twins...) {
		if want, got := count(id), count(names[id]); got != want || strings.Count(got, "\n") < 2 {
			t.Errorf("--agent %q gives\n%s, and its id\n%s", names[id], got, want)
		}
	}
	if got, want := count(strings.ToUpper(unique)), count(gone); got != want {
		t.Errorf("in capitals it is another agent:\n%s%s", got, want)
	}
	twin, _, _ := strings.Cut(names[twins[0]], " (")
	r := c.query("durations", "--agent", twin)
	r.reports(t, cli.ExitUsage, twins[0], twins[1])
	c.query("durations", "--agent", "nobody of this name").reports(t, cli.ExitUsage, unique)
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
