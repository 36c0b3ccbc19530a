package analytics_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/question"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
)

// Paths equal the oracle's where most calls walk: with loops, moves that fail, nodes that no graph
// has, and versions that name a node differently.
func TestFlowsEqualTheOracle(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 21))
	d := randomData(r, 120)
	organisation(r, &d)
	d.Turns = nil
	for _, c := range d.Calls {
		c["transcript_state"] = pick(r, []any{"present", "present", "present", "missing"})
		for i := range r.IntN(7) {
			id := fmt.Sprint("t", i)
			d.Turns = append(d.Turns,
				row{"call_id": c["call_id"], "turn": int64(2 * i), "call_start_at": c["start_at"], "role": "tool_call_invocation", "tool_call_id": id,
					"tool_name": maybe(r, .1, "transition_to_node", "transition_to_node", "transition_to_node", "find"), "arguments": moves[r.IntN(1+r.IntN(len(moves)))].arguments},
				row{"call_id": c["call_id"], "turn": int64(2*i + 1), "call_start_at": c["start_at"], "role": "tool_call_result", "tool_call_id": id, "content": answers[r.IntN(20)].content})
		}
	}
	compacted := d // whose paths are in tallies
	compacted.Compacted, compacted.Earlier = func(string) bool { return true }, func(string) bool { return false }
	for _, c := range []struct {
		d analyticstest.Data
		p question.Params
	}{{d, question.Params{}}, {d, question.Params{By: "agent_version"}}, {compacted, question.Params{}}} {
		w, p := warehouse(t, c.d, zone(t, "Asia/Seoul")), c.p
		p.NamesInPlace = true
		rows, err := w.Report(t.Context(), "flows", p)
		got := all(t, rows, err)
		if d := diff(oracle("flows", d, p, w.Location()), got); d != "" || len(got) < 20 {
			t.Errorf("%+v, %d rows (-oracle +report):\n%s", p, len(got), d)
		}
	}
}

// Calls of a compacted month that began before an agent's production became another version, and after, are
// told apart: here only those after it have a graph to walk.
func TestFlowsOfTalliesKnowVersions(t *testing.T) {
	d := analyticstest.Data{Compacted: func(string) bool { return true }, Earlier: func(string) bool { return false },
		Others: map[*schema.Table][]row{resource.AgentVersions.Table: {
			{"agent_id": "a", "version": "v1", "data": `{}`, "created_at": int64(1_793_500_000_000)}, // 31 October
			{"agent_id": "a", "version": "v2", "data": `{}`, "flow": `{"nodes":[{"id":"n1"}]}`, "created_at": int64(1_794_500_000_000)},
		}}}
	for i := range 6 { // five before v2
		d.Calls = append(d.Calls, row{"call_id": fmt.Sprint(i), "agent_id": "a", "agent_version": "production", "status": "ended",
			"start_at": int64(1_794_000_000_000 + i*120_000_000), "turn_count": int64(0), "moves": "[]"})
	}
	w := warehouse(t, d, nil)
	rows, err := w.Report(t.Context(), "flows", question.Params{NamesInPlace: true})
	got := all(t, rows, err)
	if len(got) != 1 || got[0][4] != int64(1) {
		t.Errorf("not one call that walked: %v", got)
	}
}
