package analytics_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/question"
	"callhouse/internal/calls"
	"callhouse/internal/calls/tally"
	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/schema"
)

// Tallies count a caller's contacts by the rules of the views: which calls are contacts, answered
// and completed, which caller they belong to, and how answered calls ended. If this fails because a
// rule has changed, change internal/calls/tally (callers.go, ending.go) as well, and
// layout.CountedVersion.
func TestContactsAreCountedByTheRulesOfViews(t *testing.T) {
	r := longtest.Rand(t)
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
					"from_e164": maybe(r, .7, "+821012345678"), "to_e164": maybe(r, .7, "+821012345679"),
					"agent_first_word_ms": pick(r, []any{int64(0), int64(400), nil}), "last_tool": maybe(r, .3, "look_up")}
				for name, word := range map[string]string{"status": status, "disconnection_reason": reason} {
					if word != "" {
						c[name] = word
					}
				}
				d.Calls = append(d.Calls, c)
			}
		}
	}
	counted, answered, ended := map[string]string{}, map[string]string{}, map[string]string{}
	for _, c := range d.Calls {
		call := callOf(c)
		tallies := tally.NewTallies(schema.TallyTables, func(table *schema.Table, row parquet.Row) error {
			if table == &schema.CallerTallies {
				col := func(name string) parquet.Value { return row[table.Column(name)] }
				counted[c["call_id"].(string)] = fmt.Sprintf("%s %d %d %d", schema.TextOf(col("caller")), col("undirected_calls").Int64(),
					col("answered_calls").Int64(), col("completed_calls").Int64())
			}
			if table == &schema.AnswerTallies {
				answered[c["call_id"].(string)] += fmt.Sprintf("%v %v %v;", row[0], row[1], row[2])
			}
			if table == &schema.FlowTallies {
				for _, name := range []string{"answered_calls", "completed_calls", "transferred_calls", "lost_calls", "hung_up_calls"} {
					ended[c["call_id"].(string)] += row[table.Column(name)].String()
				}
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
	w := warehouse(t, d, nil)
	rows, err := w.SQL(t.Context(), `SELECT call_id, coalesce(caller, '') || ' ' || CAST(direction IS NOT DISTINCT FROM 'unknown' AS INTEGER)
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
	rows, err = w.SQL(t.Context(), `SELECT call_id, CASE WHEN outcome = 'transferred'
        THEN format('<null> {} {};', coalesce(last_tool, '<null>'), coalesce(CAST(duration_ms AS VARCHAR), '<null>')) ELSE '' END
    || coalesce(agent_first_word_ms || ' <null> <null>;', '')
FROM calls WHERE is_answered`)
	for _, line := range all(t, rows, err) {
		if got := answered[line[0].(string)]; got != line[1] {
			t.Fatalf("the answered call %s is counted as %q, want %q", line[0], got, line[1])
		}
		delete(answered, line[0].(string))
	}
	if len(answered) > 0 {
		t.Errorf("calls are counted that are not answered: %v", answered)
	}
	rows, err = w.SQL(t.Context(), `SELECT call_id, concat(CAST(is_answered AS INTEGER), CAST(is_answered AND outcome = 'completed' AS INTEGER),
    CAST(is_answered AND outcome = 'transferred' AS INTEGER), CAST(is_answered AND outcome IN ('failed', 'abandoned') AS INTEGER),
    CAST(is_answered AND disconnection_reason IS NOT DISTINCT FROM 'user_hangup' AS INTEGER))
FROM calls WHERE is_over AND transcript_state = 'present'`)
	over := all(t, rows, err)
	for _, line := range over {
		if got := ended[line[0].(string)]; got != line[1] {
			t.Fatalf("the end of call %s is counted as %q, want %q", line[0], got, line[1])
		}
	}
	if len(over) != len(ended) || len(over) < 200 {
		t.Errorf("the ends of %d calls are counted, want %d", len(ended), len(over))
	}
}

// callOf returns the call of a row.
func callOf(r row) *calls.Call {
	call := calls.NewCall(r["call_id"].(string))
	for name, v := range r {
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
	return call
}

// Attempts equal the oracle if tallies replace weeks: months begin within a week, clocks change in
// one, and the last month is not compacted. Tallies equal the counts of SQL.
func TestAttemptTallies(t *testing.T) {
	r := longtest.Rand(t)
	var d analyticstest.Data
	reasons := append(schema.Calls.Columns[schema.Calls.Column("disconnection_reason")].Known, "weird", "dial_weird")
	statuses := append(schema.Calls.Columns[schema.Calls.Column("status")].Known, "weird", "ended", "ended", "ended", "ended")
	for i := range 700 {
		// from 25 August to 12 November, or around the start of one of the months
		about := pick(r, []struct{ day, days int64 }{{20_690, 80}, {20_694, 8}, {20_724, 8}, {20_747, 14}})
		at := (about.day*24*60+r.Int64N(about.days*24*60))*60_000 + r.Int64N(2)
		d.Calls = append(d.Calls, row{"call_id": fmt.Sprint(i), "start_at": at, "call_type": maybe(r, .1, "outbound", "inbound", "phone"),
			"direction": maybe(r, .2, "outbound", "outbound", "outbound", "inbound"), "settlement": pick(r, []any{"settled", "settled", "ended", "open"}),
			"status": maybe(r, .1, statuses...), "disconnection_reason": maybe(r, .1, reasons...),
			"to_number": maybe(r, .05, slices.Sorted(maps.Keys(numbers))...), "to_e164": maybe(r, .6, "+1", "+2")})
	}
	d.Compacted = func(month string) bool { return month < "2026-11" }
	d.Earlier = func(string) bool { return false }
	root := t.TempDir()
	analyticstest.Write(t, root, 1, d)
	at := func(month time.Month, day, hour int) time.Time {
		return time.Date(2026, month, day, hour, 0, 0, 0, time.UTC)
	}
	for _, name := range []string{"UTC", "Asia/Seoul", "Europe/Berlin", "America/New_York", "America/St_Johns", "Australia/Lord_Howe", "Pacific/Chatham"} {
		w := open(t, root, zone(t, name))
		some := []question.Params{{Since: at(9, 17, 5)}, {Until: at(10, 20, 5)}, {Since: at(10, 1, 0), Until: at(11, 3, 0)}, {By: "weekday"}}
		for _, p := range []question.Params{{}, pick(r, some)} {
			rows, err := w.Report(t.Context(), "attempts", p)
			if d := diffNear(oracle("attempts", d, p, w.Location()), all(t, rows, err)); d != "" {
				t.Errorf("%s, %+v (-oracle +report):\n%s", name, p, d)
			}
		}
	}
	w := open(t, root, nil)
	edges := w.Snapshot().Manifest.FilesOf(schema.AttemptEdges.Name)
	for _, f := range w.Snapshot().Manifest.FilesOf(schema.AttemptTallies.Name) {
		var counted []string
		tallies := tally.NewTallies(schema.TallyTables, func(table *schema.Table, row parquet.Row) error {
			if table == &schema.AttemptTallies {
				counted = append(counted, fmt.Sprintf("%d %s %s %v", row[0].Int64()/1000, schema.TextOf(row[1]), row[2], row[3:]))
			}
			if table == &schema.AttemptEdges {
				counted = append(counted, fmt.Sprintf("%s %d %s", row[0], row[1].Int64()/1000, row[2]))
			}
			return nil
		})
		for _, c := range d.Calls {
			if layout.Day(c["start_at"].(int64))[:7] == f.Period {
				if err := tallies.Add(callOf(c)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := tallies.Close(); err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(edges, func(e *layout.File) bool { return e.Period == f.Period })
		rows, err := w.SQL(t.Context(), "SELECT epoch_ms(week_start_at) || ' ' || span || ' ' || coalesce(CAST(attempt AS VARCHAR), '<null>') || "+
			"format(' [{} {} {} {}]', calls, known_calls, reached_calls, voicemail_calls) FROM '"+w.Snapshot().Path(f)+"' "+
			"UNION ALL SELECT concat_ws(' ', coalesce(number, '<null>'), epoch_ms(start_at), coalesce(result, '<null>')) FROM '"+w.Snapshot().Path(edges[i])+"'")
		var want []string
		for _, line := range all(t, rows, err) {
			want = append(want, line[0].(string))
		}
		slices.Sort(counted)
		slices.Sort(want)
		if d := gocmp.Diff(want, counted); d != "" || len(want) < 100 {
			t.Errorf("%s: %d rows (-SQL +tallies):\n%s", f.Period, len(want), d)
		}
	}
}
