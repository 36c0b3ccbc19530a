package status

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.yaml.in/yaml/v3"

	"callhouse/internal/crawler"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/sink/disk"
	"callhouse/internal/test"
)

// twoRuns is the history of a warehouse with two calls and two runs.
func twoRuns() *sink.History {
	now := time.Now().UnixMilli()
	m := &layout.Manifest{Snapshot: 2, RunID: "b", CommittedAt: time.Now(), Watermark: now,
		Files: []layout.File{{Table: schema.Calls.Name, Rows: 2, Period: layout.Day(now)}}}
	return &sink.History{Held: true, Holder: disk.Holder{Follow: &disk.Follow{Polled: 1_000_000}}, Snapshot: &layout.Snapshot{Manifest: m}, SnapshotCount: 2,
		Runs: []schema.Run{{ID: "a", StartedAt: now - 9000, Outcome: schema.OutcomeDone}, {ID: "b", StartedAt: now - 5000, Outcome: schema.OutcomeDone}}}
}

// allMetrics gathers the metrics of a run with every kind of event.
func allMetrics(t *testing.T) *prometheus.Registry {
	t.Helper()
	h := twoRuns()
	now := time.Now()
	h.Snapshot.Manifest.Coverage = []schema.Span{{From: 1, To: 2, ListedAt: 3}, {From: 4, To: 5, ListedAt: 6}}
	h.Snapshot.Manifest.Bulk = &schema.Bulk{State: schema.BulkTrusted}
	manifest, oldest := h.Snapshot.Manifest, int64(1_760_000_000_000)
	manifest.Archive = "file:///archive"
	manifest.Files = append(manifest.Files, layout.File{Table: "calls", Period: "2025-01-01", Unarchived: 3, OldestUnarchived: &oldest},
		layout.File{Table: "recordings", Period: "2025-01-01", Recordings: map[string]int64{"stored": 5}})
	m := Metrics{Now: now, Started: now, Profile: "acme", Code: 3, Failures: 2, Report: new(crawler.Report),
		Last: &schema.Run{ID: "new", StartedAt: now.UnixMilli(), EndedAt: schema.Some(now.UnixMilli() + 1500), Outcome: schema.OutcomeIncomplete,
			Requests: 20, PageRequests: 9, DetailRequests: 6, Bulk: schema.BulkCounts{Requests: 4},
			BudgetUsedPercent: schema.Some[int64](437_500), DriftFields: []byte(`{"metadata.a: b: misfit":3,"status: unknown_value":2}`)}}
	m.Report.Status4xx, m.Report.RateLimited, m.Report.DetailsTotal = 5, 4, 10
	return m.Gather(h)
}

func TestMetricsFollowTheConventions(t *testing.T) {
	problems, err := testutil.GatherAndLint(allMetrics(t))
	test.OK(t, err)
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestMetricsOfTheRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "callhouse.prom")
	test.OK(t, prometheus.WriteToTextfile(path, allMetrics(t)))
	raw := test.Read(t, path)
	for _, line := range []string{
		`callhouse_last_run_exit_code{profile="acme"} 3`,
		`callhouse_last_run_outcome{outcome="done",profile="acme"} 0`,
		`callhouse_last_run_outcome{outcome="incomplete",profile="acme"} 1`,
		`callhouse_last_run_duration_seconds{profile="acme"} 1.5`,
		`callhouse_last_run_budget_used_ratio{profile="acme"} 0.4375`,
		`callhouse_last_run_requests{kind="bulk",profile="acme"} 4`,
		`callhouse_last_run_requests{kind="resource",profile="acme"} 1`,
		`callhouse_last_run_responses{profile="acme",status="429"} 4`,
		`callhouse_last_run_responses{profile="acme",status="4xx"} 1`,
		`callhouse_last_run_drift_values{field="metadata.a: b",kind="misfit",profile="acme"} 3`,
		`callhouse_last_run_data_test_failures{profile="acme"} 2`,
		`callhouse_runs{outcome="done",profile="acme"} 2`,
		`callhouse_runs{outcome="incomplete",profile="acme"} 1`,
		`callhouse_coverage_gaps{profile="acme"} 1`,
		`callhouse_calls{profile="acme"} 2`,
		`callhouse_recordings_due{profile="acme"} 3`,
		`callhouse_recordings_oldest_due_timestamp_seconds{profile="acme"} 1.76e+09`,
	} {
		if !slices.Contains(strings.Split(string(raw), "\n"), line) {
			t.Errorf("there is no %s", line)
		}
	}
	if t.Failed() {
		t.Logf("%s", raw)
	}
}

var metricRE = regexp.MustCompile(`\bcallhouse_[a-z_]+`)

// The alert rules, the dashboard and the manual name only existing metrics, and the manual lists all.
func TestDocsNameTheMetrics(t *testing.T) {
	families, err := allMetrics(t).Gather()
	test.OK(t, err)
	var known []string
	for _, f := range families {
		known = append(known, f.GetName())
	}
	docs := filepath.Join("..", "..", "..", "docs")
	read := func(name string) string {
		raw := test.Read(t, filepath.Join(docs, name))
		return string(raw)
	}
	for _, name := range []string{"alerts.yml", "grafana.json", "reference/monitoring.md"} {
		for _, metric := range metricRE.FindAllString(read(name), -1) {
			if !slices.Contains(known, metric) {
				t.Errorf("%s speaks of %s, which there is not", name, metric)
			}
		}
	}
	if !json.Valid([]byte(read("grafana.json"))) {
		t.Error("grafana.json is no JSON")
	}
	table := "| metric | labels | meaning |\n| --- | --- | --- |\n"
	for _, f := range families {
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			if l.GetName() != "profile" {
				labels = append(labels, "`"+l.GetName()+"`")
			}
		}
		table += "| `" + f.GetName() + "` | " + strings.Join(labels, ", ") + " | " + f.GetHelp() + " |\n"
	}
	test.GoldenPart(t, filepath.Join(docs, "reference", "monitoring.md"), "go test ./cmd/internal/status -update -->\n", "<!-- end -->", table)
	page := read("reference/monitoring.md")
	for _, m := range regexp.MustCompile("`(Callhouse[A-Za-z]+)`").FindAllStringSubmatch(page, -1) {
		if !strings.Contains(read("alerts.yml"), "alert: "+m[1]+"\n") {
			t.Errorf("monitoring.md speaks of the alert %s, which there is not", m[1])
		}
	}
}

func TestAlertRules(t *testing.T) {
	raw := test.Read(t, "../../../docs/alerts.yml")
	var file struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	test.OK(t, yaml.Unmarshal(raw, &file))
	seen := map[string]bool{}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			if seen[r.Alert] || !metricRE.MatchString(r.Expr) || r.Annotations["summary"] == "" || r.Labels["severity"] == "" {
				t.Errorf("alert %q is twice there, or lacks its expression, summary or severity", r.Alert)
			}
			seen[r.Alert] = true
		}
	}
	if len(seen) < 10 {
		t.Errorf("there are only the alerts %v", seen)
	}
}

// A run in progress, and one whose row could not be written, are reported correctly.
func TestMetricsBetweenRuns(t *testing.T) {
	h := twoRuns()
	if f := Examine(h, time.Now(), 0).Facts; f["run_in_progress"] != 0.0 || f["run_start_timestamp_seconds"] != float64(h.Runs[1].StartedAt)/1000 {
		t.Errorf("while a process follows the service, the facts are %v", f)
	}
	value := func(m *Metrics, name string) float64 {
		families, err := m.Gather(h).Gather()
		test.OK(t, err)
		for _, f := range families {
			if f.GetName() == name {
				return f.Metric[0].GetGauge().GetValue()
			}
		}
		return -1
	}
	h.Runs[1].Outcome = schema.OutcomeKilled
	m := &Metrics{Now: time.Now(), Started: time.Now(), Running: true}
	if on, code := value(m, "callhouse_run_in_progress"), value(m, "callhouse_last_run_exit_code"); on != 1 || code != 137 {
		t.Errorf("of a run that begins after one that was killed: %v, exit code %v", on, code)
	}
	test.Same(t, -1, value(m, "callhouse_last_run_data_test_failures"), "nobody knows what the data tests of a run found that was killed")
	success := value(m, "callhouse_last_success_timestamp_seconds")
	if want := float64(endOf(&h.Runs[0]).UnixMilli()) / 1000; success != want {
		t.Errorf("the last success is of %v, want %v", success, want)
	}
}
