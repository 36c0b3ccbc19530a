package e2e

import (
	"callhouse/cmd/internal/cli"
	"callhouse/internal/longtest"
	"callhouse/internal/resource"
	"callhouse/internal/sandbox"
	"callhouse/internal/sandbox/organisation"
	"callhouse/internal/test"
	"encoding/json"
	"fmt"
	gocmp "github.com/google/go-cmp/cmp"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Whatever is wrong with resources, the run succeeds: its calls are complete, each incomplete
// resource is reported once, and a failed list deletes nothing. The next night without the fault
// has everything.
func TestResourcesThatFail(t *testing.T) {
	notUnderRace(t)
	longtest.Only(t)
	t.Parallel()
	c := found(t, sandbox.Options{
		World:        sandbox.Config{Seed: 23, Calls: 10, Days: 10, Agents: 3},
		Organisation: organisation.Config{Pace: 3, Sizes: organisation.Sizes{"tools": 130}},
	})
	faulty := func(faults sandbox.ResourceFaults) {
		t.Helper()
		for _, of := range organised {
			test.OK(t, c.service.Server.SetResourceFaults(of.Name, faults[of.Name]...))
		}
	}
	// After that time every list is due.
	night := func(what string) result {
		t.Helper()
		c.clock.Advance(8 * 24 * time.Hour)
		r := c.extract(t.Context(), "--resources", "all")
		if r.code != cli.ExitOK {
			t.Fatalf("%s: exit code %d\n%s", what, r.code, r.stderr)
		}
		return r
	}
	good := func(what string) {
		t.Helper()
		faulty(nil)
		r := night(what)
		for _, of := range organised {
			if n := said(r, of); n > 0 {
				t.Errorf("%s: there is a problem with %s:\n%s", what, of.Name, r.stderr)
			}
		}
		c.sameOrganisation()
	}
	good("the first night")
	nights, of := 1, 5
	if *worlds > 1 {
		nights = of + 2
	}
	for n := range nights {
		faults := mixed(n, "404", "403", sandbox.ResourceNoList, sandbox.ResourceLoop, sandbox.ResourceEmpty)
		switch { // after these faults it waits before the next request
		case n == 0:
			faults["alert_rules"], faults["tools"] = []sandbox.ResourceFault{"500"}, []sandbox.ResourceFault{sandbox.ResourceCut}
		case n > of:
			faults = mixed(n, "500", sandbox.ResourceCut)
		}
		known := map[string][]string{}
		for _, of := range organised {
			_, known[of.Name] = c.stored(of)
		}
		faulty(faults)
		r := night(fmt.Sprint(faults))
		sameAsTruth(t, c)
		for _, of := range organised {
			_, deleted := c.stored(of)
			if d := gocmp.Diff(known[of.Name], deleted); d != "" {
				t.Errorf("%v: the deleted of %s were (-) and are (+)\n%s", faults, of.Name, d)
			}
			// A single object cannot be cut, and an unchanged agent's lists are not requested.
			may := of.Parent != nil || of.Single && faults[of.Name][0] != "403" && faults[of.Name][0] != "404" || faults[of.Name][0] == sandbox.ResourceCut && len(c.truth(of, c.clock.Now())) < 2
			if n := said(r, of); n > 1 || n == 0 && !may {
				t.Errorf("%v: it is said %d times of %s:\n%s", faults[of.Name], n, of.Name, r.stderr)
			}
		}
		good(fmt.Sprint("after ", faults))
	}
	// If a list is empty in two nights, its objects are deleted; they return later.
	tried := longtest.Each(4)
	if tried(0) {
		faulty(mixed(0, sandbox.ResourceEmpty))
		night("empty")
		night("empty again")
		for _, of := range organised {
			if there, _ := c.stored(of); len(there) > 0 && !of.Single {
				t.Errorf("the list of %s was empty in two nights, and the warehouse has %d", of.Name, len(there))
			}
		}
		good("after two empty nights")
		returned := c.counts("SELECT resource AS key, count(*) AS n FROM changes WHERE kind = 'returned' GROUP BY 1")
		for _, of := range organised {
			if returned[of.Name] == 0 && !of.Single {
				t.Errorf("nothing of %s has returned: %v", of.Name, returned)
			}
		}
	}
	// Objects of an unexpected form are neither lost nor set aside.
	if !tried(1) {
		return
	}
	shapes := 1
	if *worlds > 1 {
		shapes = 3
	}
	for n := range shapes {
		faults := mixed(n, sandbox.ResourceRenamed, sandbox.ResourceField, sandbox.ResourceDrift)
		faulty(faults)
		r := night(fmt.Sprint(faults))
		sameAsTruth(t, c)
		for _, of := range organised {
			if n := said(r, of); n > 0 {
				t.Errorf("%v: there is a problem with %s:\n%s", faults[of.Name], of.Name, r.stderr)
			}
			want := c.truth(of, c.clock.Now())
			for _, o := range want {
				misshape(faults[of.Name][0], of, o)
			}
			if of != resource.AgentVersions { // requested only if the agent changed
				c.areObjects(of, want, fmt.Sprintf("%v: %s", faults[of.Name], of.Name))
			}
		}
		good(fmt.Sprint("after ", faults))
	}
}

// mixed gives each resource one of some faults, depending on n.
func mixed(n int, kinds ...sandbox.ResourceFault) sandbox.ResourceFaults {
	out := sandbox.ResourceFaults{}
	for i, of := range organised {
		out[of.Name] = []sandbox.ResourceFault{kinds[(n+i)%len(kinds)]}
	}
	return out
}

// said counts how often a run's report names a problem with a resource.
func said(r result, of *resource.Resource) int {
	return len(regexp.MustCompile(`(?m)^ *`+of.Name+`: |list of `+of.Name+` is empty`).FindAllString(r.stderr+r.stdout, -1))
}

// misshape changes an object like a fault of the sandbox.
func misshape(kind sandbox.ResourceFault, of *resource.Resource, o objectJSON) {
	switch own := organisation.Named(of.Name).Own; {
	case kind == sandbox.ResourceRenamed && own != "": // stored as an object of v2
		o[own] = o["id"]
		delete(o, "id")
		if flow, ok := o["flow"]; ok {
			delete(o, "flow")
			o["flow_data"] = flow
		}
	case kind == sandbox.ResourceField:
		o["x_tomorrow"] = objectJSON{"phase": json.Number("2"), "tags": []any{"new"}}
	case kind == sandbox.ResourceDrift:
		for name := range o {
			if strings.HasSuffix(name, "_at") && o[name] != nil {
				o[name] = fmt.Sprint(o[name])
			}
		}
		if name, ok := o["name"].(string); ok {
			o["name"] = objectJSON{"text": name, "as_of": "1970-01-01"}
		}
	}
}

// If the list of one object's children fails, or is empty for the first time, it is requested again
// the next night even if the object is unchanged, so no new child is missed.
func TestListOfOneObjectThatFails(t *testing.T) {
	t.Parallel()
	c := found(t, sandbox.Options{
		World:        sandbox.Config{Seed: 27, Calls: 5, Days: 2, Agents: 2},
		Organisation: organisation.Config{Pace: -1},
	})
	night := func(kinds ...sandbox.ResourceFault) {
		t.Helper()
		test.OK(t, c.service.Server.SetResourceFaults("agent_versions", kinds...))
		c.clock.Advance(time.Hour)
		c.mustExtract("--resources", "agent_versions")
	}
	night()
	there, _ := c.stored(resource.AgentVersions)
	if len(there) < 2 {
		t.Fatalf("there are only %d versions", len(there))
	}
	for _, kind := range []sandbox.ResourceFault{"403", sandbox.ResourceEmpty} {
		for id, o := range c.truth(resource.Agents, c.clock.Now()) {
			if o["production_version"] == nil {
				continue
			}
			_, err := c.service.Server.Organisation().Publish(c.clock.Now(), id, string(kind))
			test.OK(t, err)
		}
		night(kind)
		if got, _ := c.stored(resource.AgentVersions); len(got) != len(there) {
			t.Errorf("%s: there are %d versions, there were %d", kind, len(got), len(there))
		}
		night()
		c.sameObjects(resource.AgentVersions, c.clock.Now())
		there, _ = c.stored(resource.AgentVersions)
		requested := c.service.Server.Stats()
		night()
		if n := c.requested(requested)["agent_versions"]; n > 0 {
			t.Errorf("after %s: %d requests for versions of agents that are as they were", kind, n)
		}
	}
}
