package status

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"callhouse/internal/crawler"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/test"
)

// promtool tests the alert rules on months of thirty nights. The metrics are those that the code
// writes for the runs of such a month, and Prometheus' own promtool evaluates the rules.
var promtool = flag.String("promtool", "", "Prometheus' promtool, for TestAlertsOfThirtyNights; make alerts finds and names it")

const (
	scrapeEvery = 30 * time.Minute
	monthNights = 30
	theDay      = 24 * time.Hour
)

// event is one run of a month and its result. The zero value is a good run.
type event struct {
	skip     bool          // no run at all
	lasts    time.Duration // 0: 20 minutes
	outcome  string        // empty: done
	killed   bool          // nothing is written at its end
	pending  int64         // calls of the last day awaiting their transcript
	backlog  int64         // older ones
	gaps     int           // spans of the list never read
	aside    int64
	journal  int64 // bytes
	drift    int64
	failures int // of the data tests
	refused  int64
	clock    time.Duration // how far its clock is ahead

	archive        bool  // recordings are archived
	due, undeleted int64 // of them
}

// month simulates thirty nights of one profile, and records the value of each series at every scrape; NaN: none.
type month struct {
	t         *testing.T
	profile   string
	scrapes   int
	seen      map[string][]float64
	shown     map[string]float64 // in the current file; nil: no file
	at        int                // scrapes done
	history   sink.History
	number    int64
	requested map[string]bool // the metrics used by the rules
}

var absent = -1e300 // how a missing value is written

func newMonth(t *testing.T, profile string) *month {
	t.Helper()
	rules := test.Read(t, "../../../docs/alerts.yml")
	m := &month{t: t, profile: profile, scrapes: int(monthNights * theDay / scrapeEvery), seen: map[string][]float64{}, requested: map[string]bool{}}
	for _, name := range metricRE.FindAllString(string(rules), -1) {
		m.requested[name] = true
	}
	return m
}

// scrape advances the time with Prometheus' scrapes.
func (m *month) scrape(until time.Duration) {
	for ; m.at < m.scrapes && time.Duration(m.at)*scrapeEvery < until; m.at++ {
		for name := range m.shown {
			if m.seen[name] == nil {
				m.seen[name] = slices.Repeat([]float64{absent}, m.scrapes)
			}
		}
		for name, all := range m.seen {
			if v, ok := m.shown[name]; ok {
				all[m.at] = v
			}
		}
	}
}

// write replaces the file with the current metrics.
func (m *month) write(s *Metrics) {
	m.t.Helper()
	s.Profile = m.profile
	families, err := s.Gather(&m.history).Gather()
	test.OK(m.t, err)
	m.shown = map[string]float64{}
	for _, f := range families {
		if !m.requested[f.GetName()] {
			continue
		}
		for _, one := range f.GetMetric() {
			labels := []string{`instance="acme-host:9100"`}
			for _, l := range one.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			m.shown[f.GetName()+"{"+strings.Join(labels, ",")+"}"] = one.GetGauge().GetValue()
		}
	}
}

// night simulates a run of night n.
func (m *month) night(n int, e event) {
	begin := time.Duration(n) * theDay
	if e.skip {
		return
	}
	if e.lasts == 0 {
		e.lasts = 20 * time.Minute
	}
	if e.outcome == "" {
		e.outcome = schema.OutcomeDone
	}
	m.scrape(begin)
	start := time.Unix(0, 0).UTC().Add(begin + e.clock)
	id := layout.RunID(start, uint32(n))
	for spent := time.Duration(0); spent < e.lasts; spent += scrapeEvery {
		m.write(&Metrics{Now: start.Add(spent), Running: true, Started: start})
		if spent > 0 {
			m.history.Journal = 1000
		}
		m.scrape(begin + spent + scrapeEvery)
	}
	row := schema.Run{ID: id, StartedAt: start.UnixMilli(), Outcome: e.outcome, CallsSetAside: e.aside, Drift: e.drift, RateLimited: e.refused,
		DriftFields: fmt.Appendf(nil, `{"status: unknown_value":%d}`, e.drift)}
	if e.killed {
		row.Outcome = schema.OutcomeKilled
		m.history.Runs = append(m.history.Runs, row)
		return
	}
	m.number++
	end := start.Add(e.lasts)
	row.EndedAt = schema.Some(end.UnixMilli())
	m.history.Runs = append(m.history.Runs, row)
	m.history.Journal = e.journal
	if e.outcome == schema.OutcomeDone || e.outcome == schema.OutcomeIncomplete {
		m.history.Snapshot = &layout.Snapshot{Manifest: m.manifest(id, start, end, e)}
	}
	m.write(&Metrics{Now: end, Started: start, Code: outcomeOf(e.outcome).code, Last: &row, Failures: e.failures, Report: new(crawler.Report)})
}

// manifest returns what the run committed.
func (m *month) manifest(id string, start, end time.Time, e event) *layout.Manifest {
	file := func(day time.Time, due int64) layout.File {
		ms := day.UnixMilli()
		period := layout.Day(ms)
		return layout.File{Table: schema.Calls.Name, Path: layout.DataFile(schema.Calls.Name, period, "a"), Period: period, Rows: 7000,
			MinStart: &ms, MaxStart: &ms, Due: due}
	}
	out := &layout.Manifest{Snapshot: m.number, RunID: id, CommittedAt: end, Watermark: start.UnixMilli(),
		Files: []layout.File{file(start.Add(-20*theDay), e.backlog), file(start, e.pending)}}
	if e.archive {
		out.Archive = "file:///recordings"
		if out.Files[1].Unarchived = e.due; e.due > 0 {
			oldest := end.Add(-time.Hour).UnixMilli()
			if old := int64(9) * theDay.Milliseconds(); oldest > old { // of the first nights
				oldest = old
			}
			out.Files[1].OldestUnarchived = &oldest
		}
		out.Files = append(out.Files, layout.File{Table: schema.Recordings.Name, Path: layout.DataFile(schema.Recordings.Name, out.Files[1].Period, "a"),
			Period: out.Files[1].Period, Recordings: map[string]int64{schema.RecordingUndeleted: e.undeleted}})
	}
	for i := range e.gaps + 1 {
		from := start.Add(time.Duration(i-e.gaps-1) * time.Hour).UnixMilli()
		out.Coverage = append(out.Coverage, schema.Span{From: from, To: from + 1000, ListedAt: start.UnixMilli()})
	}
	return out
}

// series returns the recorded values in promtool's format.
func (m *month) series() (out []map[string]string) {
	m.scrape(monthNights * theDay)
	for _, name := range slices.Sorted(maps.Keys(m.seen)) {
		var text []string
		all := m.seen[name]
		for from := 0; from < len(all); {
			to := from
			for to < len(all) && all[to] == all[from] {
				to++
			}
			if all[from] == absent {
				text = append(text, fmt.Sprintf("_x%d", to-from))
			} else {
				text = append(text, fmt.Sprintf("%s+0x%d", strconv.FormatFloat(all[from], 'f', -1, 64), to-from-1))
			}
			from = to
		}
		out = append(out, map[string]string{"series": name, "values": strings.Join(text, " ")})
	}
	return out
}

// everyNight makes a month with the same run every night, except those in but.
func everyNight(every event, but map[int]event) func(*month) {
	return func(m *month) {
		for n := range monthNights {
			e := every
			if other, ok := but[n]; ok {
				e = other
			}
			m.night(n, e)
		}
	}
}

// from returns the same event for the nights from first up to last.
func from(first, last int, e event) map[int]event {
	out := map[int]event{}
	for n := first; n <= last; n++ {
		out[n] = e
	}
	return out
}

// expectation lists the alerts that have fired by an hour of the month or, with now, those firing at that hour.
type expectation struct {
	at    time.Duration
	now   bool
	fired []string
}

func TestAlertsOfThirtyNights(t *testing.T) {
	if *promtool == "" {
		t.Skip("promtool is not named: the alert rules are not tried (make alerts does)")
	}
	incomplete := event{outcome: schema.OutcomeIncomplete, lasts: 6 * time.Hour, pending: 2}
	failed := event{outcome: schema.OutcomeFailed, lasts: 5 * time.Minute, pending: 2}
	good := event{pending: 3}
	firstLoad := map[int]event{}
	for n := range 5 { // 28 hours of transcripts in nights of six hours
		firstLoad[n] = event{outcome: schema.OutcomeIncomplete, lasts: 6 * time.Hour, pending: 7000, backlog: int64(200_000 - 43_000*n)}
	}
	firstLoad[5] = good
	end := monthNights*theDay - scrapeEvery
	night := func(n int) time.Duration { return time.Duration(n) * theDay }
	before := func(n int) time.Duration { return night(n) - scrapeEvery }
	other := func(m *month) { everyNight(good, nil)(m) }
	for _, c := range []struct {
		name   string
		lives  map[string]func(*month) // by profile
		expect []expectation
	}{
		{"good nights", map[string]func(*month){"acme": everyNight(good, nil), "bolt": everyNight(event{pending: 1, lasts: 5 * time.Hour}, nil)},
			[]expectation{{at: end}}},
		{"two nights end with 3", map[string]func(*month){"": everyNight(good, from(9, 10, incomplete))}, []expectation{{at: end}}},
		{"all nights end with 3", map[string]func(*month){"": everyNight(good, from(9, 29, incomplete))},
			[]expectation{{at: before(9)}, {at: end, fired: []string{"CallhouseIncomplete"}}}},
		{"a first load of five nights", map[string]func(*month){"": everyNight(good, firstLoad)}, []expectation{{at: end}}},
		{"a first load of thirty hours in one run", map[string]func(*month){"": everyNight(good, map[int]event{
			0: {lasts: 30 * time.Hour, pending: 2}, 1: {skip: true}})}, []expectation{{at: end, fired: []string{"CallhouseRunLong"}}}},
		{"more calls than the budget fetches", map[string]func(*month){"": func(m *month) {
			for n := range monthNights {
				e := incomplete
				e.backlog = int64(1000 * n)
				m.night(n, e)
			}
		}}, []expectation{{at: end, fired: []string{"CallhouseIncomplete", "CallhousePending"}}}},
		{"one profile vanishes", map[string]func(*month){"acme": other, "bolt": func(m *month) {
			for n := range 10 {
				m.night(n, good)
			}
			m.scrape(10 * theDay)
			m.shown = nil
		}}, []expectation{{at: before(10)}, {at: night(11) + 3*time.Hour, fired: []string{"CallhouseNoSuccess", "CallhouseSilent"}}}},
		{"the timer is off", map[string]func(*month){"": everyNight(good, from(10, 29, event{skip: true}))},
			[]expectation{{at: before(10)}, {at: night(10) + 4*time.Hour, fired: []string{"CallhouseNoSuccess", "CallhouseSilent"}},
				{at: end, fired: []string{"CallhouseNoSuccess", "CallhouseSilent"}}}},
		{"nothing was ever written", map[string]func(*month){}, []expectation{{at: end, now: true, fired: []string{"CallhouseSilent"}}}},
		{"a reboot takes the node away for half an hour", map[string]func(*month){"": func(m *month) {
			for n := range monthNights {
				if n == 12 {
					file := m.shown
					m.scrape(12*theDay - time.Hour)
					m.shown = nil
					m.scrape(12*theDay - 30*time.Minute)
					m.shown = file
				}
				m.night(n, good)
			}
		}}, []expectation{{at: end}}},
		{"one night fails", map[string]func(*month){"": everyNight(good, from(9, 9, failed))},
			[]expectation{{at: before(9)}, {at: night(10) + time.Hour, now: true}, {at: end, fired: []string{"CallhouseNoSuccess", "CallhouseRunFailed"}}}},
		{"it never succeeds from the first night on", map[string]func(*month){"": everyNight(failed, nil)},
			[]expectation{{at: theDay, fired: []string{"CallhouseRunFailed"}}, {at: end, now: true, fired: []string{"CallhouseNoSuccess", "CallhouseRunFailed"}}}},
		{"a run is killed", map[string]func(*month){"": everyNight(good, map[int]event{9: {killed: true, pending: 2}})},
			[]expectation{{at: before(9)}, {at: night(9) + time.Hour, fired: []string{"CallhouseRunStuck"}},
				{at: night(10) + time.Hour, now: true}}},
		{"the disk is full for four nights", map[string]func(*month){"": everyNight(good,
			from(9, 12, event{outcome: schema.OutcomeFailed, journal: 5 << 20, pending: 2, lasts: 20 * time.Minute}))},
			[]expectation{{at: before(9)}, {at: night(12), fired: []string{"CallhouseJournalWaits", "CallhouseNoSuccess", "CallhousePending", "CallhouseRunFailed"}},
				{at: end, now: true}}},
		{"a data test fails", map[string]func(*month){"": everyNight(good, from(9, 9, event{outcome: schema.OutcomeIncomplete, failures: 1, pending: 2}))},
			[]expectation{{at: before(9)}, {at: night(9) + time.Hour, now: true, fired: []string{"CallhouseDataTestFailed"}}, {at: end, now: true}}},
		{"a call fails every night", map[string]func(*month){"": everyNight(good, from(9, 29, event{outcome: schema.OutcomeIncomplete, aside: 1, pending: 2}))},
			[]expectation{{at: before(9)}, {at: end, now: true, fired: []string{"CallhouseIncomplete", "CallhouseSetAside"}}}},
		{"a part of the list cannot be read", map[string]func(*month){"": everyNight(good, from(9, 29, event{outcome: schema.OutcomeIncomplete, gaps: 1, pending: 2}))},
			[]expectation{{at: before(9)}, {at: end, now: true, fired: []string{"CallhouseCoverageGap", "CallhouseIncomplete"}}}},
		{"the service sends something new", map[string]func(*month){"": everyNight(good, from(9, 29, event{drift: 5, pending: 2}))},
			[]expectation{{at: before(9)}, {at: end, now: true, fired: []string{"CallhouseDrift"}}}},
		{"recordings wait, ever fewer", map[string]func(*month){"": func(m *month) {
			for n := range monthNights {
				m.night(n, event{pending: 3, archive: true, due: int64(1000 - 30*n)})
			}
		}}, []expectation{{at: end}}},
		{"the host of recordings is down", map[string]func(*month){"": everyNight(event{pending: 3, archive: true},
			from(9, 29, event{pending: 3, archive: true, due: 40}))}, []expectation{{at: night(10)}, {at: end, now: true, fired: []string{"CallhouseRecordingsDue"}}}},
		{"recordings cannot be deleted", map[string]func(*month){"": everyNight(event{pending: 3, archive: true},
			from(9, 29, event{pending: 3, archive: true, undeleted: 2}))}, []expectation{{at: night(10)}, {at: end, now: true, fired: []string{"CallhouseRecordingsUndeleted"}}}},
		{"somebody else spends the budget", map[string]func(*month){"": everyNight(good, from(9, 9, event{refused: 300, pending: 2}))},
			[]expectation{{at: before(9)}, {at: end, fired: []string{"CallhouseRateLimited"}}}},
		{"the clock is ahead", map[string]func(*month){"": everyNight(good, from(9, 9, event{clock: 5 * time.Hour, pending: 2}))},
			[]expectation{{at: before(9)}, {at: end, fired: []string{"CallhouseClockWrong"}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			series := []map[string]string{}
			for profile, live := range c.lives {
				m := newMonth(t, profile)
				live(m)
				series = append(series, m.series()...)
			}
			if len(series) == 0 { // promtool requires one
				series = append(series, map[string]string{"series": `up{job="node"}`, "values": fmt.Sprintf("1+0x%d", monthNights*24*2)})
			}
			checkRules(t, series, c.expect)
		})
	}
}

// checkRules runs promtool on docs/alerts.yml and the series.
func checkRules(t *testing.T, series []map[string]string, expect []expectation) {
	t.Helper()
	type sample struct {
		Labels string  `yaml:"labels"`
		Value  float64 `yaml:"value"`
	}
	var tests []map[string]any
	for _, e := range expect {
		expr := fmt.Sprintf(`group by (alertname) (last_over_time(ALERTS{alertstate="firing"}[%dm]))`, max(1, int(e.at.Minutes())))
		if e.now {
			expr = `group by (alertname) (ALERTS{alertstate="firing"})`
		}
		samples := []sample{}
		for _, name := range e.fired {
			samples = append(samples, sample{fmt.Sprintf("{alertname=%q}", name), 1})
		}
		tests = append(tests, map[string]any{"expr": expr, "eval_time": fmt.Sprintf("%dm", int(e.at.Minutes())), "exp_samples": samples})
	}
	rules, err := filepath.Abs("../../../docs/alerts.yml")
	test.OK(t, err)
	raw, err := yaml.Marshal(map[string]any{
		"rule_files": []string{rules}, "evaluation_interval": fmt.Sprintf("%dm", int(scrapeEvery.Minutes())),
		"tests": []any{map[string]any{"interval": fmt.Sprintf("%dm", int(scrapeEvery.Minutes())), "input_series": series, "promql_expr_test": tests}},
	})
	test.OK(t, err)
	path := filepath.Join(t.TempDir(), "nights.yml")
	test.OK(t, os.WriteFile(path, raw, 0o600))
	if out, err := exec.CommandContext(t.Context(), *promtool, "test", "rules", path).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
