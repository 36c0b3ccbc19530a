package tally

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"callhouse/internal/calls"
	"callhouse/internal/schema"
)

// Moves equal those found by walking each call's path again for every move. Package analytics
// compares the rules for outcomes with SQL, and whole reports with an oracle.
func TestFlowTallies(t *testing.T) {
	nodes := map[string]string{"n1": `"n1"`, `a"b`: `"a\"b"`, "7": "7", "": `""`}
	names := []string{"n1", "n1", `a"b`, "7", ""}
	type kind struct {
		text           string
		moved, started bool
	}
	type sum struct{ calls, passes, failed, latest int64 }
	rapid.Check(t, func(t *rapid.T) {
		all := someCalls(t)
		sums := map[kind]sum{}
		for _, c := range all {
			var moves, path, failures []string
			for range rapid.IntRange(0, 4).Draw(t, "moves") {
				node, failed := rapid.SampledFrom(names).Draw(t, "node"), rapid.IntRange(0, 3).Draw(t, "failed") == 0
				if failed {
					moves, failures = append(moves, fmt.Sprintf(`{"node":%s,"failed":true}`, nodes[node])), append(failures, step(path, node))
				} else {
					moves, path = append(moves, fmt.Sprintf(`{"node":%s}`, nodes[node])), append(path, step(path, node))
				}
			}
			set(c, "agent_version", rapid.SampledFrom([]string{"production", "v1"}).Draw(t, "version"))
			set(c, "moves", "["+strings.Join(moves, ",")+"]")
			if c.TranscriptState() != calls.Present || c.Settlement() == calls.Open {
				continue
			}
			dayAt, start := parquet.Value{}, c.StartAt()
			if start.OK && string(c.Text("agent_version")) == "production" {
				dayAt = schema.InstantValue(time.UnixMilli(start.V).UTC().Truncate(24 * time.Hour).UnixMilli())
			}
			count := func(step string, calls, passes, failed int64) {
				k := kind{texts(c.Row[colAgentID], c.Row[colAgentVersion], dayAt) + "|" + step, len(moves) > 0, start.OK}
				n := sums[k]
				sums[k] = sum{n.calls + calls, n.passes + passes, n.failed + failed, max(n.latest, start.V)}
			}
			path = append(path, step(path, "null"))
			for i, s := range path {
				first := int64(1)
				if slices.Contains(path[:i], s) {
					first = 0
				}
				count(s, first, 1, 0)
			}
			for _, s := range failures {
				count(s, 0, 0, 1)
			}
		}
		var want []string
		for k, n := range sums {
			latest := schema.MillisValue(schema.Opt[int64]{V: n.latest, OK: k.started})
			want = append(want, fmt.Sprintf("%s|%v|%s|%d|%d|%d", k.text, k.moved, texts(latest), n.calls, n.passes, n.failed))
		}
		rows, _ := factsOf(t, all)
		var got []string
		for _, row := range rows[&schema.FlowTallies] {
			got = append(got, strings.Join(strings.Split(row, "|")[:10], "|"))
		}
		slices.Sort(want)
		slices.Sort(got)
		if d := gocmp.Diff(want, got); d != "" {
			t.Fatalf("(-want +got):\n%s", d)
		}
	})
}

// step returns the text of a move to a node after a path of such texts.
func step(path []string, node string) string {
	from := "null"
	if n := len(path); n > 0 {
		_, from, _ = strings.Cut(path[n-1], "|")
	}
	return from + "|" + node
}

// The table is given up if calls or nodes differ too much, and if a move is not known, or goes to a
// node whose text DuckDB would write differently.
func TestFlowTalliesGivenUp(t *testing.T) {
	to := func(node string) func(int) string {
		return func(int) string { return `[{"node":` + node + `}]` }
	}
	for _, tt := range []struct {
		name  string
		n     int
		moves func(i int) string
		want  bool
	}{
		{"as many rows as there may be", mostFlowTallies / 2, func(i int) string { return fmt.Sprintf(`[{"node":%d}]`, i) }, false},
		{"too many rows", mostFlowTallies/2 + 1, func(i int) string { return fmt.Sprintf(`[{"node":%d}]`, i) }, true},
		{"nodes too long", mostNodeBytes/1000 + 1, func(i int) string { return fmt.Sprintf(`[{"node":"%1000d"}]`, i) }, true},
		{"a long node, often", mostNodeBytes/1000 + 1, to(`"` + strings.Repeat("x", 1000) + `"`), false},
		{"half a surrogate pair", 1, to(`"\ud800"`), true},
		{"a decimal number", 1, to("1.0"), true},
		{"an object", 1, to(`{"a": 1}`), true},
		{"moves not known", 1, nil, true},
	} {
		tallies := NewTallies([]*schema.Table{&schema.FlowTallies}, func(*schema.Table, parquet.Row) error { return nil })
		for i := range tt.n {
			c := calls.NewCall("")
			c.SetTranscriptState(calls.Present)
			c.SetSettlement(calls.Settled)
			c.Row[colTurnCount] = parquet.Int32Value(1)
			if tt.moves != nil {
				set(c, "moves", tt.moves(i))
			}
			tallies.addFlow(c, ending{})
		}
		if got := tallies.GivenUp(&schema.FlowTallies); got != tt.want {
			t.Errorf("%s: given up: %v", tt.name, got)
		}
	}
}
