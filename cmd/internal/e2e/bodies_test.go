package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/resource"
	"callhouse/internal/sandbox"
	"callhouse/internal/sandbox/organisation"
	"callhouse/internal/schema"
)

// With --agent-bodies a run fetches the body of each agent version exactly once.
// The stored body equals the service's, without secrets.
func TestAgentBodies(t *testing.T) {
	t.Parallel()
	notUnderRace(t)
	c := found(t, sandbox.Options{
		World:        sandbox.Config{Seed: 33, Calls: 10, Days: 3, Agents: 3},
		Organisation: organisation.Config{Pace: -1},
	})
	world := c.service.Server.Organisation()
	night := func(args ...string) map[string]int64 {
		t.Helper()
		c.clock.Advance(time.Hour)
		args = append([]string{"--resources", "agent_versions"}, args...)
		before := c.service.Server.Stats()
		c.mustExtract(args...)
		if v := c.extract(t.Context(), "verify"); v.code != cli.ExitOK {
			t.Fatalf("verify: %s%s", v.stdout, v.stderr)
		}
		return c.asked(before)
	}
	// bodies compares the stored bodies with the service's.
	bodies := func() (n int64) {
		t.Helper()
		c.objects(resource.AgentVersions, func(o *schema.Object) {
			key := resource.AgentVersions.KeyOf(o.Row)
			agent, version, _ := strings.Cut(key, "/")
			got := parse(t, resource.AgentVersions.RecordJSON(o)).(objectJSON)
			if got["data"] == nil {
				return
			}
			n++
			is := shown(t, resource.Agents, world.AgentAt(agent, version, c.clock.Now().UnixMilli()))
			for _, name := range []string{"data", "flow"} {
				if d := gocmp.Diff(is[name], got[name]); d != "" {
					t.Errorf("%s of %s (-sandbox +warehouse)\n%s", name, key, d)
				}
			}
		})
		return n
	}

	night()
	versions := int64(len(c.truth(resource.AgentVersions, c.clock.Now())))
	if bodies() != 0 || versions < 20 {
		t.Errorf("%d bodies, which nobody asked for, of %d versions", bodies(), versions)
	}
	asked := night("--agent-bodies")
	if bodies() != versions || asked["agents"] != 1+versions || asked["agent_versions"] != 0 {
		t.Errorf("%d bodies of %d versions; asked for %v", bodies(), versions, asked)
	}
	if asked = night("--agent-bodies"); asked["agents"] != 1 {
		t.Errorf("the night after asked for %v", asked)
	}

	// A version is published: the previous one is no longer in production, and its body is
	// unchanged.
	agent := c.one("SELECT min(agent_id) AS v FROM agents WHERE production_version IS NOT NULL").(string)
	if err := world.Edit(c.clock.Now(), "agents", "", agent, organisation.Object{"data": organisation.Object{"prompt": organisation.Object{"text": "Rhyme."}}}); err != nil {
		t.Fatal(err)
	}
	c.clock.Advance(time.Minute)
	if _, err := world.Publish(c.clock.Now(), agent, "in rhymes"); err != nil {
		t.Fatal(err)
	}
	asked = night("--agent-bodies") // a list and a record, as without the flag, and a body
	if bodies() != versions+1 || asked["agents"] != 1+1+1 || asked["agent_versions"] != 1 {
		t.Errorf("%d bodies; asked for %v", bodies(), asked)
	}
	if n := c.one("SELECT count(*) AS v FROM changes WHERE resource = 'agent_versions' AND list_contains(fields::VARCHAR[], 'data')"); n != json.Number("0") {
		t.Errorf("%v changes repeat a body", n)
	}
}
