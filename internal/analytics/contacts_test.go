package analytics_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/calls"
	"callhouse/internal/schema"
)

// Tallies count a caller's contacts by the rules of the views: which calls are contacts, answered and
// completed, and who the caller is. If this fails because a rule has changed, change internal/calls/callers.go
// as well, and layout.CountedVersion.
func TestContactsAreCountedByTheRulesOfViews(t *testing.T) {
	r := rand.New(rand.NewPCG(rand.Uint64(), 1))
	column := func(name string) schema.Column { return schema.Calls.Columns[schema.Calls.Column(name)] }
	var d analyticstest.Data
	for _, status := range append(column("status").Known, "weird", "") {
		for _, reason := range append(column("disconnection_reason").Known, "dial_weird", "weird_limit_reached", "") {
			for range 6 {
				c := row{"call_id": fmt.Sprint(len(d.Calls)), "start_at": pick(r, []any{int64(1_794_000_000_000), int64(1_794_000_000_000), int64(1_794_000_000_000), nil}), "duration_ms": pick(r, []any{int64(9_999), int64(10_000), int64(60_000), nil}),
					"user_turns": pick(r, []any{int64(0), int64(1), int64(2), nil}), "settlement": pick(r, []any{"settled", "settled", "ended", "open"}),
					"transcript_state": pick(r, []any{"present", "present", "empty", "pending", "withheld", "missing", "skipped"}),
					"call_type":        maybe(r, .1, "inbound", "outbound", "phone", "web"), "direction": maybe(r, .7, "inbound", "outbound", "unknown"),
					"from_number": maybe(r, .1, "+12125550123", "2125550123", "anonymous1", "restricted", "0"), "to_number": maybe(r, .1, "1", "ANONYMOUS 1", "sip:7@x"),
					"from_e164": maybe(r, .7, "+821012345678"), "to_e164": maybe(r, .7, "+821012345679")}
				for name, word := range map[string]string{"status": status, "disconnection_reason": reason} {
					if word != "" {
						c[name] = word
					}
				}
				d.Calls = append(d.Calls, c)
			}
		}
	}
	counted := map[string]string{}
	for _, c := range d.Calls {
		call := calls.NewCall(c["call_id"].(string))
		for name, v := range c {
			at := schema.Calls.Column(name)
			switch v := v.(type) {
			case string:
				call.Row[at] = schema.TextValue([]byte(v))
			case int64:
				switch schema.Calls.Columns[at].Type {
				case schema.Timestamp:
					call.Row[at] = schema.InstantValue(v)
				case schema.Int32:
					call.Row[at] = parquet.Int32Value(int32(v))
				default:
					call.Row[at] = parquet.Int64Value(v)
				}
			}
		}
		tallies := calls.NewTallies(schema.TallyTables, func(table *schema.Table, row parquet.Row) error {
			if table == &schema.CallerTallies {
				col := func(name string) parquet.Value { return row[table.Column(name)] }
				counted[c["call_id"].(string)] = fmt.Sprintf("%s %d %d %d", schema.TextOf(col("caller")), col("undirected_calls").Int64(),
					col("answered_calls").Int64(), col("completed_calls").Int64())
			}
			return nil
		})
		if err := tallies.Add(call); err != nil {
			t.Fatal(err)
		}
		if err := tallies.Close(); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := warehouse(t, d, nil).SQL(t.Context(), `SELECT call_id, coalesce(caller, '') || ' ' || CAST(direction IS NOT DISTINCT FROM 'unknown' AS INTEGER)
    || ' ' || CAST(is_answered AS INTEGER) || ' ' || CAST(is_completed AS INTEGER)
FROM calls WHERE is_contact(start_at, direction, is_connected, is_voicemail)`)
	contacts := all(t, rows, err)
	for _, line := range contacts {
		if got := counted[line[0].(string)]; got != line[1] {
			t.Fatalf("call %s is counted as %q, want %q", line[0], got, line[1])
		}
	}
	if len(contacts) != len(counted) || len(contacts) < 300 {
		t.Errorf("%d contacts are counted, want %d", len(counted), len(contacts))
	}
}
