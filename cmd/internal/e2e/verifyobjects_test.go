package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
	"callhouse/internal/sandbox/organisation"
)

// objectFindings is the part of verify's JSON about one resource.
type objectFindings struct {
	Resource  string    `json:"resource"`
	Objects   int64     `json:"objects_compared"`
	Records   int64     `json:"records_compared"`
	New       int64     `json:"new_at_the_service"`
	Moved     int64     `json:"changed_since"`
	Gone      namedKeys `json:"no_longer_at_the_service"`
	Lacking   namedKeys `json:"lacking"`
	Different namedKeys `json:"different_records"`
	Changed   namedKeys `json:"changed_without_an_edit"`
	Problem   string    `json:"not_listed"`
}

type namedKeys struct {
	Count   int64 `json:"count"`
	Objects []struct {
		Key    string   `json:"key"`
		Fields []string `json:"fields"`
	} `json:"objects"`
}

// said formats the fields of the objects, or their number if there are no fields.
func (n *namedKeys) said() string {
	var out []string
	for _, o := range n.Objects {
		out = append(out, strings.Join(append([]string{"1"}, o.Fields...), " "))
	}
	return strings.Join(out, ", ")
}

// Verify compares resources: it reports objects that are gone, lacking, or different without an
// edit. Changes since the last run are not damage.
func TestVerifyDeepComparesObjects(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	notUnderRace(t)
	c := found(t, sandbox.Options{
		World:        sandbox.Config{Seed: 31, Calls: 30, Days: 5, Agents: 3, Campaigns: 2},
		Organisation: organisation.Config{Pace: -1, Sizes: organisation.Sizes{"tools": 120}},
	})
	e := newEditor(c)
	if r := e.extract("--resources", "all"); r.code != cli.ExitOK {
		t.Fatal(r.stderr)
	}
	want := map[string]int64{}
	for _, of := range organised {
		want[of.Name] = int64(len(c.truth(of, c.clock.Now())))
	}
	agents := want["agents"]
	c.clock.Advance(26 * time.Hour)
	old := c.clock.Now().Add(-10 * 24 * time.Hour).UnixMilli()
	// first changes the first object of a list, on any page.
	first := func(path, items string, do func(all []any, o map[string]any) []any) func(*http.Request, map[string]any) {
		return func(r *http.Request, body map[string]any) {
			if r.URL.Path != path {
				return
			}
			body["total_count"] = nil
			if all := body[items].([]any); !r.URL.Query().Has("cursor") {
				body[items] = do(all, all[0].(map[string]any))
			}
		}
	}
	tools := func(do func(all []any, o map[string]any) []any) func(*http.Request, map[string]any) {
		return first("/v3/tools", "items", do)
	}
	agent := c.one("SELECT min(agent_id) AS v FROM agents WHERE production_version IS NOT NULL").(string)
	another := func(created int64) func([]any, map[string]any) []any {
		return func(all []any, o map[string]any) []any {
			twin := map[string]any{}
			for name, value := range o {
				twin[name] = value
			}
			twin["id"], twin["created_at"], twin["updated_at"] = "another", created, created
			return append(all, twin)
		}
	}
	tried := longtest.Each(6)
	for i, w := range []struct {
		name                              string
		whole                             func(*http.Request, map[string]any)
		of                                string
		code                              int
		gone, lacking, different, changed string
		fresh, moved                      int64
		says                              string
	}{
		{name: "identical", of: "tools", says: "other resources: "},
		{name: "gone", of: "tools", whole: tools(func(all []any, _ map[string]any) []any { return all[1:] }), gone: "1",
			says: "1 object is no longer at the service: tools "},
		{name: "edited since", of: "tools", moved: 1, says: "1 object has changed since; the next run fetches the change",
			whole: tools(func(all []any, o map[string]any) []any {
				o["description"], o["updated_at"] = "edited", c.clock.Now().UnixMilli()
				return all
			})},
		{name: "another one, and nobody edited it", of: "tools", code: cli.ExitIncomplete, changed: "1 description",
			says:  ": not edited, but the service sends it differently: description",
			whole: tools(func(all []any, o map[string]any) []any { o["description"] = "another"; return all })},
		{name: "a new one", of: "tools", whole: tools(another(c.clock.Now().UnixMilli())), fresh: 1,
			says: "1 object is new at the service"},
		{name: "one that was there", of: "tools", whole: tools(another(old)), code: cli.ExitFailed, lacking: "1",
			says: `tools "another": the warehouse lacks it`},
		{name: "a field that nobody knew", of: "tools", moved: 1,
			whole: tools(func(all []any, o map[string]any) []any { o["x_tomorrow"] = 1; return all })},
		{name: "what moves without an edit", of: "agents", moved: 1,
			whole: first("/v3/agents", "items", func(all []any, o map[string]any) []any { o["production_version"] = "v999"; return all })},
		{name: "a version that was there", of: "agent_versions", code: cli.ExitFailed, lacking: "1",
			whole: first("/v3/agents/"+agent+"/versions", "versions", func(all []any, o map[string]any) []any {
				return append(all, map[string]any{"version": "v0", "is_production": false, "created_at": old, "description": nil})
			})},
		{name: "another record", of: "agents", code: cli.ExitFailed, different: "1 data",
			says: ": its record differs from the service's: data",
			whole: func(r *http.Request, body map[string]any) {
				if r.URL.Path == "/v3/agents/"+agent {
					body["data"].(map[string]any)["prompt"] = "another"
				}
			}},
	} {
		if !tried(i) {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			e.whole = w.whole
			resources := "agents,agent_versions,tools"
			if w.whole == nil || *worlds > 1 {
				resources = "all"
			}
			rep, r := e.verify("--deep", "--resources", resources)
			if r.code != w.code || rep.Service == nil {
				t.Fatalf("exit code %d, want %d\n%s%s", r.code, w.code, r.stdout, r.stderr)
			}
			compared := map[string]int64{}
			for _, o := range rep.Service.Resources {
				compared[o.Resource] = o.Objects
				got := [...]string{o.Gone.said(), o.Lacking.said(), o.Different.said(), o.Changed.said()}
				if o.Resource == w.of {
					if got != [...]string{w.gone, w.lacking, w.different, w.changed} || o.New != w.fresh || o.Moved != w.moved {
						t.Errorf("found of %s: %+v", o.Resource, o)
					}
				} else if got != [...]string{"", "", "", ""} || o.New+o.Moved > 0 {
					t.Errorf("found of %s: %+v", o.Resource, o)
				}
				if o.Problem != "" {
					t.Errorf("%s: %s", o.Resource, o.Problem)
				}
				if n := map[string]int64{"agents": agents - w.moved}[o.Resource]; w.of == "agents" && o.Records != n {
					t.Errorf("%d records of %s were compared, want %d", o.Records, o.Resource, n)
				}
			}
			for _, of := range organised {
				want, got := want[of.Name], compared[of.Name]
				if got != want && w.name == "identical" {
					t.Errorf("%d %s were compared, want %d", got, of.Name, want)
				}
			}
			if w.says == "" {
				return
			}
			if text := e.extract("verify", "--deep=0", "--quiet", "--resources", w.of); w.of != "agents" && !strings.Contains(text.stdout, w.says) {
				t.Errorf("it does not say %q:\n%s", w.says, text.stdout)
			}
		})
	}

	// A forgotten customer is not reported.
	e.whole = nil
	customer := c.one("SELECT min(customer_id) AS v FROM customers").(string)
	if r := e.extract("forget", "--customer-id", customer, "--yes"); r.code != cli.ExitOK {
		t.Fatal(r.stderr)
	}
	rep, r := e.verify("--deep=0", "--resources", "customers")
	if s := rep.Service; r.code != cli.ExitOK || len(s.Resources) != 1 || s.Resources[0].Objects != want["customers"]-1 || s.Resources[0].New > 0 {
		t.Errorf("exit code %d: %+v", r.code, rep.Service)
	}

	// A list that cannot be fetched is reported, not compared.
	if err := c.service.Server.SetResourceFaults("tools", "403"); err != nil {
		t.Fatal(err)
	}
	if rep, r := e.verify("--deep=0", "--resources", "all"); r.code != cli.ExitIncomplete {
		t.Errorf("exit code %d: %+v", r.code, rep.Service)
	}
	// Only selected resources that have been listed before are requested.
	before := c.service.Server.Stats()
	rep, r = e.verify("--deep=0", "--resources", "knowledges")
	if asked := c.asked(before); r.code != cli.ExitOK || len(asked) != 1 || asked["knowledges"] != 1 || len(rep.Service.Resources) != 1 {
		t.Errorf("exit code %d, asked for %v", r.code, asked)
	}
	if rep, r := e.verify("--deep=0"); r.code != cli.ExitOK || len(rep.Service.Resources) > 0 {
		t.Errorf("exit code %d: %+v", r.code, rep.Service)
	}
}
