package querycmd_test

import (
	"os"
	"strings"
	"testing"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
)

// A name shared by several agents, ignoring case, selects none of them: wherever an agent can be
// named, the command exits with code 2 and a list of ids.
func TestNameOfSeveralAgents(t *testing.T) {
	t.Chdir(t.TempDir())
	agents := [][2]string{{"a1111111-0001", "Same"}, {"a1111111-0002", "Same"}, {"b2222222-0003", "same"}, {"c3333333-0004", "Alone"}}
	d := analyticstest.Data{Others: map[*schema.Table][]row{}}
	for _, a := range agents {
		d.Calls = append(d.Calls, row{"call_id": "of " + a[0], "agent_id": a[0], "status": "ended"})
		d.Others[resource.Agents.Table] = append(d.Others[resource.Agents.Table], row{"agent_id": a[0], "name": a[1]})
	}
	analyticstest.Write(t, "warehouse", 1, d)
	for _, args := range [][]string{
		{"durations", "--agent", "Same"}, {"durations", "--agent", "same"}, {"calls", "--where", "agent=SAME"},
		{"export", "out", "--agent", "Same"}, {"serve", "user", "add", "agency", "--users", "users.json", "--only-agents", "c3333333-0004,Same"},
	} {
		r := run(t, "a long password\n", args...)
		if r.code != cli.ExitUsage || r.out != "" {
			t.Errorf("%v: %v", args, r)
		}
		for _, a := range agents[:3] {
			if !strings.Contains(r.stderr, a[1]+": "+a[0]) {
				t.Errorf("%v does not name %v: %s", args, a, r.stderr)
			}
		}
	}
	for _, name := range []string{"users.json", "out"} {
		if _, err := os.Stat(name); err == nil {
			t.Errorf("%s was written", name)
		}
	}
	if r := run(t, "", "durations", "--by", "agent"); strings.Count(r.out, "Same (a1111111-0001)") != 1 || strings.Count(r.out, "Same (a1111111-0002)") != 1 || strings.Count(r.out, "same (b2222222-000") != 1 {
		t.Errorf("labels: %v", r)
	}

	// A whole name of one agent works like its id, which must be complete.
	for given, want := range map[string]string{"alone": `["c3333333-0004"]`, "c3333333-0004": `["c3333333-0004"]`, "c3333333": `["c3333333"]`, "nobody": `["nobody"]`} {
		r := run(t, "a long password\n", "serve", "user", "add", "agency", "--users", "users.json", "--only-agents", given)
		raw, err := os.ReadFile("users.json")
		if r.code != cli.ExitOK || err != nil || !strings.Contains(strings.Join(strings.Fields(string(raw)), ""), want) {
			t.Errorf("%s: %v %v\n%s", given, r, err, raw)
		}
		if found := given == "alone" || given == "c3333333-0004"; found == strings.Contains(r.stderr, "no agent") {
			t.Errorf("%s: %v", given, r)
		}
	}
	if r := run(t, "a long password\n", "serve", "user", "add", "x", "--users", "users.json", "--only-agents", "id", "--warehouse", "nowhere"); r.code != cli.ExitOK || !strings.Contains(r.stderr, "no warehouse") {
		t.Errorf("without a warehouse: %v", r)
	}
}
