package page

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/opened"
	"callhouse/internal/analytics/question"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/test"
)

// walking returns calls of two agents, one of which has a graph: calls move backwards in it, and
// end anywhere.
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

// The section of an agent with a graph draws its paths, and has every row of the report behind
// them; other agents have no such section.
func TestPaths(t *testing.T) {
	root := t.TempDir()
	analyticstest.Write(t, root, 1, walking(t))
	w, err := analytics.Open(t.Context(), root, analytics.Options{Options: opened.Options{Threads: 1}})
	test.OK(t, err)
	defer w.Close()
	p := period{since: instant(t, "2026-11-19T00:00:00Z"), until: instant(t, "2026-11-20T00:00:00Z"), loc: time.UTC}
	part := func(agent string) *section {
		s, err := reader{w: w, l: english(t), agent: agent, known: new(sync.Map)}.flows(t.Context(), p)
		test.OK(t, err)
		return s
	}
	s := part("a1")
	rows, err := w.Report(t.Context(), "flows", question.Params{Agent: "a1"})
	test.OK(t, err)
	defer rows.Close()
	lines := s.Details[0].Rows
	for n, l := range lines {
		row, err := rows.Next(t.Context())
		test.OK(t, err)
		if l.Name != row[1] {
			t.Errorf("line %d is from %s, not %v", n, l.Name, row[1])
		}
		for i, at := range []int{2, 3, 4, 5, 8, 9, 10, 11} { // to, calls, passes, share, completed, transferred, lost, hung up
			if l.Cells[i].Exact != fmt.Sprint(row[at]) {
				t.Errorf("line %d has %s for %v", n, l.Cells[i].Exact, row[at])
			}
		}
	}
	if _, err := rows.Next(t.Context()); !errors.Is(err, io.EOF) || len(lines) < 5 || len(s.Charts) != 3 || !strings.HasPrefix(s.Lead, "8 calls passed through") ||
		!strings.Contains(string(s.Charts[0]), "<title>Greet &lt;them&gt; → ask: 6</title>") {
		t.Errorf("%v, %d rows of the report, %s %v", err, len(lines), s.Lead, s.Charts)
	}
	for _, agent := range []string{"", "a2"} {
		if part(agent) != nil {
			t.Errorf("the page of agent %q has paths", agent)
		}
	}
}
