package status

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"callhouse/internal/crawler"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/words"
)

// Metrics is the source of the metrics, besides the warehouse.
type Metrics struct {
	Now     time.Time
	Profile string // becomes a label; empty: none
	Secrets *words.Secrets
	Running bool
	Started time.Time // of the writing run
	// Last is the run that has just ended, which the fields below describe. If it is nil, the last run
	// is taken from the table runs.
	Last     *schema.Run
	Code     int
	Report   *crawler.Report // nil: it did not crawl
	Failures int             // of the data tests
}

// gauges registers values under names.
type gauges struct{ prometheus.Registerer }

func (g gauges) set(name, help string, v float64) {
	one := prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "callhouse", Name: name, Help: help})
	one.Set(v)
	g.MustRegister(one)
}

// at registers an instant, in Prometheus' unit.
func (g gauges) at(name, help string, t time.Time) { g.set(name, help, float64(t.UnixMilli())/1000) }

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
	g.set("run_in_progress", "1 while a run is in progress; also after a run was killed.", bit(m.Running))
	if !m.Started.IsZero() {
		g.at("run_start_timestamp_seconds", "Start of the current or last run.", m.Started)
	}
	g.at("updated_timestamp_seconds", "When this file was written; during a run, once a minute.", m.Now)
	s := judge(h, m.Now, 0, m.Last)
	last := s.last
	if m.Last == nil && last != nil {
		m.Code = outcomeOf(last.Outcome).code
	}
	if s.success != nil {
		g.at("last_success_timestamp_seconds", "End of the last run with outcome done.", endOf(s.success))
	}
	if s.good != nil {
		g.at("last_good_run_timestamp_seconds", "End of the last run with exit code 0 or 3.", endOf(s.good))
	}
	if last != nil {
		m.lastRun(g, last)
	}
	ended := map[string]float64{}
	for _, o := range outcomes {
		ended[o.word] = 0
	}
	for _, r := range h.Runs {
		if _, ok := ended[r.Outcome]; ok {
			ended[r.Outcome]++
		}
	}
	if m.Last != nil && !slices.ContainsFunc(h.Runs, func(r schema.Run) bool { return r.ID == m.Last.ID }) {
		ended[m.Last.Outcome]++ // the run's row could not be written
	}
	g.each("runs", "Recorded runs, by outcome.", "outcome", ended)
	if h.Snapshot != nil {
		s.metrics(g, h.Snapshot.Manifest)
	}
	return reg
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
	g.set("last_run_duration_seconds", "Duration of the last run.", endOf(r).Sub(time.UnixMilli(r.StartedAt)).Seconds())
	g.set("last_run_exit_code", "Exit code of the last run; 137 if it was killed.", float64(m.Code))
	became := map[string]float64{}
	for _, o := range outcomes {
		became[o.word] = bit(o.word == r.Outcome)
	}
	g.each("last_run_outcome", "1 for the outcome of the last run.", "outcome", became)
	g.each("last_run_requests", "Requests sent by the last run.", "kind",
		requestsOf(r.Requests, r.PageRequests, r.DetailRequests, r.Bulk.Requests))
	answers := map[string]float64{"429": float64(r.RateLimited), "5xx": float64(r.ServerErrors), "none": float64(r.NetworkErrors)}
	if m.Report != nil {
		answers = answersOf(&m.Report.Counts)
	}
	g.each("last_run_responses", "Responses to the last run, by status: 429 separate from other 4xx; none: no response, or an incomplete one.",
		"status", answers)
	g.set("last_run_retries", "Retries of the last run.", float64(r.Retries))
	g.set("last_run_budget_used_ratio", "Share of the requests allowed by the budget in that time that were sent.",
		float64(r.BudgetUsedPercent.V)/1_000_000)
	g.each("last_run_calls", "Calls listed by the last run, by result.", "state", map[string]float64{
		"listed": float64(r.CallsListed), "new": float64(r.CallsNew), "changed": float64(r.CallsChanged),
		"settled": float64(r.CallsSettled), "missing": float64(r.CallsMissing), "set_aside": float64(r.CallsSetAside)})
	g.set("last_run_transcripts", "Transcripts fetched by the last run.", float64(r.Transcripts))
	g.set("last_run_turns", "Turns in the transcripts fetched by the last run.", float64(r.Turns))
	g.set("last_run_drift", "Unexpected values of the last run.", float64(r.Drift))
	drift := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "callhouse", Name: "last_run_drift_values",
		Help: "Unexpected values of the last run, by field and kind."}, []string{"field", "kind"})
	fields := map[string]int64{}               // such as "status: unknown_value"
	_ = json.Unmarshal(r.DriftFields, &fields) // null: none
	for place, n := range fields {
		at := strings.LastIndex(place, ": ")
		if at < 0 {
			continue
		}
		drift.WithLabelValues(m.Secrets.Line(place[:at]), words.Line(place[at+2:])).Add(float64(n))
	}
	g.MustRegister(drift)
	if m.Last != nil {
		g.set("last_run_data_test_failures", "Failed data tests of the last run.", float64(m.Failures))
	}
}

// metrics adds the metrics of the warehouse.
func (h *State) metrics(g gauges, m *layout.Manifest) {
	g.set("calls", "Calls in the warehouse.", float64(h.calls))
	g.set("calls_pending", "Calls that are over and lack their transcript.", float64(h.pending))
	g.set("calls_overdue", "Pending calls that started at least two days ago.", float64(h.overdue))
	g.set("calls_unsettled", "Calls that are in progress, or lack their analysis or cost.", float64(h.unsettled))
	if m.Archive != "" {
		r := m.Recordings()
		g.set("recordings_due", "Recordings that are still to be archived.", float64(r.Due))
		g.set("recordings_undeleted", "Recordings that must not be kept and may still be in the archive.", float64(h.undeleted(&r)))
		if r.Oldest != nil {
			g.at("recordings_oldest_due_timestamp_seconds", "End of the earliest call whose recording is due.", time.UnixMilli(*r.Oldest))
		}
	}
	g.set("coverage_gaps", "Time ranges of the list that were never read.", float64(len(h.gaps())))
	if m.Watermark > 0 {
		g.at("newest_call_timestamp_seconds", "Start of the newest call.", time.UnixMilli(m.Watermark))
	}
	if listed := m.ListedTo(); !listed.IsZero() {
		g.at("coverage_end_timestamp_seconds", "Time up to which calls are listed.", listed)
	}
	g.set("snapshots_kept", "Snapshots on the disk.", float64(h.history.SnapshotCount))
	g.set("warehouse_files", "Data files of the current snapshot.", float64(len(m.Files)))
	g.set("warehouse_bytes", "Size of the data files of the current snapshot.", float64(h.bytes))
	g.set("journal_bytes", "Size of fetched, uncommitted data.", float64(h.history.Journal))
}

func bit(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
