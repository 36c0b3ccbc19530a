package e2e

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/resource"
	"callhouse/internal/sandbox"
	"callhouse/internal/sandbox/organisation"
)

// Whatever is wrong with what the organisation has beside calls, the run is a good one:
// its calls are complete, it says of each resource once what could not be had, nothing
// vanishes because of a list that failed, and the next night without the fault has all.
func TestResourcesThatFail(t *testing.T) {
	t.Parallel()
	c := found(t, sandbox.Options{
		World:        sandbox.Config{Seed: 23, Calls: 60, Days: 30, Agents: 3},
		Organisation: organisation.Config{Pace: 3, Sizes: organisation.Sizes{Tools: 130}},
	})
	faulty := func(kinds ...sandbox.ResourceFault) {
		t.Helper()
		if err := c.service.Server.SetResourceFaults("all", kinds...); err != nil {
			t.Fatal(err)
		}
	}
	// After so long every list is asked for.
	night := func(what string) result {
		t.Helper()
		c.clock.Advance(8 * 24 * time.Hour)
		r := c.extract(t.Context(), "--resources", "all")
		if r.code != cli.ExitOK {
			t.Fatalf("%s: exit code %d\n%s", what, r.code, r.stderr)
		}
		sameAsTruth(t, c)
		return r
	}
	good := func(what string) {
		t.Helper()
		faulty()
		r := night(what)
		for _, of := range resource.All {
			if n := said(r, of); n > 0 {
				t.Errorf("%s: there is a problem with %s:\n%s", what, of.Name, r.stderr)
			}
		}
		c.sameOrganisation()
	}
	good("the first night")
	for _, kind := range []sandbox.ResourceFault{"404", "403", "500", sandbox.ResourceNoList, sandbox.ResourceCut, sandbox.ResourceLoop, sandbox.ResourceEmpty} {
		known := map[string][]string{}
		for _, of := range resource.All {
			_, known[of.Name] = c.stored(of)
		}
		faulty(kind)
		r := night(string(kind))
		for _, of := range resource.All {
			_, deleted := c.stored(of)
			if d := gocmp.Diff(known[of.Name], deleted); d != "" {
				t.Errorf("%s: the deleted of %s were (-) and are (+)\n%s", kind, of.Name, d)
			}
			if n := said(r, of); n > 1 || n == 0 && of.Parent == nil {
				t.Errorf("%s: it is said %d times of %s:\n%s", kind, n, of.Name, r.stderr)
			}
		}
		if kind == sandbox.ResourceEmpty { // it is so again
			night("empty again")
			for _, of := range resource.All {
				if there, _ := c.stored(of); len(there) > 0 {
					t.Errorf("the list of %s was empty in two nights, and the warehouse has %d", of.Name, len(there))
				}
			}
		}
		good(fmt.Sprintf("after %s", kind))
	}
	returned := c.counts("SELECT resource AS key, count(*) AS n FROM changes WHERE kind = 'returned' GROUP BY 1")
	for _, of := range resource.All {
		if returned[of.Name] == 0 {
			t.Errorf("nothing of %s has returned: %v", of.Name, returned)
		}
	}

	// Of another shape nothing is lost, and nothing is set aside.
	for _, kind := range []sandbox.ResourceFault{sandbox.ResourceRenamed, sandbox.ResourceField, sandbox.ResourceDrift} {
		faulty(kind)
		r := night(string(kind))
		for _, of := range resource.All {
			if n := said(r, of); n > 0 {
				t.Errorf("%s: there is a problem with %s:\n%s", kind, of.Name, r.stderr)
			}
			want := c.truth(of, c.clock.Now())
			for _, o := range want {
				misshape(kind, of, o)
			}
			got, _ := c.stored(of)
			if of == resource.AgentVersions { // asked for where the agent changed alone
				want, got = nil, nil
			}
			if d := gocmp.Diff(want, got); d != "" {
				t.Errorf("%s: %s (-sandbox +warehouse):\n%s", kind, of.Name, d)
			}
		}
		good(fmt.Sprintf("after %s", kind))
	}
}

// said counts how often a run's report tells of a problem with a resource.
func said(r result, of *resource.Resource) int {
	return len(regexp.MustCompile(`(?m)^ *`+of.Name+`: |list of `+of.Name+` is empty`).FindAllString(r.stderr+r.stdout, -1))
}

// misshape does to an object what a fault of the sandbox does to it.
func misshape(kind sandbox.ResourceFault, of *resource.Resource, o objectJSON) {
	switch own := organisation.Named(sandboxName(of)).Own; {
	case kind == sandbox.ResourceRenamed && own != "":
		o[own] = o["id"]
		delete(o, "id")
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
