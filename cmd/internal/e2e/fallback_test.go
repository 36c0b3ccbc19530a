package e2e

import (
	"encoding/json"
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
)

// older are the resources also in v2, with the fields that v2 lacks.
var older = map[*resource.Resource][]string{
	resource.Campaigns:          {"agent_version"},
	resource.Knowledges:         {"created_at"},
	resource.KnowledgeDocuments: {"status", "created_at", "upload_percentage", "token_count", "webpage_urls"},
}

// Without v3's lists of campaigns and knowledge bases, v2's are used: fields that they lack are
// null, or stay as v3 sent them. When the lists of v3 come and go, nothing changes that was not
// edited, and nothing is deleted.
func TestV2WhereV3HasNoList(t *testing.T) {
	t.Parallel()
	notUnderRace(t)
	longtest.Only(t)
	c := found(t, sandbox.Options{
		World:        sandbox.Config{Seed: 26, Calls: sized(10, 60), Days: 10, Agents: 4, Campaigns: 120},
		Organisation: organisation.Config{Pace: -1, Sizes: organisation.Sizes{"knowledges": 3}},
	})
	world := c.service.Server.Organisation()
	back := false // of v3
	gone := func(is bool) {
		t.Helper()
		back = !is
		for of := range older {
			var kinds []sandbox.ResourceFault
			if is {
				kinds = append(kinds, sandbox.ResourceNoList)
			}
			if err := c.service.Server.SetResourceFaults(of.Name, kinds...); err != nil {
				t.Fatal(err)
			}
		}
	}
	night := func(args ...string) result {
		t.Helper()
		c.clock.Advance(4 * 24 * time.Hour) // documents are listed again
		r := c.mustExtract(append([]string{"--resources", "agents,campaigns,knowledges,knowledge_documents"}, args...)...)
		if v := c.extract(t.Context(), "verify"); v.code != cli.ExitOK {
			t.Fatalf("verify: %s%s", v.stdout, v.stderr)
		}
		return r
	}
	// edits returns the fields of the changes seen by the last run, by kind. Campaigns progress by
	// themselves: of their fields only those that v2 lacks count, unless v3 is back and sends more
	// of the progress.
	edits := func() map[string][]string {
		t.Helper()
		out := map[string][]string{}
		for _, row := range c.sql(`SELECT resource, kind, fields::VARCHAR AS fields, count(*) AS n FROM changes
			WHERE run_id = (SELECT max(run_id) FROM runs) GROUP BY ALL ORDER BY ALL`) {
			var fields []string
			if err := json.Unmarshal([]byte(row["fields"].(string)), &fields); err != nil {
				t.Fatal(err)
			}
			if row["resource"] == "campaigns" && row["kind"] == "changed" {
				all := len(fields)
				fields = slices.DeleteFunc(fields, func(f string) bool { return !slices.Contains([]string{"agent_version", "extra", "source", "name"}, f) })
				if back && len(fields) < all {
					continue
				}
			}
			kind := fmt.Sprint(row["resource"], " ", row["kind"])
			if row["kind"] != "created" && len(fields) > 0 {
				out[kind] = append(out[kind], fields...)
			}
		}
		return out
	}
	quiet := func(what string) {
		t.Helper()
		got := edits()
		maps.DeleteFunc(got, func(kind string, _ []string) bool { return strings.HasSuffix(kind, " completed") })
		if len(got) > 0 {
			t.Errorf("%s: changes are told of what nobody changed: %v", what, got)
		}
	}

	// The first night has the fields that v2 sends.
	gone(true)
	said := night().stderr
	agents := fmt.Sprint(c.truth(resource.Agents, c.clock.Now()))
	for of, untold := range older {
		if !strings.Contains(said, of.Name+": v3 has no list of it; the v2 list") {
			t.Errorf("the report does not say where %s is from:\n%s", of.Name, said)
		}
		rows, truth := rowsByKey(c, of), c.truth(of, c.clock.Now())
		for key, row := range rows {
			h := &chronicle{company: c}
			parent, id := of.ParentOf(key), key[strings.LastIndexByte(key, '/')+1:]
			want := h.columns(of, nil, world.Find(organisation.Named(of.Name), parent, id, c.clock.Now()), parent)
			for _, name := range untold {
				delete(want, name)
			}
			if of == resource.Campaigns { // only v2 sends their organisation
				want["organization_id"] = world.ID()
			}
			for i := range of.Table.Fields {
				col := &of.Table.Fields[i]
				if _, there := want[col.Name]; there == (row[col.Name] == "<null>") && col.Name != "source" && col.V3 != "" {
					t.Errorf("%s %s: %s is %s, want %v", of.Name, key, col.Name, row[col.Name], want[col.Name])
				}
			}
			if row["source"] != "v2" || row["name"] != want["name"] {
				t.Errorf("%s %s: source %s, name %s", of.Name, key, row["source"], row["name"])
			}
		}
		maps.DeleteFunc(truth, func(key string, _ objectJSON) bool { // v2 has only those named by agents
			base, _, _ := strings.Cut(key, "/")
			return of != resource.Campaigns && !strings.Contains(agents, base)
		})
		if least := map[*resource.Resource]int{resource.Campaigns: 101}[of]; len(rows) != len(truth) || len(rows) < max(2, least) {
			t.Errorf("%d %s, want %d", len(rows), of.Name, len(truth))
		}
	}

	// v3 returns: missing values are filled, and nothing counts as edited.
	gone(false)
	night()
	for of := range older {
		c.sameObjects(of, c.clock.Now())
	}
	quiet("v3 is back")
	if got := edits(); len(got["campaigns completed"]) == 0 || len(got["knowledges completed"]) == 0 {
		t.Errorf("nothing was completed: %v", got)
	}

	// They disappear again: everything stays as v3 sent it.
	names := func() map[string]map[string]string {
		rows := rowsByKey(c, resource.Knowledges)
		for _, row := range rows {
			delete(row, "completed_at") // the documents were listed again
		}
		return rows
	}
	before := names()
	gone(true)
	night()
	quiet("v3 is gone again")
	c.sameObjects(resource.Knowledges, c.clock.Now())
	c.sameObjects(resource.KnowledgeDocuments, c.clock.Now())
	c.sameObjects(resource.Campaigns, c.clock.Now())
	if d := gocmp.Diff(before, names()); d != "" {
		t.Errorf("rows are written anew (-before +after)\n%s", d)
	}

	// Edits made meanwhile are seen once.
	bases := slices.Sorted(maps.Keys(before))
	if err := world.Edit(c.clock.Now(), "knowledges", "", bases[0], organisation.Object{"name": "Renamed"}); err != nil {
		t.Fatal(err)
	}
	if err := world.Delete(c.clock.Now(), "knowledges", "", bases[1]); err != nil {
		t.Fatal(err)
	}
	night()
	if got := edits(); !slices.Equal(got["knowledges changed"], []string{"name"}) || len(got["knowledges deleted"]) > 0 {
		t.Errorf("changes are %v", got)
	}
	gone(false)
	night()
	if got := edits(); len(got["knowledges changed"]) > 0 || len(got["knowledges deleted"]) != 1 {
		t.Errorf("changes are %v", got)
	}
	for of := range older {
		c.sameObjects(of, c.clock.Now())
	}

	// Neither version has them: this is reported once, and the run succeeds.
	gone(true)
	for _, name := range []string{"v2_campaigns", "v2_knowledges"} {
		if err := c.service.Server.SetResourceFaults(name, "404"); err != nil {
			t.Fatal(err)
		}
	}
	said = night().stderr
	for of := range older {
		if n := strings.Count(said, " "+of.Name+": "); n != 1 {
			t.Errorf("it is said %d times of %s:\n%s", n, of.Name, said)
		}
	}
	quiet("neither")
}
