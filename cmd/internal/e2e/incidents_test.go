package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
	"callhouse/internal/test"
)

// nightly has the rules for the incidents of TestNightsWithIncidents.
const nightly = `
[[rules]]
name = "a tool fails"
report = "tools"
column = "failed_percent"
above = 10
to = ["hook"]

[[rules]]
name = "slow answers"
report = "conversation"
by = ["agent"]
column = "latency_p95_ms"
above = 5000
to = ["hook"]

[[rules]]
name = "many transfers"
report = "agents"
by = ["agent"]
column = "transferred_percent"
window = "3d"
above = 11
to = ["hook"]

[[rules]]
name = "dials fail"
report = "outcomes"
row = {kind = "failed to dial"}
column = "share_percent"
above = 10
to = ["hook"]

[[rules]]
name = "connected unusual"
column = "connected_percent"
unusual = "down"
to = ["hook"]

[[rules]]
name = "negative callers"
report = "sentiment"
agent = "$AGENT"
row = {user_sentiment = "negative"}
column = "rated_percent"
window = "3d"
changed = "up"
to = ["hook"]

[[rules]]
name = "calls unusual"
column = "calls"
unusual = "any"
to = ["hook"]

[[rules]]
name = "hardly any calls"
report = "durations"
column = "calls"
below = 40
to = ["hook"]

[[rules]]
name = "calls cost more"
report = "costs"
column = "per_call"
window = "7d"
changed = "up"
to = ["hook"]
`

// In thirty nights with three incidents (and a public holiday, with few calls), each rule starts an
// alert once and ends it once for each incident that affects it, and no other message is sent.
func TestNightsWithIncidents(t *testing.T) {
	notUnderRace(t)
	longtest.Only(t) // TestAlertsAfterARun tests runs with rules, the tests of alert when an alert starts and ends
	const nights, past = 31, 45
	o := sandbox.Options{World: sandbox.Config{Seed: 40, Calls: 10_000, Days: 50, Agents: 6, Campaigns: -1}, NamedVersions: true}
	test.OK(t, o.World.Incidents.Set("tool:validate_address=5..9,carrier=12..15,release:2=19..24"))
	began := time.Date(2026, 9, 16, 0, 0, 0, 0, time.UTC)
	c := foundAt(t, began, o)
	bin, b := t.TempDir(), newInbox(t)
	linkProgram(t, bin, "query")
	t.Setenv("PATH", bin)
	rules := filepath.Join(bin, "alerts.toml")
	text := strings.Replace(nightly, "$AGENT", c.service.Server.World().Agents()[2].ID.String(), 1)
	test.OK(t, os.WriteFile(rules, []byte("[channels.hook]\ntype = \"webhook\"\nurl = \""+b.URL+"\"\n"+text), 0o600))
	var told, bodies []string
	var first struct {
		Items []struct{ Group, Command string }
	}
	for night := range nights {
		c.clock.Set(began.AddDate(0, 0, night).Add(3 * time.Hour))
		r := c.mustExtract("--alerts", rules, "--tz", "UTC", "--since", began.AddDate(0, 0, -past).Format(time.DateOnly), "--transcripts", "v2")
		if strings.Contains(r.stderr, "WARN") {
			t.Errorf("night %d:\n%s", night, r.stderr)
		}
		for _, body := range b.bodies[len(bodies):] {
			var m struct{ Event, Rule string }
			test.OK(t, json.Unmarshal(body, &m))
			if bodies = append(bodies, string(body)); m.Rule == "a tool fails" && m.Event == "started" {
				_ = json.Unmarshal(body, &first)
			}
			told = append(told, fmt.Sprint(night, " ", m.Event, " ", m.Rule))
		}
	}
	want := []string{"3 started calls unusual", "4 ended calls unusual", "6 started a tool fails", "6 started slow answers",
		"7 started many transfers", "10 ended a tool fails", "10 ended slow answers", "12 ended many transfers",
		"13 started dials fail", "13 started connected unusual", "16 ended dials fail", "16 ended connected unusual",
		"21 started negative callers", "27 ended negative callers"}
	if strings.Join(told, "\n") != strings.Join(want, "\n") {
		t.Errorf("told:\n%s\nwant:\n%s\n%s", strings.Join(told, "\n"), strings.Join(want, "\n"), strings.Join(bodies, "\n"))
	}
	if len(first.Items) != 1 || first.Items[0].Group != "tool name validate_address" ||
		first.Items[0].Command != "query calls --since 2026-09-21 --until 2026-09-22 --tz UTC" {
		t.Errorf("the message about the tool: %+v", first.Items)
	}
}
