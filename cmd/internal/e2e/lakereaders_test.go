package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"callhouse/internal/layout"
	"callhouse/internal/publish"
	"callhouse/internal/resource"
	"callhouse/internal/sandbox"
	"callhouse/internal/schema"
	"callhouse/internal/test"
)

// lakeQuestions are put to every engine, in SQL common to all, and to query. MICROS, CHARS, TEXT,
// INSTANT and MEMBER are replaced by each engine's names.
var lakeQuestions = map[string]string{
	"calls":    "SELECT count(*), count(start_at), count(DISTINCT call_id), count(total_cost) FROM calls",
	"cost":     "SELECT sum(total_cost), min(total_cost), max(total_cost) FROM calls",
	"times":    "SELECT MICROS(min(start_at)), MICROS(max(start_at)), MICROS(max(end_at)), sum(duration_ms) FROM calls",
	"instant":  "SELECT count(*), sum(total_cost) FROM calls WHERE start_at >= INSTANT(@AFTER) AND start_at < INSTANT(@NEXT)",
	"month":    "SELECT count(*), MICROS(min(start_at)) FROM calls WHERE start_at >= INSTANT(@MONTH) AND start_at < INSTANT(@NEXT)",
	"no start": "SELECT count(*), max(call_id) FROM calls WHERE start_at IS NULL",
	"roles":    "SELECT role, count(*), sum(CHARS(content)) FROM transcript_turns GROUP BY role",
	"texts":    "SELECT min(content), max(content) FROM transcript_turns WHERE role = 'user'",
	"json":     "SELECT count(*), count(metadata), sum(CHARS(metadata)), max(TEXT(metadata)) FROM calls",
	"member":   "SELECT MEMBER(metadata, campaign), count(*) FROM calls GROUP BY MEMBER(metadata, campaign)",
	"words":    "SELECT status, disconnection_reason, count(*) FROM calls GROUP BY status, disconnection_reason",
	"join": "SELECT count(*), count(DISTINCT t.call_id) FROM transcript_turns t JOIN calls c ON t.call_id = c.call_id " +
		"WHERE c.start_at < INSTANT(@NEXT) AND t.call_start_at < INSTANT(@NEXT)",
	"p50": nearestRank(50), "p90": nearestRank(90), "p99": nearestRank(99),
}

func nearestRank(percent int) string {
	return fmt.Sprintf("SELECT min(duration_ms) FROM (SELECT duration_ms, row_number() OVER (ORDER BY duration_ms) AS n, count(*) OVER () AS whole "+
		"FROM calls WHERE duration_ms IS NOT NULL) AS ranked WHERE 100 * n >= %d * whole", percent)
}

// inDuckDB replaces them by DuckDB's names.
var inDuckDB = strings.NewReplacer("MICROS(", "epoch_us(", "CHARS(", "length(", "TEXT(", "concat(", "INSTANT(", "timezone('UTC', TIMESTAMP ", "MEMBER(metadata, campaign)", "(metadata ->> 'campaign')")

// lakeEndings are endings rare or missing among the sandbox's calls that determine whether a call connected.
var lakeEndings = [][2]any{
	{"ended", "dial_no_answer"}, {"ended", "dial_busy"}, {"ended", "dial_declined"}, {"ended", "dial_failed"}, {"ended", "blocked_number"},
	{"ended", "concurrency_limit_reached"}, {"ended", "hourly_call_limit_reached"}, {"ended", "daily_call_limit_reached"},
	{"ended", "insufficient_balance"}, {"error", "insufficient_balance"}, {"ended", "new_reason"}, {"error", "dial_new"}, {"new_status", "user_hangup"},
	{"error", nil}, {"canceled", "user_hangup"}, {"not_connected", "call_transfer"}, {"ended", "flow_error"}, {"ended", "orphaned_no_agent_pickup"},
}

// lakeAnswers are the content of a commit: rows by table, and each question's rows as texts, in order.
type lakeAnswers map[string][]string

// asText formats rows like every reader: numbers without trailing zeros.
func asText(rows [][]any) (out []string) {
	zeros := regexp.MustCompile(`^(-?\d+)\.(\d*?)0*$`)
	for _, row := range rows {
		var cells []string
		for _, v := range row {
			s := fmt.Sprint(v)
			if v == nil {
				s = "null"
			} else if m := zeros.FindStringSubmatch(s); m != nil {
				s = strings.TrimSuffix(m[1]+"."+m[2], ".")
			}
			cells = append(cells, s)
		}
		out = append(out, strings.Join(cells, " | "))
	}
	slices.Sort(out)
	return out
}

// rows returns query's answer in the order of its columns.
func (c *company) rows(args ...string) (out [][]any) {
	c.t.Helper()
	r := c.query(append(args, "--format", "ndjson")...)
	r.exits(c.t, 0)
	for line := range strings.Lines(r.stdout) {
		dec := json.NewDecoder(strings.NewReader(line))
		dec.UseNumber()
		var row []any
		for depth := 0; ; {
			tok, err := dec.Token()
			if err != nil {
				break
			}
			if d, ok := tok.(json.Delim); ok {
				if depth++; d == '}' {
					break
				}
				continue
			}
			var v any // value of the field just read
			test.OK(c.t, dec.Decode(&v))
			row = append(row, v)
		}
		out = append(out, row)
	}
	return out
}

// lakeTables returns the published tables of a snapshot.
func lakeTables(s *layout.Snapshot) (out []string) {
	for _, t := range resource.Tables {
		if len(s.Manifest.FilesOf(t.Name)) > 0 {
			out = append(out, t.Name)
		}
	}
	return out
}

// lakeTruth returns query's answers for the current commit.
func (c *company) lakeTruth(questions map[string]string) lakeAnswers {
	c.t.Helper()
	s := current(c.t, c.warehouse)
	out := lakeAnswers{}
	for _, table := range lakeTables(s) {
		out["rows of "+table] = []string{fmt.Sprint(s.Manifest.Rows(table))}
	}
	for name, question := range questions {
		out[name] = asText(c.rows("sql", inDuckDB.Replace(question)))
	}
	return out
}

// lakePlace is a place and the questions put to it.
type lakePlace struct {
	Root      string            `json:"root"`
	Tags      []string          `json:"tags"`
	Tables    []string          `json:"tables"`
	Questions map[string]string `json:"questions"`
	truth     map[string]lakeAnswers
	late      map[string]bool
}

// Engines read the tables of query publish iceberg in a folder and in a bucket, and get exactly
// query's answers: for the last commit and, by its tag, for the one before, which lacks a column.
// The SQL of examples/lake equals the reports. interop/lake.sh installs the engines.
func TestLakeReaders(t *testing.T) {
	python := os.Getenv("CALLHOUSE_PYTHON")
	if os.Getenv("CALLHOUSE_LAKE") == "" {
		t.Skip("interop/lake.sh installs the engines")
	}
	script, err := filepath.Abs(filepath.Join("testdata", "lake_reader.py"))
	test.OK(t, err)
	t.Setenv("CALLHOUSE_RESOURCES", "all")
	c := found(t, sandbox.Options{World: sandbox.Config{Seed: 8, Calls: 600, Days: 70}})
	e := newEditor(c)
	unstarted := ""
	edit := func(call map[string]any) {
		if cost, ok := call["call_cost"].(map[string]any); ok && cost["total_cost"] != nil {
			cost["total_cost"] = fmt.Sprint(cost["total_cost"]) + "1234567"
		}
		if id := call["id"].(string); unstarted == "" && call["status"] == "canceled" || unstarted == id {
			unstarted, call["start_at"], call["end_at"] = id, nil, nil
		} else if h := crc32.ChecksumIEEE([]byte(id)); h%5 == 0 && call["status"] == "ended" {
			ending := lakeEndings[h/5%uint32(len(lakeEndings))]
			call["status"], call["disconnection_reason"] = ending[0], ending[1]
		}
	}
	var mu sync.Mutex
	e.whole = func(r *http.Request, body map[string]any) {
		mu.Lock()
		defer mu.Unlock()
		if items, ok := body["items"].([]any); ok && r.URL.Path == "/v3/calls" {
			for _, call := range items {
				edit(call.(map[string]any))
			}
		} else if strings.HasPrefix(r.URL.Path, "/v3/calls/") {
			edit(body)
		}
	}
	places := map[string]string{"folder": t.TempDir()}
	if gateway := os.Getenv("CALLHOUSE_VERSITYGW"); gateway != "" {
		startS3(t, gateway, "lake")
		places["bucket"] = "s3://lake"
	}

	// The first commit is published by a program that does not know the last column.
	older, calls := publish.Tables(), schema.Calls
	late := calls.Columns[len(calls.Columns)-1].Name
	calls.Columns, older[len(older)-1] = calls.Columns[:len(calls.Columns)-1], &calls
	questions := map[string]string{}
	truth := map[string]lakeAnswers{}
	night := func() string {
		t.Helper()
		e.extract().exits(t, 0)
		for _, to := range places {
			if len(questions) == 0 {
				_, err := publish.Run(t.Context(), publish.Options{Warehouse: c.warehouse, To: to + "/callhouse", Tables: older})
				test.OK(t, err)
			} else if r := c.query("publish", "iceberg", "--to", to+"/callhouse"); r.code != 0 {
				t.Fatal(r.stderr)
			} else {
				t.Log(strings.TrimSpace(r.stderr))
			}
		}
		if len(questions) == 0 {
			month := c.clock.Now().UTC().AddDate(0, -1, 0)
			month = time.Date(month.Year(), month.Month(), 1, 0, 0, 0, 0, time.UTC)
			instants := strings.NewReplacer("@MONTH", quoted(month), "@NEXT", quoted(month.AddDate(0, 1, 0)), "@AFTER", quoted(month.Add(100*time.Hour)))
			for name, q := range lakeQuestions {
				questions[name] = instants.Replace(q)
			}
		}
		tag := "snapshot-" + layout.SnapshotName(current(t, c.warehouse).Manifest.Snapshot)
		truth[tag] = c.lakeTruth(questions)
		return tag
	}
	before := night()
	c.clock.Advance(30 * time.Hour)
	last := night()
	if unstarted == "" || truth[before]["no start"][0] != "1 | "+unstarted {
		t.Fatalf("calls without a start: %v", truth[before]["no start"])
	}
	for name := range questions {
		if a := truth[before][name]; len(a) == 0 || strings.HasPrefix(a[0]+" ", "0 ") {
			t.Fatalf("%s has nothing to find: %v", name, a)
		}
	}
	if reflect.DeepEqual(truth[before], truth[last]) {
		t.Fatal("both commits hold the same")
	}
	truth[""] = truth[last]
	reports := map[string][]string{}
	for _, name := range []string{"sentiment", "disconnections", "durations"} {
		reports[name] = asText(c.rows(name))
	}

	ask := map[string]*lakePlace{}
	for name, to := range places {
		if !strings.Contains(to, "://") {
			to = "file://" + to
		}
		ask[name] = &lakePlace{to, []string{"", before, last}, lakeTables(current(t, c.warehouse)), questions, truth, map[string]bool{"": true, before: false, last: true}}
	}
	var stdin bytes.Buffer
	test.OK(t, json.NewEncoder(&stdin).Encode(map[string]any{"places": ask, "month": questions["month"], "reports": lakeSQL(t), "late": late}))
	engines := []string{"pyiceberg", "polars", "duckdb", "chdb", "spark"}
	if home := os.Getenv("CALLHOUSE_TRINO_HOME"); home != "" {
		engines = append(engines, "trino")
	}
	for _, engine := range engines {
		t.Run(engine, func(t *testing.T) {
			if engine == "trino" {
				t.Setenv("CALLHOUSE_TRINO", startTrino(t, os.Getenv("CALLHOUSE_TRINO_HOME")))
			}
			cmd := exec.CommandContext(t.Context(), python, script, engine)
			cmd.Stdin, cmd.Stderr, cmd.Dir = bytes.NewReader(stdin.Bytes()), os.Stderr, t.TempDir()
			out, err := cmd.Output()
			test.OK(t, err)
			var got map[string]struct {
				Answers map[string]map[string][][]any
				Reports map[string][][]any
				Late    map[string]bool // whether a commit has the last column
				Pruned  *struct{ Read, Of int }
			}
			dec := json.NewDecoder(bytes.NewReader(out))
			dec.UseNumber()
			if err := dec.Decode(&got); err != nil {
				t.Fatalf("%v in %s", err, out)
			}
			if len(got) != len(ask) {
				t.Errorf("it read %d places", len(got))
			}
			for place, saw := range got {
				want, n := ask[place], 0
				for tag, answers := range saw.Answers {
					for name, want := range want.truth[tag] {
						if have := asText(answers[name]); !reflect.DeepEqual(have, want) {
							t.Errorf("%s, commit %q, %s:\n%v\nwant\n%v", place, tag, name, have, want)
						}
						n++
					}
				}
				for name, rows := range saw.Reports {
					have := asText(rows)
					if want := firstColumns(reports[name], have); !reflect.DeepEqual(have, want) {
						t.Errorf("%s, %s:\n%s\nwant\n%s", place, name, strings.Join(have, "\n"), strings.Join(want, "\n"))
					}
					n++
				}
				if least := len(want.Tags) * len(want.truth[""]); n != least+len(reports) {
					t.Errorf("%s: it answered only %d questions", place, n)
				}
				if !reflect.DeepEqual(saw.Late, want.late) {
					t.Errorf("%s: the column %s is there: %v, want %v", place, late, saw.Late, want.late)
				}
				if p := saw.Pruned; p != nil && (p.Read == 0 || p.Read >= p.Of) {
					t.Errorf("%s: to find a month it reads %d of %d", place, p.Read, p.Of)
				}
				t.Logf("%s: %d answers; of a month it read %+v", place, n, saw.Pruned)
			}
		})
	}
}

// firstColumns cuts the rows of a report to the columns of a statement: reports also have confidence bounds.
func firstColumns(report, like []string) (out []string) {
	const between = " | "
	for _, row := range report {
		if len(like) > 0 {
			row = strings.Join(strings.Split(row, between)[:strings.Count(like[0], between)+1], between)
		}
		out = append(out, row)
	}
	return out
}

func quoted(at time.Time) string { return at.Format("'2006-01-02 15:04:05'") }

// lakeSQL returns the statements of examples/lake by their report.
func lakeSQL(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, report := range []string{"sentiment", "disconnections", "durations"} {
		text := string(test.Read(t, "../../../examples/lake/"+report+".sql"))
		out[report] = strings.TrimSpace(text[strings.Index(text, "WITH "):])
	}
	return out
}
