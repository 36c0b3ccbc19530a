package analyticstest

import (
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/calls"
	"callhouse/internal/schema"
)

// factsFrom is the first column of calls that holds a fact of the transcript.
const factsFrom = "spoken_turns"

// withFacts returns the calls with turn_count and, for all, some or none of them, the facts of
// their transcripts: reports compute those that a file lacks. Values that a row has stay.
func withFacts(t testing.TB, d Data) []Row {
	t.Helper()
	turns := map[any][]Row{}
	for _, r := range d.Turns {
		turns[r["call_id"]] = append(turns[r["call_id"]], r)
	}
	lacking := rand.IntN(5) // of four calls
	out := make([]Row, len(d.Calls))
	for i, r := range d.Calls {
		out[i] = maps.Clone(r)
		id, _ := r["call_id"].(string)
		if len(turns[id]) == 0 {
			continue
		}
		if out[i]["turn_count"] == nil {
			out[i]["turn_count"] = int64(len(turns[id]))
		}
		if rand.IntN(4) < lacking {
			continue
		}
		for name, v := range facts(t, r, turns[id]) {
			if _, ok := out[i][name]; !ok {
				out[i][name] = v
			}
		}
	}
	return out
}

// facts returns the facts of a transcript as the sink stores them.
func facts(t testing.TB, call Row, turns []Row) Row {
	t.Helper()
	id, _ := call["call_id"].(string)
	c := calls.NewCall(id)
	set(t, &schema.Calls, c.Row, Row{"start_at": call["start_at"], "turn_count": int64(len(turns))})
	for _, r := range turns {
		set(t, &schema.Turns, c.Turns().Add(), r)
	}
	c.Complete()
	out := Row{}
	for i := schema.Calls.Column(factsFrom); i < len(schema.Calls.Columns); i++ {
		switch v := c.Row[i]; {
		case v.IsNull():
		case v.Kind() == parquet.Int32:
			out[schema.Calls.Columns[i].Name] = int64(v.Int32())
		case v.Kind() == parquet.Int64:
			out[schema.Calls.Columns[i].Name] = v.Int64()
		default:
			out[schema.Calls.Columns[i].Name] = string(v.ByteArray())
		}
	}
	return out
}

func set(t testing.TB, table *schema.Table, to schema.Row, from Row) {
	t.Helper()
	for i, c := range table.Columns {
		switch v := from[c.Name].(type) {
		case nil:
		case string:
			to[i] = schema.TextValue([]byte(v))
		case int64:
			switch c.Type {
			case schema.Timestamp:
				to[i] = schema.InstantValue(v)
			case schema.Int32:
				to[i] = parquet.Int32Value(int32(v))
			default:
				to[i] = parquet.Int64Value(v)
			}
		default:
			t.Fatalf("%s: a value of type %T", c.Name, v)
		}
	}
}
