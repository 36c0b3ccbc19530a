package analytics_test

import (
	"cmp"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/value"
	"callhouse/internal/longtest"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/test"
)

// november returns a time of November 2026, in ms.
func november(day, hour int) int64 {
	return time.Date(2026, 11, day, hour, 0, 0, 0, time.UTC).UnixMilli()
}

// Publications are changes from the first run on, with their own times. What the nightly runs see of one
// is not listed again; that an earlier version is back in production is.
func TestPublicationsAreChanges(t *testing.T) {
	longtest.Only(t)
	d := analyticstest.Data{Others: map[*schema.Table][]row{}}
	for day := 3; day < 28; day++ {
		d.Calls = append(d.Calls, row{"call_id": fmt.Sprint(day), "agent_id": "a", "agent_version": "v1", "start_at": november(day, 15), "status": "ended",
			"disconnection_reason": "user_hangup", "duration_ms": int64(60_000), "user_turns": int64(1)})
	}
	for version, at := range map[string]int64{"v1": november(1, 12), "v2": november(10, 12), "v/3": november(20, 12)} {
		d.Others[resource.AgentVersions.Table] = append(d.Others[resource.AgentVersions.Table], row{"agent_id": "a", "version": version, "created_at": at})
	}
	saw := func(day int, of, key, kind, before, after string, since any) {
		names := "[]"
		if kind == "changed" {
			names = "[\"" + strings.Split(after, "\"")[1] + "\"]"
		}
		d.Others[&resource.Changes] = append(d.Others[&resource.Changes], row{"resource": of, "key": key, "kind": kind, "run_id": fmt.Sprint(day),
			"since_at": since, "seen_at": november(day, 2), "fields": names, "before": before, "after": after})
	}
	for _, v := range []string{"v1", "v2"} {
		saw(15, "agent_versions", "a/"+v, "created", "null", "{}", nil) // the first run
	}
	saw(21, "agents", "a", "changed", `{"production_version":"v2"}`, `{"production_version":"v/3"}`, november(20, 2))
	saw(21, "agent_versions", "a/v%2F3", "created", "null", "{}", november(20, 2))
	saw(21, "agent_versions", "a/v2", "changed", `{"is_production":true}`, `{"is_production":false}`, november(20, 2))
	saw(24, "agents", "a", "changed", `{"production_version":"v/3"}`, `{"production_version":"v2"}`, november(23, 2))
	saw(24, "agent_versions", "a/v2", "changed", `{"is_production":false}`, `{"is_production":true}`, november(23, 2))
	saw(24, "agent_versions", "a/v%2F3", "changed", `{"is_production":true}`, `{"is_production":false}`, november(23, 2))
	w := warehouse(t, d, nil)
	for until, want := range map[int]string{28: "24:02[changed a production_version v/3 → v2 6 4] 20:12[published v/3 <nil> 7 7] 10:12[published v2 <nil> 7 7] ", 21: "20:12[published v/3 <nil> 7 7] 10:12[published v2 <nil> 7 7] "} {
		got := ""
		for _, line := range rowsOf(t, w, "changes", question.Params{Since: time.UnixMilli(november(until-20, 0)), Until: time.UnixMilli(november(until, 0))}) {
			got += time.UnixMilli(line[0].(int64)).UTC().Format("02:15") + fmt.Sprint([]any{line[5], line[4], line[13], line[6], line[7]}) + " "
		}
		if got != want {
			t.Errorf("changes: %s, want %s", got, want)
		}
	}
}

// The baseline of an agent is the version in production before its newest publication in the selected
// time, with calls from before it: a broken release is not the yardstick. Calls that do not name their version
// count for the one in production at their start.
func TestBaselineOfVersions(t *testing.T) {
	longtest.Only(t)
	d := analyticstest.Data{Others: map[*schema.Table][]row{}}
	unnamed := d
	dayOf := func(text string) int { n, _ := strconv.Atoi(text); return n }
	for _, c := range []struct {
		agent, published, calls string // VERSION@DAY; VERSION:FIRST-LAST, and / if the calls fail
	}{
		{"a new release", "v1@1 v2@20", "v1:1-20 v2:20-26/"},
		{"b none", "", "v1:20-22 v2:22-26/"},
		{"c twice", "v2@10 v1@20", "v1:1-9 v2:10-20 v1:20-26/"}, // the service has the last time
		{"d back", "v1@1 v2@10 v3@20", "v1:1-10 v2:10-12/ v1:12-20 v3:20-26/"},
		{"e two", "v1@1 v2@20 v3@23", "v1:1-20 v2:20-23/ v3:23-26"},
		{"f without calls", "v1@1 v2@19 v3@20", "v1:1-20 v3:20-26/"},
		{"g unnamed", "v2@10 v3@20", "production:1-26"},
		{"h gone", "v1@1 v2@20", "v1:1-20"},
	} {
		agent, _, _ := strings.Cut(c.agent, " ")
		published := map[int64]string{}
		for _, text := range strings.Fields(c.published) {
			version, day, _ := strings.Cut(text, "@")
			published[november(dayOf(day), 12)] = version
			d.Others[resource.AgentVersions.Table] = append(d.Others[resource.AgentVersions.Table], row{"agent_id": agent, "version": version, "created_at": november(dayOf(day), 12)})
		}
		if agent == "d" { // seen back in production
			published[november(13, 0)] = "v1"
		}
		for _, text := range strings.Fields(c.calls) {
			version, days, _ := strings.Cut(text, ":")
			days, fail := strings.CutSuffix(days, "/")
			first, last, _ := strings.Cut(days, "-")
			for hour := november(dayOf(first), 12); hour < november(dayOf(last), 12); hour += 3_600_000 {
				reason := "user_hangup"
				if fail && hour/3_600_000%3 > 0 {
					reason = "inactivity"
				}
				call := row{"call_id": fmt.Sprint(agent, hour), "agent_id": agent, "agent_version": version, "start_at": hour,
					"status": "ended", "disconnection_reason": reason, "duration_ms": int64(60_000), "user_turns": int64(1)}
				d.Calls = append(d.Calls, call)
				since := int64(0)
				for at := range published {
					if at <= hour {
						since = max(since, at)
					}
				}
				if published[since] == version {
					call = maps.Clone(call)
					call["agent_version"] = []any{"production", "current", nil}[hour/3_600_000%3]
				}
				unnamed.Calls = append(unnamed.Calls, call)
			}
		}
	}
	d.Others[&resource.Changes] = []row{{"resource": "agent_versions", "key": "d/v1", "kind": "changed", "since_at": november(12, 0), "seen_at": november(13, 0),
		"fields": `["is_production"]`, "before": `{"is_production":false}`, "after": `{"is_production":true}`}}
	d.Compacted, unnamed.Compacted = byMonth, byMonth
	checkBaselines(t, warehouse(t, d, nil), 5)
	checkBaselines(t, warehouse(t, unnamed, nil), 1)
}

func checkBaselines(t *testing.T, w *analytics.Warehouse, questions int) {
	t.Helper()
	ask := func(p question.Params) string {
		var got []string
		for _, agent := range strings.Split(cmp.Or(p.Agent, "abcdefgh"), "") {
			p.Agent = agent
			p.Columns = []string{"agent_version", "verdict", "answered_calls", "first_day", "last_day"}
			for _, line := range rowsOf(t, w, "versions", p) {
				line = line[len(line)-5:]
				for i := 3; i < 5; i++ {
					line[i] = time.Time(line[i].(value.Date)).Day()
				}
				got = append(got, fmt.Sprint(agent, line))
			}
		}
		return strings.Join(got, " ")
	}
	since := time.UnixMilli(november(20, 0))
	for _, c := range []struct {
		p    question.Params
		want string
	}{
		{question.Params{Since: since}, "a[v1 baseline 456 1 20] a[v2 worse 144 20 26] b[v2 baseline 96 22 26] b[v1 better 48 20 22] c[v2 baseline 240 10 20] " +
			"c[v1 worse 144 20 26] d[v1 baseline 408 1 20] d[v3 worse 144 20 26] e[v2 baseline 72 20 23] e[v3 better 72 23 26] e[v1 better 12 20 20] " +
			"f[v1 baseline 456 1 20] f[v3 worse 144 20 26] g[v2 baseline 240 10 20] g[v3 unclear 144 20 26] h[v1 baseline 456 1 20]"},
		{question.Params{Since: since, Agent: "a", Baseline: "v2"}, "a[v2 baseline 144 20 26] a[v1 better 12 20 20]"},
		{question.Params{Since: since, Agent: "d", Baseline: "v2"}, "d[v2 baseline 48 10 12] d[v3 unclear 144 20 26] d[v1 better 12 20 20]"},
		{question.Params{Agent: "a"}, "a[v1 baseline 456 1 20] a[v2 worse 144 20 26]"},
		{question.Params{Since: since, Agent: "a", Until: time.UnixMilli(november(22, 0)), By: "day"}, "a[v1 baseline 12 20 20] a[v2 worse 12 20 20] a[v2 unclear 24 21 21]"},
	}[:questions] {
		if got := ask(c.p); got != c.want {
			t.Errorf("%+v: %s, want %s", c.p, got, c.want)
		}
	}
	if got := fmt.Sprint(rowsOf(t, w, "versions", question.Params{Since: since, Baseline: "v3", Columns: []string{"agent_id", "verdict"}})[:3]); got != "[[a no baseline] [a no baseline] [c no baseline]]" {
		t.Errorf("agents without the baseline: %s", got)
	}
	if _, err := askFor(t.Context(), w, "versions", question.Params{Baseline: "v3", Agent: "a"}); err == nil || !strings.Contains(err.Error(), `unknown agent version "v3"`) {
		t.Errorf("an unknown baseline: %v", err)
	}
}

// Days, weeks, months and steps say which part of them an answer has: selected, listed, and not before the first
// call. People see it in place, programs in a column of its own.
func TestPartsOfPeriods(t *testing.T) {
	d := analyticstest.Data{Coverage: []schema.Span{{From: 0, To: november(25, 9)}}}
	for day := 1; day < 26; day++ {
		d.Calls = append(d.Calls, row{"call_id": fmt.Sprint(day), "start_at": november(day, 4) + 90_000, "duration_ms": int64(1)})
	}
	w := warehouse(t, d, nil)
	since, until := time.UnixMilli(november(10, 2)), time.UnixMilli(november(12, 0))
	for i, c := range []struct {
		report string
		p      question.Params
		want   string
	}{
		{"sentiment", question.Params{By: "day", Since: since, Until: until}, "2026-11-10 from 02:00|2026-11-11|"},
		{"sentiment", question.Params{By: "week", Since: since, Until: until}, "2026-11-09 from 11-10 02:00 to 11-12|"},
		{"sentiment", question.Params{By: "month"}, "2026-11 from 11-01 04:01 to 11-25 09:00|"},
		{"sentiment", question.Params{By: "day", Since: time.UnixMilli(0), Until: since.AddDate(0, 0, -8)}, "2026-11-01 from 04:01|"},
		{"sentiment", question.Params{By: "day,agent", Since: until.AddDate(0, 0, 13)}, "2026-11-25 to 09:00|"},
		{"concurrency", question.Params{Since: since, Until: until, Every: "day"}, "2026-11-10 from 02:00|2026-11-11 00:00:00|"},
		{"concurrency", question.Params{Until: until.AddDate(0, 0, -10), Every: "hour"}, "2026-11-01 04:00:00 from 04:01:30|"},
	} {
		c.p.MarkParts = true
		for _, c.p.NamesInPlace = range []bool{true, false} {
			if !longtest.On() && c.p.NamesInPlace != (i%2 == 0) {
				continue
			}
			rows, err := askFor(t.Context(), w, c.report, c.p)
			test.OK(t, err)
			part, got := rows.Columns()[len(rows.Columns())-1].Name == "part", ""
			for _, line := range all(t, rows, nil) {
				if at, ok := line[0].(int64); ok {
					line[0] = time.UnixMilli(at).UTC().Format(time.DateTime)
				}
				got += string(value.AppendText(nil, line[0], time.UTC))
				if text, ok := line[len(line)-1].(string); ok && part {
					got = strings.TrimSuffix(got, " 00:00:00") + " " + text
				}
				got += "|"
			}
			if got != c.want || part == c.p.NamesInPlace {
				t.Errorf("%s %+v: %v, want %s", c.report, c.p, got, c.want)
			}
		}
	}
	r, err := w.Remarks(t.Context(), analytics.Question{Report: "sentiment", Params: question.Params{Since: since.AddDate(0, 0, -40), Until: until}})
	if lines := r.Lines(time.UTC); err != nil || lines[0] != "the period begins on 2026-10-01, but the first call was on 2026-11-01 04:01" {
		t.Errorf("a period from before the first call: %q, %v", lines, err)
	}
}
