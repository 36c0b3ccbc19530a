package tally

import (
	"cmp"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/calls"
	"callhouse/internal/schema"
	"callhouse/internal/wire/scan"
)

// flowKey is the key of a row of FlowTallies.
type flowKey struct {
	agent, version, from, to uint32
	day                      schema.Opt[int64]
	moved, started           bool
}

// flow are the numbers of a row.
type flow struct {
	latest                                  int64 // start
	calls, passes, failed, answered, hungUp int64
	byOutcome                               [lost + 1]int64
}

// addFlow counts the moves of a call with a transcript.
func (t *Tallies) addFlow(c *calls.Call, e ending) {
	f := &t.facts
	if t.givenUp[&schema.FlowTallies] || c.Settlement() == calls.Open {
		return
	}
	moves, start, version := text(c, colMoves), c.StartAt(), text(c, colAgentVersion)
	k := flowKey{agent: f.words.id(text(c, colAgentID)), version: f.words.id(version), started: start.OK}
	if start.OK && string(version) == "production" {
		k.day = schema.Some(floor(start.V, day))
	}
	clear(f.made)
	known := moves != nil || c.TurnCount().V == 0
	for m := range scan.Elements(moves) {
		k.moved = true
		node, failed, ok := f.move(m)
		known = known && ok
		if k.to = node; failed {
			f.flowOf(k, start.V).failed++
			continue
		}
		f.pass(k, start.V, e)
		k.from = node
	}
	k.to = 0
	f.pass(k, start.V, e) // the end
	if !known || len(f.byFlow) > mostFlowTallies || f.nodes.size > mostNodeBytes {
		t.givenUp[&schema.FlowTallies] = true
		clear(f.byFlow)
		f.nodes = newWords()
	}
}

// move returns the target of a move, and whether it failed. ok is false for a target that is
// neither a text nor an integer: reports write such JSON in a form of their own.
func (f *facts) move(m scan.Value) (node uint32, failed, ok bool) {
	for member := range scan.Members(m.Raw) {
		switch v := member.Value; {
		case string(member.Name) == "failed":
			failed = v.Shape == scan.IsTrue
		case v.Shape == scan.IsString && v.Marks == 0:
			node, ok = f.nodes.id(v.Raw[1:len(v.Raw)-1]), true
		case v.Shape == scan.IsString && v.Marks == scan.Escaped:
			node, ok = f.nodes.id(scan.AppendUnescaped([]byte{}, v.Raw[1:len(v.Raw)-1])), true
		default:
			_, ok = scan.PlainInt(v.Raw)
			node = f.nodes.id(v.Raw)
		}
	}
	return node, failed, ok
}

// pass counts a successful move, or the end of a call.
func (f *facts) pass(k flowKey, start int64, e ending) {
	n := f.flowOf(k, start)
	n.passes++
	if f.made[k] {
		return
	}
	f.made[k] = true
	n.calls++
	if e.answered {
		n.answered++
		n.byOutcome[e.outcome]++
		if e.reason == "user_hangup" {
			n.hungUp++
		}
	}
}

func (f *facts) flowOf(k flowKey, start int64) *flow {
	n := f.byFlow[k]
	if n == nil {
		n = &flow{latest: start}
		f.byFlow[k] = n
	}
	n.latest = max(n.latest, start)
	return n
}

// closeFlows emits the rows of FlowTallies.
func (t *Tallies) closeFlows() error {
	f := &t.facts
	return handOn(t, &schema.FlowTallies, f.byFlow, func(a, b flowKey) int {
		return cmp.Or(f.words.compare(a.agent, b.agent), f.words.compare(a.version, b.version), compareOpt(a.day, b.day),
			f.nodes.compare(a.from, b.from), f.nodes.compare(a.to, b.to), compareBool(a.moved, b.moved), compareBool(a.started, b.started))
	}, func(row parquet.Row, k flowKey, n *flow) parquet.Row {
		row = append(row, f.words.value(k.agent), f.words.value(k.version), schema.MillisValue(k.day),
			f.nodes.value(k.from), f.nodes.value(k.to), parquet.BooleanValue(k.moved),
			schema.MillisValue(schema.Opt[int64]{V: n.latest, OK: k.started}))
		for _, n := range [...]int64{n.calls, n.passes, n.failed, n.answered, n.byOutcome[completed], n.byOutcome[transferred],
			n.byOutcome[lost], n.hungUp} {
			row = append(row, parquet.Int64Value(n))
		}
		return row
	})
}
