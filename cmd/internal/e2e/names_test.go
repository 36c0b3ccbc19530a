package e2e

import (
	"encoding/csv"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/longtest"
	"callhouse/internal/resource"
	"callhouse/internal/sandbox"
	"callhouse/internal/sandbox/organisation"
	"callhouse/internal/test"
)

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
	if r.code != cli.ExitUsage || !strings.Contains(r.stderr, twins[0]) || !strings.Contains(r.stderr, twins[1]) {
		t.Errorf("--agent %q, which two have: exit code %d\n%s", twin, r.code, r.stderr)
	}
	c.query("durations", "--agent", "nobody of this name").reports(t, cli.ExitUsage, unique)
}
