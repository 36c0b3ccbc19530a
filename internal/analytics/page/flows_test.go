package page

import (
	"fmt"
	"html"
	"strings"
	"testing"
	"time"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
)

// walking are calls of two agents, one of which has a graph: calls go back in it, and end anywhere.
func walking(t *testing.T) analyticstest.Data {
	now := instant(t, "2026-11-20T06:00:00Z")
	d := analyticstest.Data{Coverage: []schema.Span{{From: 0, To: now.UnixMilli()}}, Others: map[*schema.Table][]row{resource.Agents.Table: {
		{"agent_id": "a1", "flow": `{"nodes":[{"id":"greet","data":{"name":"Greet <them>"}},{"id":"ask"}]}`}, {"agent_id": "a2"}}}}
	for i := range 12 {
		c := row{"call_id": fmt.Sprint("c", i), "agent_id": []string{"a1", "a1", "a2"}[i%3], "call_type": "inbound", "status": "ended", "disconnection_reason": "user_hangup", "user_turns": int64(1),
			"settlement": "settled", "duration_ms": int64(60_000), "transcript_state": "present", "start_at": now.Add(-time.Duration(7+i) * time.Hour).UnixMilli()}
		d.Calls = append(d.Calls, c)
		for n, node := range []string{"greet", "ask", "greet", "ask"}[:i%5] {
			if c["agent_id"] == "a1" {
				d.Turns = append(d.Turns, row{"call_id": c["call_id"], "turn": int64(n), "role": "tool_call_invocation", "tool_name": "transition_to_node", "arguments": fmt.Sprintf(`{"node":%q}`, node), "call_start_at": c["start_at"]})
			}
		}
	}
	return d
}

// The page of an agent with a graph draws its paths, and has every row of the report behind them;
// other pages have no such part.
func TestPaths(t *testing.T) {
	d := walking(t)
	o := Options{Now: instant(t, "2026-11-20T06:00:00Z"), Agent: "a1"}
	_, text := made(t, d, o)
	wellFormed(t, text)
	alone(t, text)
	_, part, _ := strings.Cut(text, `<section id="flows"`)
	part, _, _ = strings.Cut(part, "</section>")
	root := t.TempDir()
	analyticstest.Write(t, root, 1, d)
	w, err := analytics.Open(t.Context(), root, analytics.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	rows, err := w.Report(t.Context(), "flows", analytics.Params{Agent: "a1"})
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	lines := strings.Split(part, "<tr>")[2:]
	for n, line := range lines {
		row, err := rows.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range row[2:6] { // to, calls, passes, share
			want := html.EscapeString(fmt.Sprint(v))
			if !strings.Contains(line, `value="`+want+`"`) {
				t.Errorf("line %d lacks %v: %s", n, want, line)
			}
		}
	}
	if _, err := rows.Next(t.Context()); err == nil || len(lines) < 5 {
		t.Errorf("the page has %d of the report's rows", len(lines))
	}
	for _, want := range []string{"8 calls walked", `class="xl"`, `class="sm"`, "Greet &lt;them&gt;", "query flows "} {
		if !strings.Contains(part, want) {
			t.Errorf("the page lacks %q: %s", want, part)
		}
	}
	for _, agent := range []string{"", "a2"} {
		o.Agent = agent
		if _, text := made(t, d, o); strings.Contains(text, `id="flows"`) {
			t.Errorf("the page of agent %q has paths", agent)
		}
	}
}
