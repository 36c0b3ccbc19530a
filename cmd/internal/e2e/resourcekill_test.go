package e2e

import (
	"bytes"
	"callhouse/cmd/internal/cli"
	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/resource"
	"callhouse/internal/sandbox"
	"callhouse/internal/sandbox/organisation"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/sink/disk"
	"callhouse/internal/test"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"
)

// resourceKills is the number of runs that TestKilledAmongResources kills; make soak uses 200.
var resourceKills = longtest.Int("resource-kills", 1, 5, "how many runs TestKilledAmongResources kills")

// The real program is killed with SIGKILL while it fetches resources, or soon after. After each
// kill the warehouse is whole, and neither its files nor the journal contain a secret; in the end
// it has everything, once.
func TestKilledAmongResources(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	bin := linkProgram(t, t.TempDir(), "extract")
	var fuse fuse
	c := foundNow(t, sandbox.Options{
		World:        sandbox.Config{Seed: 24, Calls: 20, Days: 2, Agents: 4},
		Organisation: organisation.Config{Pace: -1, Sizes: organisation.Sizes{"tools": 130}},
		Inject: func(_ int64, r sandbox.Request) sandbox.FaultKind {
			if r.Resource != "" {
				fuse.burn()
			}
			return ""
		},
	})
	world := c.service.Server.Organisation()
	run := func(after int64, wait time.Duration) (killed bool) {
		return c.runProgram(fuse.light(t, after, wait), bin, "--resources", "all", "--organization-id", world.ID())
	}
	tool := world.Truth("tools", c.clock.Now())[0].ID
	agent := world.Truth("agents", c.clock.Now())[0].ID
	withheldInJournal, killed, rnd := 0, 0, longtest.Rand(t)
	for killed < *resourceKills {
		after, wait := 1+rnd.Int64N(20), time.Duration(rnd.Int64N(int64(40*time.Millisecond)))
		if killed == 0 {
			after, wait = 15, 0 // all lists except one are in the journal
		}
		if run(after, wait) {
			killed++
		}
		c.clock.Advance(time.Second)
		for name, id := range map[string]string{"tools": tool, "agents": agent} {
			test.OK(t, world.Edit(c.clock.Now(), name, "", id, organisation.Object{"name": fmt.Sprint("after_", killed)}))
		}
		withheldInJournal += c.noSecrets()
		if v := extract(t.Context(), "verify", "--warehouse", c.warehouse); v.code != cli.ExitOK && killed > 1 {
			t.Fatalf("after %d kills: %s%s", killed, v.stdout, v.stderr)
		}
	}
	if withheldInJournal == 0 {
		t.Error("no journal was left that has what is withheld")
	}
	if run(0, 0) {
		t.Fatal("the last run was killed")
	}
	c.sameOrganisation()
	sameAsTruth(t, c)
	c.noSecrets()
	extract(t.Context(), "verify", "--all", "--warehouse", c.warehouse).exits(t, cli.ExitOK)
	twice := c.sql("SELECT resource, key, count(*) FROM changes WHERE kind IN ('created', 'completed') GROUP BY resource, key, kind HAVING count(*) > 1")
	if len(twice) > 0 {
		t.Errorf("objects that came twice: %v", twice)
	}
	if there, _ := c.stored(resource.Tools); there[tool]["name"] != fmt.Sprint("after_", killed) {
		t.Errorf("the tool that was edited is %v", there[tool])
	}
}

// noSecrets looks for the sandbox's secrets in all files under the warehouse: in their bytes, in
// the records of the journal, and in the values of the current tables. It returns the number of
// journal records with withheld values.
func (c *company) noSecrets() (withheldInJournal int) {
	c.t.Helper()
	if _, err := os.Stat(c.warehouse); errors.Is(err, fs.ErrNotExist) {
		return 0
	}
	nowhere(c.t, c.warehouse, organisation.Secret)
	fsys, err := disk.Open(c.warehouse)
	test.OK(c.t, err)
	refs, _, err := sink.ListSegments(fsys, c.warehouse)
	test.OK(c.t, err)
	for _, ref := range refs {
		_, err := sink.ReadSegment(fsys, c.warehouse, ref, true, func(r *schema.Record) error {
			if bytes.Contains(r.Body, []byte(organisation.Secret)) {
				c.t.Errorf("a secret is in the journal: %s", r.Body)
			}
			if bytes.Contains(r.Body, []byte(withheld)) {
				withheldInJournal++
			}
			return nil
		})
		test.OK(c.t, err)
	}
	current, err := layout.Current(c.warehouse)
	if errors.Is(err, layout.ErrNoWarehouse) {
		return withheldInJournal
	}
	test.OK(c.t, err)
	var hits []string
	for i := range current.Manifest.Files {
		hits = append(hits, fmt.Sprintf("SELECT t::VARCHAR AS row FROM read_parquet('%s') t WHERE contains(t::VARCHAR, '%s')", current.Path(&current.Manifest.Files[i]), organisation.Secret))
	}
	if rows := c.sql(strings.Join(hits, " UNION ALL ")); len(rows) > 0 {
		c.t.Errorf("secrets are in the tables: %v", rows)
	}
	return withheldInJournal
}
