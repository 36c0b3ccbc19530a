package analytics_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/question"
	"callhouse/internal/resource"
)

// graphOf returns the names of the nodes, by id, of the graph of a call's agent; nil if there is none.
func graphOf(c row, d analyticstest.Data) map[string]any {
	var flow any
	for _, a := range d.Others[resource.Agents.Table] {
		if a["agent_id"] == c["agent_id"] {
			flow = a["flow"]
		}
	}
	var graph struct{ Nodes json.RawMessage }
	var nodes []struct {
		ID   string
		Data struct{ Name *string }
	}
	text, _ := flow.(string)
	if json.Unmarshal([]byte(text), &graph) != nil || json.Unmarshal(graph.Nodes, &nodes) != nil {
		return nil
	}
	names := map[string]any{}
	for _, n := range nodes {
		names[n.ID] = nil
		if n.Data.Name != nil {
			names[n.ID] = *n.Data.Name
		}
	}
	return names
}

func nodeOf(arguments any) any {
	for _, m := range moves {
		if m.arguments == arguments {
			return m.node
		}
	}
	panic("arguments that are not in the list")
}

// movesOf returns a call's moves in order.
func movesOf(turns []row) (out []*use) {
	for _, u := range usesOf(turns) {
		if u.tool == "transition_to_node" {
			out = append(out, u)
		}
	}
	slices.SortFunc(out, func(a, b *use) int { return cmp.Compare(a.turn, b.turn) })
	return out
}

func walksGraph(c row, d analyticstest.Data, turns map[any][]row) bool {
	return over(c) && c["transcript_state"] == "present" && (len(movesOf(turns[c["call_id"]])) > 0 || graphOf(c, d) != nil)
}

// flowsOf walks through the calls of a group, one at a time.
func flowsOf(g *group, d analyticstest.Data, turns map[any][]row) (out [][]any) {
	type edge struct{ agent, from, to any }
	type passed struct {
		calls          map[any]row
		passes, failed int
	}
	type node struct{ agent, id any }
	edges := map[edge]*passed{}
	names := map[node]any{}
	leaving, ended := map[node]int{}, map[any]int{}
	for _, c := range g.calls {
		at := any(nil)
		agent, graph := orNil(c, "agent_id"), graphOf(c, d)
		pass := func(to any, fails bool) {
			e := edges[edge{agent, at, to}]
			if e == nil {
				e = &passed{calls: map[any]row{}}
				edges[edge{agent, at, to}] = e
			}
			if id, ok := to.(string); ok && graph[id] != nil {
				names[node{agent, to}] = graph[id]
			}
			if fails {
				e.failed++
				return
			}
			e.passes++
			e.calls[c["call_id"]] = c
			leaving[node{agent, at}]++
			at = to
		}
		for _, u := range movesOf(turns[c["call_id"]]) {
			var arguments any
			for _, t := range turns[c["call_id"]] {
				if t["turn"] == u.turn {
					arguments = t["arguments"]
				}
			}
			pass(nodeOf(arguments), u.answered && failed(u.content))
		}
		pass(nil, false)
		ended[agent]++
	}
	for e, p := range edges {
		var of, completed, transferred, lost, hungUp int
		for _, c := range p.calls {
			if !answered(c) {
				continue
			}
			of++
			outcome, _ := outcomeOf(c)
			completed += count([]row{c}, func(row) bool { return outcome == "completed" })
			transferred += count([]row{c}, func(row) bool { return outcome == "transferred" })
			lost += count([]row{c}, func(row) bool { return outcome == "failed" || outcome == "abandoned" })
			hungUp += count([]row{c}, func(c row) bool { return reasonIs(c, "user_hangup") })
		}
		name := func(id any, none string) any {
			switch known := names[node{e.agent, id}]; {
			case id == nil:
				return none
			case known != nil:
				return known
			}
			return id
		}
		out = append(out, []any{g.key, e.agent, name(e.from, "(start)"), name(e.to, "(end)"), int64(len(p.calls)), int64(p.passes), share(p.passes, leaving[node{e.agent, e.from}]),
			int64(p.failed), int64(of), share(completed, of), share(transferred, of), share(lost, of), share(hungUp, of), e.from, e.to})
	}
	none := func(id any) int { // the start of a call comes first, its end last
		if id == nil {
			return 1
		}
		return 0
	}
	word := func(id any) string { s, _ := id.(string); return s }
	slices.SortFunc(out, func(a, b []any) int {
		return cmp.Or(cmp.Compare(ended[b[1]], ended[a[1]]), cmp.Compare(none(a[1]), none(b[1])), strings.Compare(word(a[1]), word(b[1])),
			cmp.Compare(leaving[node{b[1], b[13]}], leaving[node{a[1], a[13]}]), cmp.Compare(none(b[13]), none(a[13])), strings.Compare(word(a[13]), word(b[13])),
			cmp.Compare(b[5].(int64), a[5].(int64)), cmp.Compare(none(a[14]), none(b[14])), strings.Compare(word(a[14]), word(b[14])))
	})
	return out
}

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
		got := rowsOf(t, w, "flows", p)
		if d := diff(oracle("flows", d, p, w.Location()), got); d != "" || len(got) < 20 {
			t.Errorf("%+v, %d rows (-oracle +report):\n%s", p, len(got), d)
		}
	}
}
