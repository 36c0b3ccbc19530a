package analyticstest

import (
	"cmp"
	"maps"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/calls"
	"callhouse/internal/schema"
)

// factsFrom is the first column of calls with a fact derived from the transcript.
const factsFrom = "spoken_turns"

// derive adds the data derived from transcripts: turn_count, the facts in calls, and the tool calls.
// Existing values of a row are kept.
func (w *writer) derive(d Data) Data {
	w.t.Helper()
	turns := map[any][]Row{}
	for _, r := range d.Turns {
		turns[r["call_id"]] = append(turns[r["call_id"]], r)
	}
	rows := slices.Clone(d.Calls)
	for i, r := range rows {
		rows[i] = maps.Clone(r)
		of := turns[r["call_id"]]
		if len(of) > 0 && r["turn_count"] == nil {
			rows[i]["turn_count"] = int64(len(of))
		}
		if len(of) == 0 {
			continue
		}
		facts, _ := derived(w.t, r["start_at"], of)
		for name, v := range facts {
			if _, ok := rows[i][name]; !ok {
				rows[i][name] = v
			}
		}
	}
	d.Calls = rows
	for _, of := range turns {
		_, tools := derived(w.t, of[0]["call_start_at"], of)
		w.tools = append(w.tools, tools...)
	}
	slices.SortFunc(w.tools, func(a, b Row) int {
		at, _ := a["call_start_at"].(int64)
		bt, _ := b["call_start_at"].(int64)
		return cmp.Or(cmp.Compare(at, bt), cmp.Compare(a["call_id"].(string), b["call_id"].(string)),
			cmp.Compare(a["turn"].(int64), b["turn"].(int64)))
	})
	return d
}

// derived returns the data that the sink derives from a call's transcript: its facts in calls, and its tool calls.
func derived(t testing.TB, start any, turns []Row) (facts Row, tools []Row) {
	t.Helper()
	turns = slices.SortedStableFunc(slices.Values(turns), func(a, b Row) int { return cmp.Compare(number(a), number(b)) })
	id, ok := turns[0]["call_id"].(string)
	if !ok {
		id = "call_id" // as usual
	}
	c := calls.NewCall(id)
	c.Row[schema.Calls.Column("fetched_at")] = parquet.Value{}
	set(t, &schema.Calls, c.Row, Row{"start_at": start, "fetched_at": turns[0]["fetched_at"], "turn_count": int64(len(turns))})
	for _, r := range turns {
		set(t, &schema.Turns, c.Turns().Add(), r)
	}
	var made calls.ToolRows
	c.Complete(made.Of(c))
	facts = rowOf(&schema.Calls, c.Row)
	for i := range schema.Calls.Column(factsFrom) {
		delete(facts, schema.Calls.Columns[i].Name)
	}
	_ = made.Each(c, func(row schema.Row) error {
		tool := rowOf(&schema.ToolCalls, row)
		for _, name := range []string{"turn", "result_turn"} { // a test's turns may be numbered with gaps
			if at, ok := tool[name].(int64); ok {
				tool[name] = number(turns[at])
			}
		}
		tools = append(tools, tool)
		return nil
	})
	return facts, tools
}

func number(turn Row) int64 {
	n, _ := turn["turn"].(int64)
	return n
}

// rowOf returns the values of a row that are not null.
func rowOf(table *schema.Table, from schema.Row) Row {
	out := Row{}
	for i, c := range table.Columns {
		switch v := from[i]; {
		case v.IsNull():
		case c.Type == schema.Timestamp:
			out[c.Name] = schema.MillisOf(v).V
		case v.Kind() == parquet.Int32:
			out[c.Name] = int64(v.Int32())
		case v.Kind() == parquet.Int64:
			out[c.Name] = v.Int64()
		case v.Kind() == parquet.Boolean:
			out[c.Name] = v.Boolean()
		default:
			out[c.Name] = string(v.ByteArray())
		}
	}
	return out
}

func set(t testing.TB, table *schema.Table, to schema.Row, from Row) {
	t.Helper()
	for i, c := range table.Columns {
		if v := from[c.Name]; v != nil {
			to[i] = valueOf(t, c, v)
		}
	}
}
