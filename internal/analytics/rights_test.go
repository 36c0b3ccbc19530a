package analytics

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/database"
	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/rights"
	"callhouse/internal/longtest"
	"callhouse/internal/test"
	sqlfiles "callhouse/sql"
)

var scanFiltersRE = regexp.MustCompile(`"Filters": (\[[^\]]*\]|"[^"]*")`)

// The conditions of a user's statement are not evaluated on rows that the user may not see: neither
// in the scan nor next to the join that finds the agent of a turn.
func TestForeignConditionsStayAboveTheRights(t *testing.T) {
	root := t.TempDir()
	d := analyticstest.Data{}
	for i := range 200 {
		id := fmt.Sprintf("c%d", i)
		d.Calls = append(d.Calls, analyticstest.Row{"call_id": id, "agent_id": []string{"a", "b"}[i%2], "summary": id})
		d.Turns = append(d.Turns, analyticstest.Row{"call_id": id, "turn": int64(0), "content": id})
	}
	analyticstest.Write(t, root, 1, d)
	for _, isForeign := range []bool{true, false} {
		o := Options{Options: database.Options{Rights: rights.Rights{Agents: []string{"a"}}}}
		if isForeign {
			o.Safe = &database.Limits{Memory: 256 << 20, Temp: 1 << 20}
		}
		conn := openAll(t, root, o)
		reached := ""
		for _, where := range []string{"transcript_turns WHERE length(replace(content, 'c', 'cc')) > 1", "transcript_turns WHERE content = 'c1'", "transcript_turns WHERE call_id = 'c1'", "calls WHERE summary = 'c1'"} {
			for _, row := range answers(t, conn, "EXPLAIN (FORMAT json) SELECT count(*) FROM "+where) {
				for _, m := range scanFiltersRE.FindAllString(row[1].(string), -1) {
					if strings.Contains(m, "content") || strings.Contains(m, "c1") {
						reached += m + "\n"
					}
				}
			}
		}
		if got := reached != ""; got == isForeign {
			t.Errorf("foreign statements: %v, conditions in the scans: %q", isForeign, reached)
		}
	}
}

// Values masked in turns are also masked in the tool calls derived from them, stored or not.
func TestMaskedTurnsMaskToolCalls(t *testing.T) {
	root := t.TempDir()
	d := analyticstest.Data{}
	for i := range int64(6) {
		start, id := i*24*3600_000, fmt.Sprint("c", i)
		d.Calls = append(d.Calls, analyticstest.Row{"call_id": id, "start_at": start})
		d.Turns = append(d.Turns, analyticstest.Row{"call_id": id, "call_start_at": start, "turn": int64(0), "role": "tool_call_invocation", "tool_call_id": "t", "tool_name": "find", "arguments": `{"a":1}`},
			analyticstest.Row{"call_id": id, "call_start_at": start, "turn": int64(1), "role": "tool_call_result", "tool_call_id": "t", "content": "error: none"})
	}
	analyticstest.Write(t, root, 1, d)
	for masked, want := range longtest.Sorted(map[string]string{
		"":                           `find {"a":1} error: none true`,
		"content":                    `find {"a":1}`,
		"transcript_turns.content":   `find {"a":1}`,
		"arguments":                  `find error: none true`,
		"transcript_turns.arguments": `find error: none true`,
		"tool_calls.arguments":       `find error: none true`,
		"transcript_turns.tool_name": `{"a":1} error: none true`,
		"tool_calls.failed":          `find {"a":1} error: none`,
	}, 6) {
		o := Options{}
		if masked != "" {
			o.Rights = rights.Rights{Masked: []string{masked}}
		}
		conn := openAll(t, root, o)
		got := answers(t, conn, "SELECT DISTINCT concat_ws(' ', tool_name, arguments, result, CASE WHEN failed THEN 'true' END) FROM tool_calls")
		if len(got) != 1 || got[0][0] != want {
			t.Errorf("with %q masked: %v, want %s", masked, got, want)
		}
	}
}

// Every report is answered or denied according to what it reads, and a masked column appears nowhere.
func TestReportsByRights(t *testing.T) {
	root := t.TempDir()
	analyticstest.Write(t, root, 1, analyticstest.Data{
		Calls: []analyticstest.Row{{"call_id": "c1", "agent_id": "a", "from_number": "+491", "from_e164": "+491555", "call_type": "inbound", "start_at": int64(0), "extra": `{"from_number":"+491"}`}, {"call_id": "c2", "agent_id": "b", "from_number": "+492", "start_at": int64(0)}},
		Turns: []analyticstest.Row{{"call_id": "c1", "turn": int64(0), "content": "hello"}}, Others: analyticstest.One(),
		Compacted: func(string) bool { return true }})
	for _, x := range longtest.Some(3, []struct {
		rights rights.Rights
		denied string
		calls  string
	}{
		{rights.Rights{Tables: []string{"costs", "calls"}}, "call campaigns changes extracted flows search success tools", "c1 +491 +491555 +491555 {\"from_number\":\"+491\"} c2 +492 <nil>"},
		{rights.Rights{}, "", "c1 +491 +491555 +491555 {\"from_number\":\"+491\"} c2 +492 <nil>"},
		{rights.Rights{Masked: []string{"calls.from_number"}}, "", "c1 <nil> <nil> c2 <nil> <nil>"},
		{rights.Rights{Tables: []string{"costs"}, Agents: []string{"b"}, Masked: []string{"duration_ms"}}, "every report", ""},
		{rights.Rights{Agents: []string{"a"}}, "changes", "c1 +491 +491555 +491555 {\"from_number\":\"+491\"}"},
	}) {
		w, err := Open(t.Context(), root, Options{Options: database.Options{Threads: 1, Rights: x.rights}})
		test.OK(t, err)
		var denied, asked []string
		for _, f := range longtest.Some(3, sqlfiles.Reports()) {
			asked = append(asked, f.Name)
			p := question.Params{Call: "c1", Words: []string{"hello"}}
			rows, err := askFor(t.Context(), w, f.Name, p)
			switch {
			case Denied(err):
				denied = append(denied, f.Name)
			case err != nil:
				t.Errorf("%+v: %s: %v", x.rights, f.Name, err)
			default:
				rows.Close()
			}
		}
		want := slices.DeleteFunc(strings.Fields(x.denied), func(name string) bool { return !slices.Contains(asked, name) })
		if x.denied == "every report" {
			want = asked
		}
		if !slices.Equal(denied, want) {
			t.Errorf("%+v: denied are %s, want %s", x.rights, denied, want)
		}
		// A compacted month is counted without its calls, but not for every user.
		if r, err := w.Remarks(t.Context(), Question{Report: "volume", Now: time.Now()}); err == nil && r.Coverage[0].Calls != int64(strings.Count(x.calls, "c1")+strings.Count(x.calls, "c2")) {
			t.Errorf("%+v: %d calls are counted, want those of %s", x.rights, r.Coverage[0].Calls, x.calls)
		}
		rows, err := w.Table(t.Context(), "calls", question.Params{})
		if Denied(err) != (x.calls == "") || err != nil && !Denied(err) {
			t.Errorf("%+v: calls: %v", x.rights, err)
		}
		if err == nil {
			rows.Close()
			got, err := w.SQL(t.Context(), "SELECT call_id, nullif(concat_ws(' ', from_number, from_e164, caller), ''), extra FROM calls ORDER BY 1")
			test.OK(t, err)
			var cells []string
			for {
				row, err := got.Next(t.Context())
				if err != nil {
					break
				}
				for _, v := range row {
					cells = append(cells, fmt.Sprint(v))
				}
			}
			got.Close()
			if s := strings.Join(cells, " "); s != x.calls {
				t.Errorf("%+v: calls are %s, want %s", x.rights, s, x.calls)
			}
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []rights.Rights{{Agents: []string{}}, {Tables: []string{"callz"}}, {Tables: []string{"runs"}, Agents: []string{"a"}}, {Masked: []string{"call_id"}}, {Masked: []string{"calls.content"}}, {Masked: []string{"value_text"}}, {Agents: []string{""}}} {
		if bad.Check() == nil {
			t.Errorf("%+v passes", bad)
		}
	}
	if (rights.Rights{Agents: []string{"a"}, Masked: []string{"content"}, Tables: []string{"calls"}}).Check() != nil {
		t.Error("good rights are refused")
	}
}

// askFor returns the rows of a report.
func askFor(ctx context.Context, w *Warehouse, report string, p question.Params) (*Rows, error) {
	a, err := w.Ask(ctx, Question{Report: report, Params: p})
	if err != nil {
		return nil, err
	}
	return a.Rows, nil
}
