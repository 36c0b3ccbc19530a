package querycmd_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/cmdtest"
	"callhouse/cmd/internal/querycmd"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/isolate"
	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/test"
)

// Safe mode runs statements in a separate process of this program, here of the test's binary.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == isolate.Name {
		os.Exit(querycmd.Run(context.Background(), cmdtest.Child(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	if os.Getenv("CALLHOUSE_TEST_SHELL")+os.Getenv("CALLHOUSE_TEST_QUERY") != "" { // a test runs this binary
		goleak.VerifyTestMain(m)
	}
	clear := cmdtest.Seal()
	dir, err := os.MkdirTemp("", "callhouse-tests-")
	if err != nil {
		panic(err)
	}
	warehouseDir = filepath.Join(dir, "house")
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(dir)
		clear()
		os.Exit(code)
	}))
}

type row = analyticstest.Row

// copyWarehouse copies a small warehouse to ./warehouse in a new working folder.
func copyWarehouse(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	t.Setenv("CALLHOUSE_WAREHOUSE", "")
	built.Do(func() { buildWarehouse(t) })
	test.OK(t, os.CopyFS("warehouse", os.DirFS(warehouseDir)))
}

// warehouseDir is the warehouse that copyWarehouse copies, once it is built.
var (
	warehouseDir string
	built        sync.Once
)

func buildWarehouse(t *testing.T) {
	t.Helper()
	at := func(s string) int64 {
		v, err := time.Parse(time.RFC3339, s)
		test.OK(t, err)
		return v.UnixMilli()
	}
	const ann, bob = "0a7e1f60-0000-4000-8000-00000000000a", "0b7e1f60-0000-4000-8000-00000000000b"
	call := func(id, agent, start, reason, sentiment string, ms int64, more row) row {
		r := row{"call_id": id, "agent_id": agent, "agent_version": "production", "call_type": "outbound", "status": "ended",
			"start_at": at(start), "end_at": at(start) + ms, "duration_ms": ms, "disconnection_reason": reason,
			"total_cost": "120.5000", "first_seen_at": at(start), "fetched_at": at(start) + 3_600_000, "run_id": "20241120T010000Z-00000001",
			"metadata": `{"campaign":"spring","n":1.10}`, "turn_count": int64(2), "user_turns": int64(0)}
		if sentiment != "" {
			r["user_sentiment"] = sentiment
		}
		for k, v := range more {
			r[k] = v
		}
		return r
	}
	analyticstest.Write(t, warehouseDir, 1, analyticstest.Data{
		Calls: []row{
			call("c1", ann, "2024-11-18T09:00:00Z", "user_hangup", "positive", 61_000,
				row{"user_turns": int64(1), "evaluation": `{"task_completed":true,"criteria":[{"name":"greeting","score":4.5}],"notes":["a"]}`}),
			call("c2", ann, "2024-11-18T10:00:00Z", "agent_hangup", "neutral", 83_211,
				row{"recording_url": "https://recordings.example/c2.wav", "evaluation": `{"task_completed":false,"criteria":[{"name":"greeting","score":3}]}`}),
			call("c3", ann, "2024-11-19T09:30:00Z", "call_transfer", "negative", 240_000, row{"metadata": `{"campaign":"가을"}`}),
			call("c4", ann, "2024-11-19T23:30:00Z", "voicemail_reached", "", 12_345, row{"settlement": "ended", "metadata": nil}),
			call("c5", bob, "2024-11-19T23:45:00Z", "dial_no_answer", "", 40, row{"status": "not_connected", "total_cost": nil}),
			call("c6", bob, "2024-11-20T00:15:00Z", "agent_hangup", "positive", 61_000, nil),
			{"call_id": "c7", "agent_id": bob, "status": "ongoing", "start_at": at("2024-11-20T00:59:00Z"), "settlement": "open", "transcript_state": "pending"},
			{"call_id": "c8", "agent_id": bob, "status": "queued", "settlement": "open", "transcript_state": "pending"},
		},
		Turns: []row{
			{"call_id": "c1", "turn": int64(0), "role": "agent", "content": "Hello, \"Ann\" speaking,\nhow may I help?", "start_at": at("2024-11-18T09:00:00Z"), "end_at": at("2024-11-18T09:00:04Z"), "call_start_at": at("2024-11-18T09:00:00Z")},
			{"call_id": "c1", "turn": int64(1), "role": "user", "content": "안녕하세요", "start_at": at("2024-11-18T09:00:05Z"), "end_at": at("2024-11-18T09:00:07Z"), "call_start_at": at("2024-11-18T09:00:00Z")},
			{"call_id": "c1", "turn": int64(2), "role": "tool_call_invocation", "tool_call_id": "t1", "tool_name": "find_caller", "arguments": `{"n":1}`, "call_start_at": at("2024-11-18T09:00:00Z")},
			{"call_id": "c1", "turn": int64(3), "role": "tool_call_result", "tool_call_id": "t1", "content": `{"status":"error"}`, "call_start_at": at("2024-11-18T09:00:00Z")},
			{"call_id": "c1", "turn": int64(4), "role": "agent", "content": "Thank you.", "start_at": at("2024-11-18T09:00:09Z"), "end_at": at("2024-11-18T09:00:11Z"), "call_start_at": at("2024-11-18T09:00:00Z")},
		},
		Items: []row{{"call_id": "c1", "position": int64(0), "name": "callback", "type": "boolean", "value": "true"},
			{"call_id": "c2", "position": int64(0), "name": "offer", "type": "number", "value": "315.00"}, {"call_id": "c3", "position": int64(0), "name": "offer", "type": "number", "value": `"99.5"`}},
		Coverage: []schema.Span{{From: at("2024-11-01T00:00:00Z"), To: at("2024-11-20T01:00:00Z"), ListedAt: at("2024-11-20T01:00:00Z")}},
		Archive:  "file:///srv/recordings", Recordings: []row{{"call_id": "c1", "state": "stored", "path": "2024/11/18/c1.wav", "call_start_at": at("2024-11-18T09:00:00Z")}},
	})
}

type result struct {
	code        int
	out, stderr string
}

func run(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	code := querycmd.Run(t.Context(), cmdtest.Env(), args, strings.NewReader(stdin), &out, &errs)
	return result{code, out.String(), errs.String()}
}

// exits checks the exit code; prints and reports also check texts of stdout and stderr.
func (r result) exits(t *testing.T, code int) { t.Helper(); r.check(t, code, "", nil) }

func (r result) prints(t *testing.T, code int, texts ...string) {
	t.Helper()
	r.check(t, code, r.out, texts)
}

func (r result) reports(t *testing.T, code int, texts ...string) {
	t.Helper()
	r.check(t, code, r.stderr, texts)
}

func (r result) check(t *testing.T, code int, output string, texts []string) {
	t.Helper()
	missing := slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return strings.Contains(output, text) })
	if r.code != code || len(missing) > 0 {
		t.Errorf("want exit code %d, and %q in %s", code, missing, r)
	}
}

func (r result) String() string {
	s := fmt.Sprintf("exit code %d\n", r.code)
	if r.out != "" {
		s += "-- stdout --\n" + r.out
	}
	if r.stderr != "" {
		s += "-- stderr --\n" + r.stderr
	}
	return s
}

// goldenDir is testdata, whatever the working folder.
func goldenDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("testdata")
	test.OK(t, err)
	return dir
}

// copyExamples copies examples/sql to the folder examples, given testdata.
func copyExamples(t *testing.T, testdata string) {
	t.Helper()
	test.OK(t, os.CopyFS("examples", os.DirFS(filepath.Join(testdata, "../../../../examples/sql"))))
}

// The command line: arguments in; stdout, stderr and exit code out.
func TestGoldens(t *testing.T) {
	dir := goldenDir(t)
	copyWarehouse(t)
	copyExamples(t, dir)
	goldens(t, dir, "commands.txt")
}

// goldens compares what the commands of a list print with their golden files.
func goldens(t *testing.T, dir, list string) {
	t.Helper()
	often, others, _ := strings.Cut(string(test.Read(t, filepath.Join(dir, list))), "# The others")
	if everything() {
		often += "#" + others
	}
	for line := range strings.Lines(often) {
		name, args, ok := strings.Cut(strings.TrimSpace(line), ":")
		if args = strings.TrimPrefix(args, " "); !ok || strings.HasPrefix(line, "#") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			r := run(t, "", strings.Fields(args)...)
			test.Golden(t, filepath.Join(dir, name+".golden"), "query "+args+"\n"+r.String())
		})
	}
}

// everything reports whether all golden files are compared, or rewritten.
func everything() bool { return longtest.On() || flag.Lookup("update").Value.String() == "true" }

// Resources, and reports about them.
func TestGoldensOfTheOrganisation(t *testing.T) {
	dir := goldenDir(t)
	t.Chdir(t.TempDir())
	copyExamples(t, dir)
	const bookings, returns, second = "0a7e1f60-0000-4000-8000-00000000000a", "0b7e1f60-0000-4000-8000-00000000000b", "0c7e1f60-0000-4000-8000-00000000000c"
	at := func(day, hour int) int64 { return time.Date(2024, 11, day, hour, 0, 0, 0, time.UTC).UnixMilli() }
	var calls, turns []row
	for day := 4; day < 22; day++ {
		for i := range 12 {
			reason := "user_hangup"
			if day > 13 && i%2 > 0 { // since v2
				reason = "call_transfer"
			}
			c := row{"call_id": fmt.Sprintf("c%02d%02d", day, i), "agent_id": bookings, "call_type": "inbound", "status": "ended", "start_at": at(day, 6+i), "duration_ms": int64(60_000),
				"disconnection_reason": reason, "user_turns": int64(1), "to_number": "+8215880000", "own_number": "+8215880000"}
			if i%3 == 0 {
				c["agent_id"], c["call_type"], c["from_number"], c["own_number"], c["to_number"] = returns, "outbound", "+827000000", "+827000000", "+821012345678"
			}
			calls = append(calls, c)
			if day < 20 || c["agent_id"] != bookings {
				continue
			}
			for n, node := range []string{"greet", "ask", "greet", "hand_over"}[:i%5] { // and back
				turns = append(turns, row{"call_id": c["call_id"], "turn": int64(n), "role": "tool_call_invocation", "tool_name": "transition_to_node",
					"arguments": fmt.Sprintf(`{"node":%q}`, node), "call_start_at": c["start_at"]})
			}
		}
	}
	const flow = `{"nodes":[{"id":"greet","data":{"name":"Greeting"}},{"id":"ask","data":{"name":"What for?"}}],"edges":[]}`
	analyticstest.Write(t, "warehouse", 1, analyticstest.Data{Calls: calls, Turns: turns, Compacted: func(string) bool { return true }, Coverage: []schema.Span{{From: 0, To: at(22, 0), ListedAt: at(22, 0)}}, Others: map[*schema.Table][]row{
		resource.Agents.Table: {{"agent_id": bookings, "name": "Bookings", "type": "flow", "flow": flow}, {"agent_id": returns, "name": "Returns", "type": "single_prompt"}, {"agent_id": second, "name": "Returns", "type": "flow", "deleted_at": at(9, 2)}},
		resource.Campaigns.Table: {{"campaign_id": "5001", "name": "spring", "status": "ongoing", "agent_id": returns, "total_calls": int64(200), "completed_calls": int64(31), "failed_calls": int64(12), "created_at": at(5, 9), "scheduled_at": at(6, 0)},
			{"campaign_id": "5002", "name": "가을 행사", "status": "draft", "agent_id": returns, "total_calls": int64(0), "completed_calls": int64(0), "failed_calls": int64(0), "created_at": at(7, 9)}},
		resource.Numbers.Table: {{"number_id": "n1", "number": "+8215880000", "status": "active", "inbound_agent_id": bookings}, {"number_id": "n2", "number": "+827000000", "status": "cancel_requested", "outbound_agent_id": returns},
			{"number_id": "n3", "number": "+827111111", "status": "scheduled"}},
		resource.AlertRules.Table: {{"alert_rule_id": "r1", "name": "too few calls", "metric_type": "call_count"}},
		resource.Incidents.Table:  {{"incident_id": "i1", "alert_rule_id": "r1", "status": "resolved", "metric_value": "3", "threshold_value": "5", "created_at": at(12, 7)}},
		&resource.Changes: {
			{"resource": "agents", "key": bookings, "kind": "created", "seen_at": at(4, 2), "fields": `["name"]`, "after": `{"name":"Bookings"}`},
			{"resource": "agent_versions", "key": bookings + "/v2", "kind": "created", "since_at": at(13, 2), "seen_at": at(14, 2), "fields": `["version"]`, "after": `{"version":"v2"}`},
			{"resource": "agents", "key": bookings, "kind": "changed", "since_at": at(13, 2), "seen_at": at(14, 2), "fields": `["production_version","data","updated_at"]`,
				"before": `{"production_version":"v1","data":{"prompt":"a","voice":1},"updated_at":"x"}`, "after": `{"production_version":"v2","data":{"prompt":"b","voice":1},"updated_at":"y"}`},
			{"resource": "agents", "key": second, "kind": "deleted", "since_at": at(8, 2), "seen_at": at(9, 2), "fields": `["deleted_at"]`, "before": `{"deleted_at":null}`, "after": `{"deleted_at":"z"}`},
			{"resource": "tools", "key": "t1", "kind": "created", "since_at": at(19, 2), "seen_at": at(20, 2), "fields": `["name"]`, "after": `{"name":"find_caller"}`},
		}}})
	goldens(t, dir, "organisation.txt")
}

func TestSQLGoldens(t *testing.T) {
	dir := goldenDir(t)
	copyWarehouse(t)
	for i, c := range []struct {
		name, text string
		flags      []string
	}{
		{"sql-table", "SELECT call_id, start_at, total_cost, metadata, is_connected FROM calls ORDER BY call_id", []string{"--tz", "America/New_York"}},
		{"sql-json", "SELECT call_id, start_at, total_cost, metadata, duration_ms FROM calls ORDER BY call_id", []string{"--format", "json"}},
		{"sql-param", "SELECT call_id, $label AS label FROM calls WHERE start_at >= $since AND duration_ms > $ms AND agent_id = $agent AND turn_count + CAST($one AS INTEGER) = 3 ORDER BY 1",
			[]string{"--param", "since=2024-11-18 18:30", "-p", "ms=61000", "-p", "agent=0a7e1f60-0000-4000-8000-00000000000a", "-p", "label=it's = 1", "-p", "one=1", "--tz", "Asia/Seoul"}},
		{"sql-param-malformed", "SELECT $a", []string{"-p", "a"}},
		{"sql-error-syntax", "SELECT call_id,\n  FORM calls", nil},
		{"sql-error-cast", "SELECT CAST(role AS INTEGER) FROM transcript_turns WHERE turn = 0", nil},
		{"sql-error-drop", "DROP VIEW calls", nil},
		{"sql-describe", "DESCRIBE SELECT call_id, weekday FROM calls", []string{"--format", "csv"}},
		{"sql-error-column", "SELECT agentid FROM calls", nil},
		{"sql-csv", "SELECT call_id, start_at, total_cost, metadata FROM calls ORDER BY call_id", []string{"--format", "csv", "--tz", "Asia/Seoul"}},
		{"sql-turns", "SELECT role, content, talk_ms FROM transcript_turns ORDER BY turn", nil},
		{"sql-items", "SELECT name, value, value_text FROM analysis_items", []string{"--format", "json"}},
		{"sql-sum", "SELECT sum(total_cost), sum(duration_ms), count(*) FILTER (is_completed) AS completed FROM calls", nil},
		{"sql-param-missing", "SELECT $a, $b", []string{"-p", "b=1"}},
		{"sql-param-unused", "SELECT $a", []string{"-p", "b=1", "-p", "a=1"}},
		{"sql-none", "FROM runs SELECT run_id, requests", nil},
		{"sql-explain", "EXPLAIN SELECT 1", nil},
		{"sql-error-table", "SELECT * FROM call", nil},
		{"sql-error-two", "SELECT 1; SELECT 2", nil},
		{"sql-error-none", "", nil},
		{"sql-error-variant", "SELECT 1::VARIANT AS v", nil},
	} {
		if i == 7 && !everything() { // the rest with -long
			break
		}
		t.Run(c.name, func(t *testing.T) {
			r := run(t, "", append([]string{"sql", c.text}, c.flags...)...)
			test.Golden(t, filepath.Join(dir, c.name+".golden"), fmt.Sprintf("query sql %q %s\n%s", c.text, strings.Join(c.flags, " "), r))
		})
	}
}

// A statement may come from an argument, a file or stdin.
func TestStatementSources(t *testing.T) {
	copyWarehouse(t)
	test.OK(t, os.WriteFile("q.sql", []byte("-- a file\nSELECT 42 AS n;\n"), 0o644))
	for _, args := range longtest.Some(4, [][]string{{"sql", "-f", "q.sql"}, {"sql", "SELECT 42 AS n"}, {"sql"}, {"sql", "-"}, {"sql", "--file", "-"}}) {
		if r := run(t, "SELECT 42 AS n", append(args, "--format", "csv")...); r.out != "n\n42\n" || r.code != 0 {
			t.Errorf("%v: %v", args, r)
		}
	}
	run(t, "", "sql", "SELECT 1", "-f", "q.sql").exits(t, cli.ExitUsage)
	run(t, "", "sql", "SELECT", "1").reports(t, cli.ExitUsage, "quotes")
}

// --output has the whole answer or is unchanged.
func TestOutput(t *testing.T) {
	copyWarehouse(t)
	if r := run(t, "", "sentiment", "-o", "s.csv"); r.code != 0 || r.out != "" {
		t.Fatal(r)
	}
	raw, err := os.ReadFile("s.csv")
	if err != nil || !strings.HasPrefix(string(raw), "calls,negative_percent,") {
		t.Errorf("s.csv: %q, %v", raw, err)
	}
	run(t, "", "sql", "SELECT CAST(call_id AS INTEGER) FROM calls", "-o", "s.csv").exits(t, cli.ExitFailed)
	if after, err := os.ReadFile("s.csv"); err != nil || !bytes.Equal(raw, after) {
		t.Errorf("a failed query changed the file: %q, %v", after, err)
	}
	run(t, "", "list", "--output", os.DevNull).exits(t, 0)
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Errorf("%s became a file: %v, %v", os.DevNull, info, err)
	}
	if _, err := os.Stat("/dev/full"); err == nil {
		for _, o := range []string{"/dev/full", ""} {
			full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
			test.OK(t, err)
			var errs bytes.Buffer
			code := querycmd.Run(t.Context(), cmdtest.Env(), []string{"sql", "FROM calls", "--output", o}, nil, full, &errs)
			if code != cli.ExitFailed || errs.String() != "query: write /dev/full: no space left on device\n" {
				t.Errorf("--output %q on a full disk: exit code %d: %s", o, code, errs.String())
			}
			_ = full.Close()
		}
	}
	entries, err := os.ReadDir(".")
	if err != nil || len(entries) != 2 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// Standard readers parse csv and json output.
func TestMachineFormatsParse(t *testing.T) {
	longtest.Only(t)
	copyWarehouse(t)
	for _, args := range [][]string{{"sql", "FROM calls"}, {"sql", "FROM transcript_turns"},
		{"sentiment", "--by", "metadata.campaign"}, {"describe"}} {
		r := run(t, "", append(args, "--format", "csv")...)
		records, err := csv.NewReader(strings.NewReader(r.out)).ReadAll()
		if err != nil || len(records) < 2 {
			t.Errorf("%v as csv: %d records, %v", args, len(records), err)
		}
		r = run(t, "", append(args, "--format", "json")...)
		var rows []map[string]any
		if err := json.Unmarshal([]byte(r.out), &rows); err != nil || len(rows) != len(records)-1 {
			t.Errorf("%v as json: %d rows, %d in csv, %v", args, len(rows), len(records)-1, err)
		}
		r = run(t, "", append(args, "--format", "ndjson")...)
		if n := strings.Count(r.out, "\n"); n != len(rows) {
			t.Errorf("%v as ndjson: %d lines, want %d", args, n, len(rows))
		}
	}
}

func TestNewerWarehouse(t *testing.T) {
	copyWarehouse(t)
	analyticstest.Edit(t, "warehouse/snapshots/000001/manifest.json", func(m *layout.Manifest) { m.FormatVersion = 77 })
	if r := run(t, "", "sentiment"); r.code != cli.ExitFailed || !strings.Contains(r.stderr, "upgrade") || strings.Count(r.stderr, "\n") != 1 {
		t.Error(r)
	}
}

// CALLHOUSE_WAREHOUSE is the default of --warehouse.
func TestWarehouseFromEnvironment(t *testing.T) {
	copyWarehouse(t)
	dir, err := filepath.Abs("warehouse")
	test.OK(t, err)
	t.Chdir(t.TempDir())
	run(t, "", "durations").exits(t, cli.ExitFailed)
	t.Setenv("CALLHOUSE_WAREHOUSE", dir)
	run(t, "", "durations").exits(t, 0)
	if r := run(t, "", "--help"); strings.Contains(r.out, dir) {
		t.Error("the help shows the environment")
	}
}

// Ctrl-C ends a statement, also one in a process of its own, and so does a reader that closes the pipe
// early, like head, which is no error.
func TestStopped(t *testing.T) {
	copyWarehouse(t)
	safeTemp(t)
	for _, sql := range [][]string{{"sql"}, {"sql", "--safe"}} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		var errs bytes.Buffer
		code := querycmd.Run(ctx, cmdtest.Env(), append(sql, endless), strings.NewReader(""), io.Discard, &errs)
		if cancel(); code != cli.ExitInterrupted || errs.String() != "query: interrupted\n" {
			t.Errorf("%v interrupted: exit code %d, %q", sql, code, errs.String())
		}
		errs.Reset()
		r, w, err := os.Pipe()
		test.OK(t, err)
		go func() {
			_, _ = r.Read(make([]byte, 10))
			_ = r.Close()
		}()
		code = querycmd.Run(t.Context(), cmdtest.Env(), append(sql, "--format", "csv", "FROM range(100000000)"), strings.NewReader(""), w, &errs)
		if code != cli.ExitOK || errs.Len() > 0 {
			t.Errorf("%v into a closed pipe: exit code %d, %q", sql, code, errs.String())
		}
		test.OK(t, w.Close())
	}
}
