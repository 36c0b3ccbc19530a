package health

import (
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/crawler"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/words"
)

// outcomes are the outcomes of a run.
var outcomes = []string{schema.OutcomeDone, schema.OutcomeFailed, schema.OutcomeIncomplete, schema.OutcomeInterrupted, schema.OutcomeKilled}

// Metrics is the source of the metrics, besides the warehouse.
type Metrics struct {
	Now     time.Time
	Profile string // becomes a label; empty: none
	Secrets *words.Secrets
	Running bool
	Started time.Time // of the writing run
	// Ended reports that the run has just ended and the fields below describe it. Otherwise the
	// last run is taken from the table runs.
	Ended    bool
	Code     int
	Last     *schema.Run
	Report   *crawler.Report // nil: it did not crawl
	Failures int             // of the data tests
	// Progress is that of the writing run, which may have ended; nil if it has not begun to crawl.
	Progress *crawler.Progress
}

// gauges registers values under names.
type gauges struct{ prometheus.Registerer }

func (g gauges) set(name, help string, v float64) {
	one := prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "callhouse", Name: name, Help: help})
	one.Set(v)
	g.MustRegister(one)
}

// each registers a gauge with a value for each value of a label.
func (g gauges) each(name, help, label string, values map[string]float64) {
	all := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "callhouse", Name: name, Help: help}, []string{label})
	for v, n := range values {
		all.WithLabelValues(v).Set(n)
	}
	g.MustRegister(all)
}

// Gather makes the metrics in a new registry.
func (m *Metrics) Gather(h *sink.History) *prometheus.Registry {
	reg := prometheus.NewRegistry()
	g := gauges{reg}
	if m.Profile != "" {
		g.Registerer = prometheus.WrapRegistererWith(prometheus.Labels{"profile": m.Profile}, reg)
	}
	g.each("build_info", "The program that wrote this.", "version", map[string]float64{cli.Version(): 1})
	g.set("run_in_progress", "1 while a run is on. A run that was killed leaves it so.", bit(m.Running))
	g.set("run_start_timestamp_seconds", "When the last run started that is on or has ended.", seconds(m.Started.UnixMilli()))
	g.set("updated_timestamp_seconds", "When this was written: while a run is on, once a minute.", seconds(m.Now.UnixMilli()))
	if m.Progress != nil {
		m.thisRun(g)
	}
	last, success := lastRuns(h)
	if m.Ended {
		last = m.Last
		if m.Last.Outcome == schema.OutcomeDone {
			success = m.Last
		}
	} else if last != nil {
		m.Code = exitOf(last.Outcome)
	}
	if success != nil {
		g.set("last_success_timestamp_seconds", "When the last run that was done ended.", seconds(endOf(success)))
	}
	if good := m.lastGood(h, success); good != nil {
		g.set("last_good_run_timestamp_seconds", "When the last run ended that ended in good order: exit code 0 or 3.", seconds(endOf(good)))
	}
	if last != nil {
		m.lastRun(g, last)
	}
	ended := map[string]float64{}
	for _, o := range outcomes {
		ended[o] = 0
	}
	for _, r := range h.Runs {
		if _, ok := ended[r.Outcome]; ok {
			ended[r.Outcome]++
		}
	}
	if m.Ended && !slices.ContainsFunc(h.Runs, func(r schema.Run) bool { return r.ID == m.Last.ID }) {
		ended[m.Last.Outcome]++ // its row could not be written
	}
	g.each("runs", "Runs on record, by what became of them.", "outcome", ended)
	if h.Snapshot != nil {
		m.warehouse(g, Examine(h, m.Now, 0))
	}
	return reg
}

// lastGood returns the last run with outcome done or exit code 3; nil: none.
func (m *Metrics) lastGood(h *sink.History, success *schema.Run) *schema.Run {
	good := success
	take := func(r *schema.Run) {
		if r.Outcome == schema.OutcomeIncomplete && (good == nil || endOf(good) < endOf(r)) {
			good = r
		}
	}
	for i := range h.Runs {
		take(&h.Runs[i])
	}
	if m.Ended {
		take(m.Last)
	}
	return good
}

// thisRun adds the metrics of the run that writes them.
func (m *Metrics) thisRun(g gauges) {
	p := m.Progress
	g.each("run_requests", "Requests of the run that is on, or of the last one.", "kind",
		requestsOf(p.Requests, p.PageRequests, p.DetailRequests, p.BulkRequests))
	g.each("run_responses", "Answers to them by status.", "status", answersOf(&p.Counts))
	g.set("run_requests_last_minute", "Requests of the run that count against the limit of a minute now.", float64(p.LastMinute))
	g.set("run_requests_allowed_per_minute",
		"Requests that the run allows itself in a minute: less than its share while the service refuses.", float64(p.Allowed))
	if p.DetailsTotal >= 0 {
		g.set("run_details_left", "Records of calls that the run is still to fetch.", float64(max(0, p.DetailsTotal-p.DetailsDone())))
	}
}

// requestsOf returns a run's requests by kind; the rest are for resources.
func requestsOf(all, pages, details, bulk int64) map[string]float64 {
	return map[string]float64{"page": float64(pages), "detail": float64(details), "bulk": float64(bulk),
		"resource": float64(all - pages - details - bulk)}
}

// answersOf returns a run's answers by status.
func answersOf(c *crawler.Counts) map[string]float64 {
	return map[string]float64{"2xx": float64(c.Status2xx), "3xx": float64(c.Status3xx), "4xx": float64(c.Status4xx - c.RateLimited),
		"429": float64(c.RateLimited), "5xx": float64(c.ServerErrors), "none": float64(c.NetworkErrors)}
}

// lastRun adds the metrics of the last run that ended.
func (m *Metrics) lastRun(g gauges, r *schema.Run) {
	g.set("last_run_timestamp_seconds", "When the last run ended; of one that was killed, when it started.", seconds(endOf(r)))
	g.set("last_run_duration_seconds", "How long the last run took.", float64(endOf(r)-r.StartedAt)/1000)
	g.set("last_run_exit_code", "The exit code of the last run; 137 where it was killed.", float64(m.Code))
	became := map[string]float64{}
	for _, o := range outcomes {
		became[o] = bit(o == r.Outcome)
	}
	g.each("last_run_outcome", "1 for what became of the last run.", "outcome", became)
	g.each("last_run_requests", "Requests that the last run sent.", "kind",
		requestsOf(r.Requests, r.PageRequests, r.DetailRequests, r.Bulk.Requests))
	answers := map[string]float64{"429": float64(r.RateLimited), "5xx": float64(r.ServerErrors), "none": float64(r.NetworkErrors)}
	if m.Report != nil {
		answers = answersOf(&m.Report.Counts)
	}
	g.each("last_run_responses", "Answers to them by status: 429 apart from other 4xx; none is no answer, or not a whole one.",
		"status", answers)
	g.set("last_run_retries", "Requests of the last run that repeated one which had failed.", float64(r.Retries))
	g.set("last_run_budget_used_ratio", "Share of the requests that the budget allowed in that time which were sent.",
		float64(r.BudgetUsedPercent.V)/1_000_000)
	g.each("last_run_calls", "Calls that the last run listed, and what it made of them.", "state", map[string]float64{
		"listed": float64(r.CallsListed), "new": float64(r.CallsNew), "changed": float64(r.CallsChanged),
		"settled": float64(r.CallsSettled), "missing": float64(r.CallsMissing), "set_aside": float64(r.CallsSetAside)})
	g.set("last_run_transcripts", "Transcripts that the last run fetched.", float64(r.Transcripts))
	g.set("last_run_turns", "Turns in them.", float64(r.Turns))
	g.set("last_run_drift", "Values of the last run that were not as expected.", float64(r.Drift))
	drift := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "callhouse", Name: "last_run_drift_values",
		Help: "The same by field and by how they departed."}, []string{"field", "kind"})
	for place, n := range driftOf(r) {
		at := strings.LastIndex(place, ": ")
		if at < 0 {
			continue
		}
		// Rows of older versions have the service's words unredacted.
		drift.WithLabelValues(m.Secrets.Line(place[:at]), words.Line(place[at+2:])).Add(float64(n))
	}
	g.MustRegister(drift)
	if m.Ended {
		g.set("last_run_data_test_failures", "Data tests of the last run that failed.", float64(m.Failures))
	}
}

// warehouse adds the metrics of the warehouse.
func (m *Metrics) warehouse(g gauges, h *State) {
	g.set("calls", "Calls in the warehouse.", float64(h.Snapshot.Calls))
	g.set("calls_pending", "Calls that are over and wait for their transcript.", float64(h.Pending))
	g.set("calls_overdue", "Those of them that started two days ago or earlier.", float64(h.Overdue))
	g.set("calls_unsettled", "Calls that are not over, or wait for their analysis or cost.", float64(h.Unsettled))
	g.set("costs_unheld", "Calls with a cost that the column total_cost cannot hold.", float64(h.UnheldCosts))
	g.set("coverage_gaps", "Spans of the list that were never read.", float64(len(h.Gaps)))
	if h.NewestCall != nil {
		g.set("newest_call_timestamp_seconds", "When the newest call started.", seconds(h.NewestCall.At.UnixMilli()))
	}
	if h.Listed != nil {
		g.set("coverage_end_timestamp_seconds", "Up to when the list was read: calls that started before are known.",
			seconds(h.Listed.At.UnixMilli()))
	}
	g.set("snapshot", "Number of the current snapshot.", float64(h.Snapshot.Number))
	g.set("snapshots_kept", "Snapshots on the disk.", float64(h.Snapshot.Kept))
	g.set("warehouse_files", "Data files of the current snapshot.", float64(h.Snapshot.Files))
	g.set("warehouse_bytes", "Their size.", float64(h.Snapshot.Bytes))
	g.set("journal_bytes", "What is fetched and not committed.", float64(h.Journal))
}

func bit(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// seconds converts an instant of ms since 1970 UTC to Prometheus' unit.
func seconds(ms int64) float64 { return float64(ms) / 1000 }

// exitOf returns the exit code of a run with an outcome.
func exitOf(outcome string) int {
	switch outcome {
	case schema.OutcomeDone:
		return cli.ExitOK
	case schema.OutcomeIncomplete:
		return cli.ExitIncomplete
	case schema.OutcomeInterrupted:
		return cli.ExitInterrupted
	case schema.OutcomeKilled:
		return 137 // 128 + SIGKILL, as in a shell
	}
	return cli.ExitFailed
}
