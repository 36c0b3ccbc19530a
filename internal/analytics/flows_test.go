package analytics_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"callhouse/internal/analytics/question"
)

// Paths equal the oracle if most calls have moves: with loops, failed moves, nodes in no graph, and
// versions that name a node differently, published among the calls of a day.
func TestFlowsEqualTheOracle(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 21))
	d := randomData(r, 120)
	organisation(r, &d)
	d.Turns = nil
	for i, c := range d.Calls {
		if i%2 > 0 { // most on the day of the publication
			c["agent_id"], c["start_at"] = "b-three", int64(1_792_600_000_000)+r.Int64N(86_400_000)-43_200_000
			c["agent_version"] = pick(r, []any{"production", "production", "v1"})
			c["status"], c["disconnection_reason"], c["settlement"], c["duration_ms"] = "ended", "user_hangup", "settled", int64(60_000)
		}
		c["transcript_state"] = pick(r, []any{"present", "present", "present", "missing"})
		for i := range r.IntN(7) * (1 - i%4/3) {
			id := fmt.Sprint("t", i)
			d.Turns = append(d.Turns,
				row{"call_id": c["call_id"], "turn": int64(2 * i), "call_start_at": c["start_at"], "role": "tool_call_invocation", "tool_call_id": id,
					"tool_name": maybe(r, .1, "transition_to_node", "transition_to_node", "transition_to_node", "find"), "arguments": moves[r.IntN(1+r.IntN(len(moves)))].arguments},
				row{"call_id": c["call_id"], "turn": int64(2*i + 1), "call_start_at": c["start_at"], "role": "tool_call_result", "tool_call_id": id, "content": answers[r.IntN(20)].content})
		}
	}
	w := warehouse(t, d, zone(t, "Asia/Seoul"))
	for _, p := range []question.Params{{}, {By: "agent_version"}} {
		p.NamesInPlace = true
		rows, err := w.Report(t.Context(), "flows", p)
		got := all(t, rows, err)
		if d := diff(oracle("flows", d, p, w.Location()), got); d != "" || len(got) < 20 {
			t.Errorf("%+v, %d rows (-oracle +report):\n%s", p, len(got), d)
		}
	}
}
