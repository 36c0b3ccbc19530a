package e2e

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/resource"
	"callhouse/internal/sandbox"
	"callhouse/internal/sandbox/organisation"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/sink/disk"
	"callhouse/internal/test"
	"callhouse/internal/wire"
	"callhouse/internal/wire/wiretest"
)

// objectJSON is an object as decoded JSON.
type objectJSON = map[string]any

// organised are the resources of the sandbox's organisation. The calls of campaigns are known from its calls.
var organised = slices.DeleteFunc(slices.Clone(resource.All), func(of *resource.Resource) bool { return of == resource.CampaignCalls })

const withheld = "[withheld]"

// parse decodes JSON, keeping the spelling of numbers.
func parse(t *testing.T, text []byte) (v any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

// shown returns an object of the sandbox as a warehouse should store it: secrets withheld, without
// parts that are not requested.
func shown(t *testing.T, of *resource.Resource, o organisation.Object) objectJSON {
	t.Helper()
	v, _ := parse(t, marshal(o)).(objectJSON)
	if v == nil {
		v = objectJSON{}
	}
	hide := func(at any, names ...string) {
		inner, _ := at.(objectJSON)
		for name, value := range inner {
			if _, text := value.(string); text && (len(names) == 0 || slices.Contains(names, name)) {
				inner[name] = withheld
			}
		}
	}
	if len(of.Secrets) > 0 {
		hide(v, of.Secrets...)
	}
	switch of {
	case resource.Agents:
		if data, ok := v["data"].(objectJSON); ok {
			hide(data["webhookSettings"], "callDataWebhookUrl", "inboundCallWebhookUrl")
		}
		v["version"] = nil // the record is requested in its current state
	case resource.Tools:
		if api, ok := v["api_configuration"].(objectJSON); ok {
			hide(api["headers"])
		}
	case resource.AlertRules:
		channels, _ := v["notification_channels"].([]any)
		for _, channel := range channels {
			hide(channel)
		}
	case resource.Organizations:
		hide(v, "webhook_url")
		if v["billing_invoice_recipient_emails"] != nil {
			v["billing_invoice_recipient_emails"] = []any{withheld}
		}
	case resource.Schemas:
		delete(v, "schema") // bodies are not requested
	}
	return v
}

// truth returns the sandbox's objects of a resource at a time, by key.
func (c *company) truth(of *resource.Resource, at time.Time) map[string]objectJSON {
	c.t.Helper()
	out := map[string]objectJSON{}
	for _, r := range c.service.Server.Organisation().Truth(of.Name, at) {
		out[keyAt(of, r.Parent, r.ID)] = shown(c.t, of, r.Object)
	}
	return out
}

// keyAt returns the key of one of the sandbox's objects.
func keyAt(of *resource.Resource, parent, id string) string {
	if of == resource.LLMs { // a slash in a key is escaped
		id = strings.ReplaceAll(id, "/", "%2F")
	}
	if parent != "" {
		return parent + "/" + id
	}
	return id
}

// stored returns the warehouse's objects of a resource by key: the JSON of their rows, and the keys of deleted ones.
func (c *company) stored(of *resource.Resource) (there map[string]objectJSON, deleted []string) {
	c.t.Helper()
	there = map[string]objectJSON{}
	c.objects(of, func(o *schema.Object) {
		key := of.KeyOf(o.Row)
		if of.Deleted(o) {
			deleted = append(deleted, key)
			return
		}
		if of.Record != "" {
			o.Row[of.Table.Column("extra")] = o.Row[of.Table.Column("own_extra")]
		}
		is := parse(c.t, wire.AppendJSON(nil, o)).(objectJSON)
		if of == resource.Campaigns && is["organization_id"] == c.service.Server.Organisation().ID() {
			delete(is, "organization_id") // only v2 sent it, and it stays
		}
		there[key] = is
	})
	return there, deleted
}

// reader reads the current snapshot.
func (c *company) reader() *sink.Reader {
	c.t.Helper()
	fsys, err := disk.Open(c.warehouse)
	test.OK(c.t, err)
	s, err := layout.Current(c.warehouse)
	test.OK(c.t, err)
	return sink.NewReader(fsys, s, nil)
}

// objects visits the objects of a resource in the warehouse.
func (c *company) objects(of *resource.Resource, visit func(o *schema.Object)) {
	c.t.Helper()
	in, err := c.reader().Objects(of)
	if err != nil || in == nil {
		c.t.Fatalf("%s: no table, %v", of.Name, err)
	}
	for {
		o := new(schema.Object)
		more, err := in.Next(o)
		test.OK(c.t, err)
		if !more {
			break
		}
		visit(o)
	}
	test.OK(c.t, in.Close())
}

// sameOrganisation compares every resource with the sandbox.
func (c *company) sameOrganisation() {
	c.t.Helper()
	for _, of := range organised {
		c.sameObjects(of, c.clock.Now())
	}
}

func (c *company) sameObjects(of *resource.Resource, at time.Time) {
	c.t.Helper()
	c.areObjects(of, c.truth(of, at), of.Name)
}

// areObjects checks that the warehouse has these objects of a resource, but for nulls.
func (c *company) areObjects(of *resource.Resource, want map[string]objectJSON, what string) {
	c.t.Helper()
	got, _ := c.stored(of)
	for _, o := range want {
		for _, name := range []string{"id", "knowledge_id"} { // keys are texts
			if n, ok := o[name].(json.Number); ok {
				o[name] = string(n)
			}
		}
	}
	test.Same(c.t, wiretest.Value(c.t, marshal(want)), wiretest.Value(c.t, marshal(got)), "%s (-sandbox +warehouse)", what)
}

// requested returns the number of requests for each resource since the given statistics.
func (c *company) requested(before *sandbox.Stats) map[string]int64 {
	out := map[string]int64{}
	for name, n := range c.service.Server.Stats().ByResource {
		if n -= before.ByResource[name]; n > 0 {
			out[name] = n
		}
	}
	return out
}

// rowsByKey returns the texts of the columns of a resource's rows.
func rowsByKey(c *company, of *resource.Resource) map[string]map[string]string {
	c.t.Helper()
	out := map[string]map[string]string{}
	c.objects(of, func(o *schema.Object) {
		row := map[string]string{}
		for i := range of.Table.Columns {
			row[of.Table.Columns[i].Name] = cmp.Or(o.Row[i].String(), "null")
		}
		out[of.KeyOf(o.Row)] = row
	})
	return out
}

// joins returns the statements under Joins in docs/reference/organisation.md, by their initial words in bold.
func joins(t *testing.T) map[string]string {
	t.Helper()
	text := test.Read(t, "../../../docs/reference/organisation.md")
	_, text2, _ := strings.Cut(string(text), "\n## Joins\n")
	section, _, _ := strings.Cut(text2, "\n## ")
	out := map[string]string{}
	for _, m := range regexp.MustCompile(`(?s)\*\*([^*]+)\*\*[^\n]*\n(?:[^ \n][^\n]*\n)*\n((?:    [^\n]*\n)+)`).FindAllStringSubmatch(section, -1) {
		out[m[1]] = strings.TrimSpace(m[2])
	}
	if len(out) != 4 {
		t.Fatalf("docs/reference/organisation.md has %d joins", len(out))
	}
	return out
}

// A resource added later than its parents is fetched for all of them, even if these have not
// changed. What changes later is a row of changes, and each table at an earlier time is as it was.
func TestResourceRequestedLater(t *testing.T) {
	longtest.Only(t) // several nights; the tests of crawler and sink have the parts
	t.Parallel()
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 24, Calls: 30, Days: 3, Agents: 3}, Organisation: organisation.Config{Pace: -1}})
	c.mustExtract("--resources", "agents,knowledges")
	if n := c.one("SELECT count(*) FROM agent_versions"); n != json.Number("0") {
		t.Fatalf("%v versions nobody asked for", n)
	}
	c.clock.Advance(24 * time.Hour)
	c.mustExtract("--resources", "all")
	for _, of := range []*resource.Resource{resource.AgentVersions, resource.KnowledgeDocuments} {
		if n, want := c.one("SELECT count(*) FROM "+of.Name), len(c.truth(of, c.clock.Now())); n != json.Number(fmt.Sprint(want)) || want == 0 {
			t.Errorf("%v %s, want %d", n, of.Name, want)
		}
	}
	c.sameOrganisation()
	night, world := c.clock.Now(), c.service.Server.Organisation()
	c.clock.Advance(24 * time.Hour)
	if said := c.mustExtract("--resources", "all").stderr; !strings.Contains(said, "0 records") {
		t.Errorf("records are asked for again:\n%s", said)
	}
	agent, base := world.Truth("agents", night)[0], world.Truth("knowledges", night)[0].ID
	test.OK(t, errors.Join(world.Edit(c.clock.Now(), "agents", "", agent.ID, objectJSON{"name": "Bookings"}), world.Delete(c.clock.Now(), "knowledges", "", base)))
	c.clock.Advance(24 * time.Hour)
	c.mustExtract("--resources", "all")
	c.sameOrganisation()
	got := c.one(fmt.Sprintf(`SELECT string_agg(concat_ws(' ', kind, key, before ->> 'name', after ->> 'name'), ', ' ORDER BY kind) AS v
		FROM changes WHERE resource IN ('agents', 'knowledges') AND seen_at > make_timestamptz(%d)`, night.UnixMicro()))
	if want := fmt.Sprintf("changed %s %s Bookings, deleted %s", agent.ID, agent.Object["name"], base); got != want {
		t.Errorf("changes: %v, want %v", got, want)
	}
	ask := fmt.Sprintf("SELECT (SELECT count(*) FROM knowledges_at(n)) || ' ' || (SELECT name FROM agents_at(n) WHERE agent_id = '%s') AS v FROM (SELECT make_timestamptz(%d) AS n)",
		agent.ID, night.Add(time.Hour).UnixMicro())
	manual := joins(t)
	for name, statement := range manual { // in one statement: opening the warehouse costs more
		ask = fmt.Sprintf("SELECT *, (SELECT count(*) FROM (%s)) AS \"%s\" FROM (%s)", strings.TrimSuffix(statement, ";"), name, ask)
	}
	rows, _ := c.objectsOf("sql", ask)
	if want := fmt.Sprint(len(world.Truth("knowledges", night)), " ", agent.Object["name"]); rows[0]["v"] != want {
		t.Errorf("the night before there were %v, want %v", rows, want)
	}
	for name := range manual {
		of := map[string]*resource.Resource{"The history of each customer.": resource.Customers, "Knowledge bases": resource.Knowledges,
			"The models and voices of agents": resource.Agents, "Tools that were never called": resource.Tools}[name]
		if n, want := number(t, rows[0][name]), int64(len(c.truth(of, c.clock.Now()))); n != want && (of != resource.Tools || n == 0 || n > want) {
			t.Errorf("%s: %d rows for %d %s", name, n, want, of.Name)
		}
	}
}

// The organisation itself is requested by its id, which comes only from the settings. Without it, nothing fails.
func TestOrganisationItself(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 25, Calls: 5, Days: 2}, Organisation: organisation.Config{Pace: -1}})
	night := func(id string) (run result) {
		t.Helper()
		args := []string{"--resources", "agents,organizations", "--organization-id", id}
		run = c.extract(t.Context(), append([]string{"run"}, args...)...)
		c.clock.Advance(time.Hour)
		return run
	}
	run := night("")
	if run.code != 0 || strings.Contains(run.stderr, "organizations") {
		t.Errorf("without an id: exit code %d\n%s", run.code, run.stderr)
	}
	run = night("not-ours")
	if run.code != 0 || said(run, resource.Organizations) != 1 {
		t.Errorf("with another's id: exit code %d\n%s", run.code, run.stderr)
	}
	if run = night(c.service.Server.Organisation().ID()); run.code != 0 || said(run, resource.Organizations) > 0 {
		t.Errorf("exit code %d\n%s", run.code, run.stderr)
	}
	c.sameObjects(resource.Organizations, c.clock.Now())
	for _, secret := range []string{"hooks.example", "company.example"} {
		if row := fmt.Sprint(rowsByKey(c, resource.Organizations)); strings.Contains(row, secret) {
			t.Errorf("%s is kept: %s", secret, row)
		}
	}
	// Without the id, the next night does not request it, and keeps the row.
	night("")
	c.sameObjects(resource.Organizations, c.clock.Now())
}

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
