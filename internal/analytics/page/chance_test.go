package page

import (
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/database"
	"callhouse/internal/analytics/question"
	"callhouse/internal/longtest"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/test"
)

var companies = flag.Int("companies", 1, "how many companies without any change are simulated, and how many of each kind with one")

// company is a simulated company: its calls have the same distribution every day.
type company struct {
	r         *rand.Rand
	days      int
	agents    int
	perDay    float64 // calls on a usual day
	uneven    bool    // Mondays have 1.6 times as many, weekends a third
	variation float64 // relative variation of the daily number of calls, besides chance
	tail      float64 // of costs and durations: the standard deviation of their logarithm
	// bad returns how much worse a call is: how far its probability of completion drops, and by
	// which factors its cost and duration grow.
	bad func(at time.Time, agent int) (lower, dearer, longer float64)
}

const editedDays = 3 // before companyEnds

// companyEnds is the morning on which the pages are read, a Saturday.
var companyEnds = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

func (c *company) calls() (out []row) {
	skill := make([]float64, c.agents)
	for i := range skill {
		skill[i] = .7 + .2*c.r.Float64()
	}
	for day := range c.days {
		begin := companyEnds.AddDate(0, 0, day-c.days)
		expected := c.perDay * math.Exp(c.variation*c.r.NormFloat64())
		if c.uneven && begin.Weekday() == time.Monday {
			expected *= 1.6
		} else if c.uneven && (begin.Weekday() == time.Saturday || begin.Weekday() == time.Sunday) {
			expected /= 3
		}
		for i := range c.poisson(expected) {
			out = append(out, c.call(fmt.Sprint(day, "-", i), begin.Add(time.Duration(c.r.Int64N(int64(24*time.Hour)))), skill))
		}
	}
	return out
}

func (c *company) poisson(mean float64) (n int) {
	for sum := c.r.ExpFloat64(); sum < mean; sum += c.r.ExpFloat64() {
		n++
	}
	return n
}

func (c *company) call(id string, at time.Time, skill []float64) row {
	agent := min(c.r.IntN(c.agents), c.r.IntN(c.agents)) // some have more calls
	lower, dearer, longer := 0.0, 1.0, 1.0
	if c.bad != nil {
		lower, dearer, longer = c.bad(at, agent)
	}
	is := row{"call_id": id, "agent_id": fmt.Sprintf("agent %d", agent), "call_type": "inbound", "status": "ended", "start_at": at.UnixMilli()}
	if c.r.Float64() < .4 {
		if is["call_type"] = "outbound"; c.r.Float64() < .4 {
			is["disconnection_reason"], is["transcript_state"] = "dial_no_answer", "empty"
			return is
		}
	}
	is["user_turns"], is["duration_ms"] = int64(3), int64(60_000*longer*math.Exp(c.tail*c.r.NormFloat64()))+10_000
	switch done := skill[agent] - lower; {
	case c.r.Float64() < done:
		is["disconnection_reason"] = "user_hangup"
	case c.r.Float64() < .5:
		is["disconnection_reason"] = "call_transfer"
	default:
		is["disconnection_reason"] = "inactivity"
	}
	if c.r.Float64() < .7 {
		is["user_sentiment"] = []string{"negative", "neutral", "neutral", "neutral", "positive", "positive", "positive"}[c.r.IntN(7)]
	}
	if c.r.Float64() < .9 {
		is["total_cost"] = strconv.FormatFloat(.08*dearer*math.Exp(c.tail*c.r.NormFloat64()), 'f', 4, 64)
	}
	return is
}

// edited is a change of the first agent, first seen on a morning.
func edited(seen time.Time) row {
	return row{"resource": "agents", "key": "agent 0", "kind": "changed", "since_at": seen.AddDate(0, 0, -1).UnixMilli(), "seen_at": seen.UnixMilli(),
		"fields": `["prompt"]`, "before": `{"name":"a","prompt":"b"}`, "after": `{"name":"a","prompt":"c"}`}
}

// verdicts are the page's statements about a company.
type verdicts struct {
	day, period, findings, agents int // changes reported for the day, for the period, in the findings, and in the weekly table of agents
	cost, handle                  int // of the period
	off, days                     int // marked days, and all days
	edit                          string
}

func (c *company) judge(t *testing.T) (v verdicts) {
	t.Helper()
	root := t.TempDir()
	analyticstest.Write(t, root, 1, analyticstest.Data{Calls: c.calls(), Compacted: func(month string) bool { return month < "2026-11" },
		Coverage: []schema.Span{{From: 0, To: companyEnds.UnixMilli()}},
		Others:   map[*schema.Table][]row{&resource.Changes: {edited(companyEnds.AddDate(0, 0, -editedDays))}}})
	w, err := analytics.Open(t.Context(), root, analytics.Options{Options: database.Options{Threads: 2}})
	test.OK(t, err)
	defer w.Close()
	l := english(t)
	of, err := Write(t.Context(), io.Discard, w, Options{Texts: l, Now: companyEnds.Add(6 * time.Hour)})
	test.OK(t, err)
	said := func(c *change) int {
		if c == nil || c.Word == l.Say("change.not_clear") || c.Word == l.Say("change.the_same") {
			return 0
		}
		return 1
	}
	for i, tile := range of.Figures {
		v.day, v.period = v.day+said(tile.Day.Change), v.period+said(tile.Period.Change)
		if figures[i].id == "cost" {
			v.cost += said(tile.Period.Change)
		}
	}
	for _, x := range of.Points {
		if x.Change.By != "" { // else it is an unusual day
			v.findings++
		}
	}
	p := question.Params{Since: companyEnds.AddDate(0, 0, -7), Until: companyEnds}
	p = p.WithPrevious(w.Location())
	rows, columns := answers(t, w, "agents", p)
	for _, line := range rows {
		for name, i := range columns {
			if column, ok := strings.CutPrefix(name, "change_low_"); ok && line[i] != nil && (float(line[i]) > 0 || float(line[columns["change_high_"+column]]) < 0) {
				v.agents++
			}
		}
	}
	p = question.Params{Since: companyEnds.AddDate(0, 0, -28), Until: companyEnds}
	p = p.WithPrevious(w.Location())
	p.Strict, p.Columns = question.Strict{Answers: answersOfPeriod, Changes: 6}, []string{"handle_ms", "change_low_handle_ms", "change_high_handle_ms"}
	rows, columns = answers(t, w, "durations", p)
	if line := rows[0]; float(line[columns["change_low_handle_ms"]]) > 0 || float(line[columns["change_high_handle_ms"]]) < 0 {
		v.handle = 1
	}
	rows, columns = answers(t, w, "anomalies", question.Params{Since: companyEnds.AddDate(0, 0, -28)})
	marked := map[string]bool{}
	for _, line := range rows {
		marked[fmt.Sprint(line[columns["day"]])] = true
	}
	v.off, v.days = len(marked), 28
	rows, columns = answers(t, w, "changes", question.Params{})
	v.edit, _ = rows[0][columns["verdict"]].(string)
	return v
}

// answers returns a report's rows, and the positions of its columns.
func answers(t *testing.T, w *analytics.Warehouse, report string, p question.Params) (all [][]any, columns map[string]int) {
	t.Helper()
	a, err := (&source{w: w, l: english(t)}).ask(t.Context(), report, p)
	test.OK(t, err)
	columns = map[string]int{}
	for i, c := range a.columns {
		columns[c.Name] = i
	}
	return a.exact, columns
}

// atMost fails if an event was seen so often that its probability almost certainly exceeds p.
func atMost(t *testing.T, what string, seen, of int, p float64) {
	t.Helper()
	n := float64(of)
	t.Logf("%-64s %4d of %5d, %5.1f %%", what, seen, of, 100*float64(seen)/n)
	if float64(seen) > n*p+3.1*math.Sqrt(n*p*(1-p))+1 {
		t.Errorf("%s: %d of %d; the docs say %.1f %% at most", what, seen, of, 100*p)
	}
}

// In companies in which nothing changes, the reports hardly ever report a change.
func TestNothingChanges(t *testing.T) {
	longtest.Only(t)
	var sum verdicts
	var edits int
	for i := range *companies {
		r := rand.New(rand.NewPCG(2026, uint64(i)))
		c := &company{r: r, days: 150, agents: 8, perDay: []float64{20, 60, 20, 200}[i%4], uneven: i%2 == 1, variation: []float64{0, .1}[i/2%2], tail: []float64{.6, 1, 1.3}[i%3]}
		v := c.judge(t)
		one := func(n int) int { return min(n, 1) }
		sum.day, sum.period, sum.findings, sum.agents = sum.day+one(v.day), sum.period+one(v.period), sum.findings+one(v.findings), sum.agents+one(v.agents)
		sum.cost, sum.handle, sum.off, sum.days = sum.cost+v.cost, sum.handle+v.handle, sum.off+v.off, sum.days+v.days
		if v.edit == "better" || v.edit == "worse" {
			edits++
		}
	}
	atMost(t, "pages with a word beside a figure of the last day", sum.day, *companies, .05)
	atMost(t, "pages with a word beside a figure of the 28 days", sum.period, *companies, .05)
	atMost(t, "pages with a finding", sum.findings, *companies, .05)
	atMost(t, "costs per call of 28 days called better or worse", sum.cost, *companies, .05)
	atMost(t, "handle times of 28 days called longer or shorter", sum.handle, *companies, .05)
	atMost(t, "weekly tables of eight agents (--compare) with more or less", sum.agents, *companies, .05)
	atMost(t, "days that anomalies marks", sum.off, sum.days, .02)
	atMost(t, "edits that changes calls better or worse after three days", edits, *companies, .05)
}

// Real changes are found, more reliably the larger they are and the more calls there are.
func TestSomethingChanges(t *testing.T) {
	if *companies == 1 {
		t.Skip("make soak tries it")
	}
	edit := companyEnds.AddDate(0, 0, -editedDays)
	found := func(v verdicts) bool { return v.edit == "worse" }
	worse := func(by float64) func(time.Time, int) (float64, float64, float64) {
		return func(at time.Time, agent int) (float64, float64, float64) {
			if agent == 0 && !at.Before(edit) {
				return by, 1, 1
			}
			return 0, 1, 1
		}
	}
	for i, c := range []struct {
		what  string
		least float64 // minimum share of companies in which it is found
		of    company
		found func(v verdicts) bool
	}{
		{"an edit that costs 20 points, after three days of 60 calls", .8, company{days: 60, agents: 2, perDay: 80, tail: 1,
			bad: worse(.2)}, found},
		{"an edit that costs 10 points, after three days of 250 calls", .7, company{days: 60, agents: 2, perDay: 330, tail: 1,
			bad: worse(.1)}, found},
		{"cost per call 10 % higher for 28 days of 100 calls", .1, company{days: 60, agents: 4, perDay: 100, tail: 1, bad: dearer(1.1)}, func(v verdicts) bool { return v.cost > 0 }},
		{"cost per call 20 % higher for 28 days of 100 calls", .8, company{days: 60, agents: 4, perDay: 100, tail: 1, bad: dearer(1.2)}, func(v verdicts) bool { return v.cost > 0 }},
		{"handle time 20 % longer for 28 days of 100 calls", .7, company{days: 60, agents: 4, perDay: 100, tail: 1, bad: longer(1.2)}, func(v verdicts) bool { return v.handle > 0 }},
	} {
		n, found := (*companies+3)/4, 0
		for j := range n {
			c.of.r = rand.New(rand.NewPCG(uint64(i)+1, uint64(j)))
			if c.found(c.of.judge(t)) {
				found++
			}
		}
		t.Logf("%-64s found in %3d of %3d, %3.0f %%", c.what, found, n, 100*float64(found)/float64(n))
		if float64(found) < c.least*float64(n)-3.1*math.Sqrt(float64(n)*c.least*(1-c.least)) {
			t.Errorf("%s: found in %d of %d; the docs say about %.0f %%", c.what, found, n, 100*c.least)
		}
	}
}

func dearer(times float64) func(time.Time, int) (float64, float64, float64) {
	return func(at time.Time, _ int) (float64, float64, float64) { return 0, sinceFourWeeks(at, times), 1 }
}

func sinceFourWeeks(at time.Time, times float64) float64 {
	if at.Before(companyEnds.AddDate(0, 0, -28)) {
		return 1
	}
	return times
}

// anomalies finds a single bad day, more reliably the more calls it has.
func TestOneBadDay(t *testing.T) {
	for _, c := range []struct {
		perDay int
		least  float64
	}{{30, 0}, {140, .2}, {400, .8}} {
		if *companies == 1 && c.perDay != 30 {
			continue
		}
		n := max(*companies/2, 2)
		r := rand.New(rand.NewPCG(7, uint64(c.perDay)))
		var calls []row
		for agent := range n { // each agent is a company of its own
			for day := range 57 {
				done, begin := .85, companyEnds.AddDate(0, 0, day-57)
				if day == 56 {
					done = .75
				}
				for i := range c.perDay {
					is := row{"call_id": fmt.Sprint(agent, " ", day, " ", i), "agent_id": fmt.Sprint(agent), "status": "ended", "disconnection_reason": "user_hangup", "user_turns": int64(1),
						"start_at": begin.Add(time.Duration(i) * time.Minute).UnixMilli(), "duration_ms": int64(60_000)}
					if r.Float64() > done {
						is["disconnection_reason"] = "inactivity"
					}
					calls = append(calls, is)
				}
			}
		}
		root := t.TempDir()
		analyticstest.Write(t, root, 1, analyticstest.Data{Calls: calls, Compacted: func(string) bool { return true }})
		w, err := analytics.Open(t.Context(), root, analytics.Options{Options: database.Options{Threads: 2}})
		test.OK(t, err)
		rows, columns := answers(t, w, "anomalies", question.Params{By: "agent", Since: companyEnds.AddDate(0, 0, -1)})
		found := 0
		for _, line := range rows {
			if line[columns["measure"]] == "completed_percent" {
				found++
			}
		}
		w.Close()
		t.Logf("one day of %3d calls, completed 85 to 75 %%: found in %3d of %3d, %3.0f %%", c.perDay, found, n, 100*float64(found)/float64(n))
		if float64(found) < c.least*float64(n)-3.1*math.Sqrt(float64(n)*c.least*(1-c.least)) {
			t.Errorf("it is found in %d of %d; the docs say about %.0f %%", found, n, 100*c.least)
		}
	}
}

// longer makes calls longer in the last four weeks.
func longer(times float64) func(time.Time, int) (float64, float64, float64) {
	return func(at time.Time, _ int) (float64, float64, float64) { return 0, 1, sinceFourWeeks(at, times) }
}
