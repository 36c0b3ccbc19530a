package e2e

import (
	"regexp"
	"testing"
	"time"

	"callhouse/internal/longtest"
	"callhouse/internal/resource"
	"callhouse/internal/sandbox"
	"callhouse/internal/sandbox/organisation"
	"callhouse/internal/test"
)

// said counts how often a run's report names a problem with a resource.
func said(r result, of *resource.Resource) int {
	return len(regexp.MustCompile(`(?m)^ *`+of.Name+`: |list of `+of.Name+` is empty`).FindAllString(r.stderr+r.stdout, -1))
}

// If the list of one object's children fails, or is empty for the first time, it is requested again
// the next night even if the object is unchanged, so no new child is missed.
func TestListOfOneObjectThatFails(t *testing.T) {
	longtest.Only(t) // it waits by the real clock; the tests of crawler have the parts
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
