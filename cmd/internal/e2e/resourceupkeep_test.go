package e2e

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/longtest"
	"callhouse/internal/resource"
	"callhouse/internal/sandbox"
	"callhouse/internal/sandbox/organisation"
	"callhouse/internal/schema"
	"callhouse/internal/test"
)

// tables returns all rows of resources and changes as texts, by table and key.
func (c *company) tables() map[string]map[string]string {
	c.t.Helper()
	changes := map[string]string{}
	out := map[string]map[string]string{resource.Changes.Name: changes}
	for _, of := range organised {
		out[of.Name] = map[string]string{}
		for key, row := range rowsByKey(c, of) {
			out[of.Name][key] = fmt.Sprint(row)
		}
	}
	r := c.reader()
	for _, f := range r.Files(resource.Changes.Name) {
		table, err := r.Open(f)
		test.OK(c.t, err)
		err = table.All(func(row schema.Row) error {
			changes[fmt.Sprint(len(changes))] = fmt.Sprint(row)
			return nil
		})
		if err = errors.Join(err, table.Close()); err != nil {
			c.t.Fatal(err)
		}
	}
	return out
}

// Maintenance keeps resources: compact keeps all of them, rollback those of an earlier
// night, and forget all except the forgotten customers, who do not return.
func TestUpkeepKeepsResources(t *testing.T) {
	notUnderRace(t)
	t.Parallel()
	longtest.Only(t)
	c := found(t, sandbox.Options{
		World:        sandbox.Config{Seed: 26, Calls: 60, Days: 40, Agents: 3},
		Organisation: organisation.Config{Pace: 30},
	})
	is := func(what string, want map[string]map[string]string) {
		t.Helper()
		if d := gocmp.Diff(want, c.tables()); d != "" {
			t.Fatalf("%s (-before +after):\n%s", what, d)
		}
	}
	night := func() map[string]map[string]string {
		t.Helper()
		c.mustExtract("--resources", "all")
		return c.tables()
	}
	first := night()
	c.clock.Advance(20 * time.Hour) // otherwise the snapshot of the first night may be gone
	second := night()
	if n := len(second["changes"]) - len(first["changes"]); n < 10 {
		t.Fatalf("only %d changes in a day", n)
	}
	c.mustExtract("rollback")
	is("rollback", first)
	third := night()
	for _, of := range organised {
		if of.Every == 0 && of.Parent == nil {
			c.sameObjects(of, c.clock.Now())
		}
	}
	c.mustExtract("compact", "--all")
	is("compact", third)

	customers := c.truth(resource.Customers, c.clock.Now())
	ids := slices.Sorted(maps.Keys(customers))
	number := customers[ids[1]]["identifiers"].([]any)[0].(objectJSON)["value"].(string)
	c.mustExtract("forget", "--yes", "--customer-id", ids[0], "--number", number)
	for _, id := range ids[:2] {
		delete(third["customers"], id)
		maps.DeleteFunc(third["changes"], func(_, row string) bool { return strings.Contains(row, id) })
	}
	left := slices.Sorted(maps.Values(third["changes"]))
	now := c.tables()
	if d := gocmp.Diff(left, slices.Sorted(maps.Values(now["changes"]))); d != "" {
		t.Errorf("forget leaves other changes (-before +after):\n%s", d)
	}
	delete(third, "changes")
	delete(now, "changes")
	if d := gocmp.Diff(third, now); d != "" {
		t.Errorf("forget leaves other objects (-before +after):\n%s", d)
	}
	c.clock.Advance(time.Hour)
	c.mustExtract("--resources", "all")
	want := c.truth(resource.Customers, c.clock.Now())
	delete(want, ids[0])
	delete(want, ids[1])
	got, _ := c.stored(resource.Customers)
	if d := gocmp.Diff(want, got); d != "" {
		t.Errorf("customers after a night more (-sandbox +warehouse):\n%s", d)
	}
	nowhere(t, c.warehouse, ids[0], ids[1], number)
	c.extract(t.Context(), "verify", "--all").exits(t, cli.ExitOK)
}
