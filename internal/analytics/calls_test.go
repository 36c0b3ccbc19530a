package analytics_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/database"
	"callhouse/internal/analytics/question"
	"callhouse/internal/longtest"
	"callhouse/internal/schema"
	"callhouse/internal/test"
)

// The words that tests use: every one that the service is known to send, none, and one that it may
// send in the future.
var (
	allStatuses = []any{nil, "queued", "registered", "initiated", "ringing", "ongoing", "ended", "error", "canceled", "not_connected", "levitating"}
	allReasons  = []any{nil, "user_hangup", "agent_hangup", "operator_hangup", "dial_no_answer", "dial_failed", "dial_busy", "dial_declined",
		"voicemail_reached", "concurrency_limit_reached", "daily_call_limit_reached", "hourly_call_limit_reached", "insufficient_balance",
		"blocked_number", "orphaned_no_agent_pickup", "error_voxai", "max_duration_reached", "inactivity", "flow_error", "call_transfer", "eclipse"}
	allStates = []any{"pending", "present", "empty", "withheld", "missing"}
)

// everyKindOfCall returns a call for each combination of the values that determine an outcome, with
// sentiments and settlements in turn.
func everyKindOfCall() (calls []row) {
	add := func(r row) {
		n := len(calls)
		r["call_id"], r["user_sentiment"] = fmt.Sprintf("%06d", n), []any{nil, "positive", "negative", "elated"}[n/7%4]
		if r["settlement"] == nil {
			r["settlement"] = []any{"settled", "ended", "expired"}[n%3]
		}
		if _, ok := r["start_at"]; !ok {
			r["start_at"] = int64(1_700_000_000_000)
		}
		calls = append(calls, r)
	}
	for _, status := range allStatuses {
		for _, reason := range allReasons {
			durations := []any{nil, int64(9_999), int64(10_000)}
			add(row{"status": status, "disconnection_reason": reason, "settlement": "open", "user_turns": int64(2)})
			add(row{"status": status, "disconnection_reason": reason, "start_at": nil, "user_turns": int64(2)})
			for _, state := range allStates {
				for i, turns := range []any{nil, int64(0), int64(3)} {
					of := durations[i:][:1]
					if reason == "user_hangup" || reason == "agent_hangup" {
						of = durations
					}
					for _, ms := range of {
						add(row{"status": status, "disconnection_reason": reason, "duration_ms": ms, "transcript_state": state, "user_turns": turns})
					}
				}
			}
		}
	}
	return calls
}

// Every call has exactly one outcome, whatever its status, reason, transcript, duration, settlement
// and sentiment. The view calls derives the documented facts of each call, and the counts agree.
func TestOutcomesPartitionTheCalls(t *testing.T) {
	calls := everyKindOfCall()
	var want [][]any
	byOutcome := map[any]int{}
	for _, r := range calls {
		outcome, kind := outcomeOf(r)
		if !slices.Contains(outcomes, outcome) || kind == "" {
			t.Fatalf("%v has the outcome %q, %q", r, outcome, kind)
		}
		byOutcome[outcome]++
		line := []any{r["call_id"], over(r), nil, reasonIs(r, "voicemail_reached"), outcome, kind, answered(r), completed(r), nil}
		if up := linked(r); up != "" {
			line[2] = up == "yes"
		}
		if connected(r) {
			line[8] = r["duration_ms"]
		}
		want = append(want, line)
	}
	if len(byOutcome) != len(outcomes) {
		t.Fatalf("there are only %v", byOutcome)
	}
	d := analyticstest.Data{Calls: calls}
	w := warehouse(t, d, nil)
	rows, err := w.SQL(t.Context(), `SELECT call_id, is_over, is_connected, is_voicemail, outcome, outcome_kind, is_answered, is_completed, talk_ms
	FROM calls ORDER BY call_id`)
	got := all(t, rows, err)
	for i := range want {
		if !slices.Equal(want[i], got[i]) {
			t.Fatalf("%v is %v, want %v", calls[i], got[i], want[i])
		}
	}
	for _, by := range longtest.Some(2, []string{"", "status", "week"}) {
		p := question.Params{By: by}
		got := rowsOf(t, w, "outcomes", p)
		if d := diffNear(oracle("outcomes", d, p, w.Location()), got); d != "" {
			t.Fatalf("by %q (-oracle +report):\n%s", by, d)
		}
		if by == "" {
			sum := map[any]int{}
			for _, line := range got {
				sum[line[0]] += int(line[2].(int64))
			}
			for outcome, n := range byOutcome {
				if sum[outcome] != n {
					t.Errorf("%d calls are %s, the report says %d", n, outcome, sum[outcome])
				}
			}
		}
	}
}

// knows reports whether the crawler knows a word of a column.
func knows(column, word string) bool {
	return schema.Calls.Columns[schema.Calls.Column(column)].Knows([]byte(word))
}

// The crawler and the reports use the same words.
func TestVocabularyIsOne(t *testing.T) {
	for _, c := range []struct {
		macro, column string
		words         []any
	}{
		{"known_reason", "disconnection_reason", append(slices.Clone(allReasons[1:]), "max_limit_reached", "dial_", "", "user_hangup ")},
		{"known_status", "status", append(slices.Clone(allStatuses[1:]), "", "endedd")},
	} {
		for i, known := range eachOf(t, c.macro, c.words, func(word any) string { return word.(string) }) {
			if word := c.words[i].(string); known != knows(c.column, word) {
				t.Errorf("%s(%q) is %v in SQL, and not for the crawler", c.macro, word, known)
			}
		}
	}
}

// Exported tables have the oldest period first. The newest rows are found without the older files.
func TestNewestRowsSpareOlderFiles(t *testing.T) {
	longtest.Only(t)
	var d analyticstest.Data
	for i := range 4 {
		id, start := fmt.Sprintf("c%d", i), int64(1_700_000_000_000+i*31*86_400_000)
		d.Calls = append(d.Calls, row{"call_id": id, "start_at": start})
		d.Turns = append(d.Turns, row{"call_id": id, "call_start_at": start, "turn": int64(0), "role": "user", "content": id})
	}
	root := t.TempDir()
	analyticstest.Write(t, root, 1, d)
	w := open(t, root, time.UTC)
	oldest, err := analytics.Open(t.Context(), root, analytics.Options{Options: database.Options{OldestFirst: true}})
	test.OK(t, err)
	defer oldest.Close()
	for _, table := range []string{"calls", "costs", "transcript_turns"} {
		var ids []any
		rows, err := oldest.Table(t.Context(), table, question.Params{})
		for _, r := range all(t, rows, err) {
			ids = append(ids, r[0])
		}
		if want := []any{"c0", "c1", "c2", "c3"}; !slices.Equal(ids, want) {
			t.Errorf("%s: %v, want %v", table, ids, want)
		}
	}
	if plan := fmt.Sprint(sqlOf(t, w, "EXPLAIN FROM calls")); !strings.Contains(plan, "~4 rows") { // the heap of the newest rows grows with it
		t.Errorf("DuckDB expects another number of calls than 4:\n%s", plan)
	}
	if plan := fmt.Sprint(sqlOf(t, w, "EXPLAIN FROM calls ORDER BY local_start LIMIT 1000")); !strings.Contains(plan, "file_row_number") {
		t.Errorf("DuckDB reads all columns to sort by one:\n%s", plan)
	}
	files, err := filepath.Glob(filepath.Join(w.Snapshot().Dir, "*", "month=*", "*.parquet"))
	test.OK(t, err)
	for _, path := range files {
		if filepath.Base(filepath.Dir(path)) == "month=2024-02" {
			continue
		}
		content := test.Read(t, path)
		footer := len(content) - 8 - int(binary.LittleEndian.Uint32(content[len(content)-8:]))
		clear(content[4:footer]) // every page
		test.OK(t, os.WriteFile(path, content, 0o600))
	}
	newest := func(rows *analytics.Rows, err error) string {
		if err != nil {
			return "failed"
		}
		defer rows.Close()
		r, err := rows.Next(t.Context())
		if err != nil {
			return "failed"
		}
		return fmt.Sprint(r[0])
	}
	if got := newest(askFor(t.Context(), w, "calls", question.Params{Limit: 1})); got != "c3" {
		t.Errorf("the newest call: %s", got)
	}
	for text, want := range map[string]string{
		"SELECT call_id FROM calls ORDER BY start_at DESC LIMIT 1":                 "c3",
		"SELECT * FROM costs ORDER BY start_at DESC LIMIT 1":                       "c3",
		"SELECT * FROM transcript_turns ORDER BY call_start_at DESC, turn LIMIT 1": "c3",
		"SELECT call_id FROM calls ORDER BY start_at LIMIT 1":                      "failed",
	} {
		if got := newest(w.SQL(t.Context(), text)); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
