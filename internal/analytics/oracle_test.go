package analytics_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/value"
)

// The oracle computes every report in plain Go from the same rows, using only what the reports' headers promise.

type row = analyticstest.Row

func text(r row, column string) (string, bool) {
	s, ok := r[column].(string)
	return s, ok
}

func orNil(r row, column string) any {
	if s, ok := text(r, column); ok {
		return s
	}
	return nil
}

// pair is the key of a group by two dimensions.
type pair struct{ first, second any }

// keyOf returns the group of a call.
func keyOf(r row, by string, loc *time.Location) any {
	if first, second, two := strings.Cut(by, ","); two {
		return pair{keyOf(r, first, loc), keyOf(r, second, loc)}
	}
	columns := map[string]string{"agent": "agent_id"}
	column := by
	if c, ok := columns[by]; ok {
		column = c
	}
	switch by {
	case "":
		return nil
	case "outcome":
		outcome, _ := outcomeOf(r)
		return outcome
	case "outcome_kind":
		_, kind := outcomeOf(r)
		return kind
	case "day", "week", "month", "hour", "weekday":
		ms, ok := r["start_at"].(int64)
		if !ok {
			return nil
		}
		return timeKey(time.UnixMilli(ms).In(loc), by)
	}
	for _, doc := range []string{"metadata", "dynamic_variables"} {
		if key, ok := strings.CutPrefix(by, doc+"."); ok {
			return documentKey(r, doc, key)
		}
	}
	return orNil(r, column)
}

func timeKey(t time.Time, by string) any {
	date := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
	switch by {
	case "day":
		return value.Date(date)
	case "week":
		for date.Weekday() != time.Monday {
			date = date.AddDate(0, 0, -1)
		}
		return value.Date(date)
	case "month":
		return t.Format("2006-01")
	case "hour":
		return int64(t.Hour())
	}
	return t.Weekday().String()
}

// documentKey handles the few documents that random calls have.
func documentKey(r row, doc, key string) any {
	raw, _ := text(r, doc)
	for _, d := range documents {
		if d.raw == raw {
			if v, ok := d.values[key]; ok {
				return v
			}
		}
	}
	return nil
}

func selects(r row, p question.Params, loc *time.Location) bool {
	meets := map[string]bool{}
	for _, condition := range p.Where {
		name, want, _ := strings.Cut(condition, "=")
		is := ""
		switch k := keyOf(r, name, loc).(type) {
		case nil:
		case value.Date:
			is = time.Time(k).Format(time.DateOnly)
		default:
			is = fmt.Sprint(k)
		}
		meets[name] = meets[name] || is == want
	}
	for _, met := range meets {
		if !met {
			return false
		}
	}
	ms, started := r["start_at"].(int64)
	if !p.Since.IsZero() && (!started || ms < p.Since.UnixMilli()) {
		return false
	}
	if !p.Until.IsZero() && (!started || ms >= p.Until.UnixMilli()) {
		return false
	}
	if p.Agent != "" {
		if id, _ := text(r, "agent_id"); id != p.Agent {
			return false
		}
	}
	return true
}

type group struct {
	key   any
	calls []row
}

// groupsOf returns the groups in report order: those of time by time, others by size, largest
// first. The group without a key is last.
func groupsOf(calls []row, p question.Params, loc *time.Location) []*group {
	byKey := map[any]*group{}
	var out []*group
	for _, r := range calls {
		if !selects(r, p, loc) {
			continue
		}
		k := keyOf(r, p.By, loc)
		g := byKey[k]
		if g == nil {
			g = &group{key: k}
			byKey[k] = g
			out = append(out, g)
		}
		g.calls = append(g.calls, r)
	}
	sort.Slice(out, func(i, j int) bool {
		a, b := out[i], out[j]
		if !ofTime(p.By) && len(a.calls) != len(b.calls) {
			return len(a.calls) > len(b.calls)
		}
		return keyLess(a.key, b.key)
	})
	return out
}

func keyLess(a, b any) bool {
	if a == nil || b == nil {
		return b == nil && a != nil
	}
	switch a := a.(type) {
	case pair:
		b := b.(pair)
		if a.first != b.first {
			return keyLess(a.first, b.first)
		}
		return keyLess(a.second, b.second)
	case int64:
		return a < b.(int64)
	case value.Date:
		return time.Time(a).Before(time.Time(b.(value.Date)))
	}
	days := map[string]int{"Monday": 1, "Tuesday": 2, "Wednesday": 3, "Thursday": 4, "Friday": 5, "Saturday": 6, "Sunday": 7}
	if x, y := days[a.(string)], days[b.(string)]; x > 0 && y > 0 {
		return x < y
	}
	return a.(string) < b.(string)
}

// counted splits a group by a column: largest part first, ties by value, no value last among ties.
func counted(g *group, column string) []*group {
	parts := groupsOf(g.calls, question.Params{By: column}, time.UTC)
	return parts
}

func oracle(report string, d analyticstest.Data, p question.Params, loc *time.Location) [][]any {
	var out [][]any
	switch report {
	case "search":
		return searched(d.Calls, byCall(d.Turns), p, loc)
	case "calls":
		return callsOf(groupsOf(d.Calls, p, loc), p)
	case "campaigns":
		return campaignsOf(d, p, loc)
	case "changes":
		return changesOf(d, p, loc)
	}
	params := p
	if report == "anomalies" && !p.Since.IsZero() { // anomalies also reads the days before
		params.Since = p.Since.In(loc).AddDate(0, 0, -120)
	}
	groups := groupsOf(d.Calls, params, loc)
	if report == "anomalies" {
		out, _ = anomaliesOf(groups, p, loc)
	} else {
		out = linesOf(report, groups, d, p, loc)
	}
	for i, line := range out {
		if k, two := line[0].(pair); two {
			out[i] = append([]any{k.first, k.second}, line[1:]...)
		} else if p.By == "" {
			out[i] = line[1:]
		}
	}
	return out
}

func linesOf(report string, groups []*group, d analyticstest.Data, p question.Params, loc *time.Location) (out [][]any) {
	turns, items := byCall(d.Turns), byCall(d.Items)
	aim := aimOf(items, p)
	if report == "flows" {
		for _, g := range groups {
			g.calls = slices.DeleteFunc(g.calls, func(c row) bool { return !walksGraph(c, d, turns) })
		}
	}
	sortGroups(groups, report, p, turns, items)
	var selected []row
	for _, g := range groups {
		selected = append(selected, g.calls...)
	}
	judged := 0
	for _, g := range groups {
		if report == "versions" {
			_, n := versionsOf(groups, g, aim, 0, loc)
			judged += n
		}
	}
	for _, g := range groups {
		switch report {
		case "sentiment":
			out = append(out, sentimentOf(g))
		case "disconnections":
			out = append(out, disconnectionsOf(g)...)
		case "durations":
			if p.Steps {
				out = append(out, stepsOf(g)...)
			} else {
				out = append(out, durationsOf(g))
			}
		case "costs":
			out = append(out, unitsOf(g, aim)...)
		case "volume":
			out = append(out, volumeOf(g, selected, d, p, loc)...)
		case "funnel":
			out = append(out, funnelOf(g)...)
		case "callers":
			if line := callersOf(g, d); line != nil {
				out = append(out, line)
			}
		case "early":
			out = append(out, earlyOf(g, turns))
		case "transfers":
			out = append(out, transfersOf(g, turns)...)
		case "concurrency":
			out = append(out, concurrencyOf(g, p.Every, loc)...)
		case "outcomes":
			out = append(out, outcomesOf(g)...)
		case "agents":
			out = append(out, agentsOf(g, aim, mainUnit(selected))...)
		case "versions":
			lines, _ := versionsOf(groups, g, aim, judged, loc)
			out = append(out, lines...)
		case "coverage":
			out = append(out, factsOf(g)...)
		case "conversation":
			if line := conversationOf(g, turns); line != nil {
				out = append(out, line)
			}
		case "tools":
			out = append(out, toolsOf(g, turns)...)
		case "worst":
			out = append(out, worstOf(g, turns)...)
		case "success":
			out = append(out, successOf(g, items, p, mainUnit(withField(selected, items, p)))...)
		case "extracted":
			out = append(out, extractedOf(g, items)...)
		case "scorecards":
			out = append(out, scorecardsOf(g)...)
		case "flows":
			out = append(out, flowsOf(g, d, turns)...)
		}
	}
	if report == "coverage" && p.By == "" {
		out = append(out, lastRunOf(d.Runs)...)
	}
	return out
}

// sortGroups sorts groups whose order is by size, by what the report counts, which is not always calls.
func sortGroups(groups []*group, report string, p question.Params, turns, items map[any][]row) {
	if ofTime(p.By) {
		return
	}
	size := func(g *group) (n int) {
		for _, c := range g.calls {
			switch report {
			case "conversation":
				if conversationOf(&group{calls: []row{c}}, turns) != nil {
					n++
				}
			case "tools":
				n += len(usesOf(turns[c["call_id"]]))
			case "worst":
				n += len(marked(&group{calls: []row{c}}, turns))
			case "success":
				for _, line := range successOf(&group{calls: []row{c}}, items, p, nil) {
					n += int(line[3].(int64))
				}
			case "extracted":
				n += len(items[c["call_id"]])
			case "scorecards":
				found, _ := findingsOf(&group{calls: []row{c}})
				n += len(found)
			case "callers":
				if contact(c) {
					n++
				}
			case "concurrency":
				if c["start_at"] != nil && c["duration_ms"] != nil {
					n++
				}
			case "early", "transfers":
				if answered(c) {
					n++
				}
			case "versions":
				if aimOf(items, p).of(c) {
					n++
				}
			default:
				if _, timed := c["duration_ms"].(int64); timed || !p.Steps {
					n++
				}
			}
		}
		return n
	}
	sort.SliceStable(groups, func(i, j int) bool {
		if a, b := size(groups[i]), size(groups[j]); a != b {
			return a > b
		}
		return keyLess(groups[i].key, groups[j].key)
	})
}

func ofTime(by string) bool {
	if first, second, two := strings.Cut(by, ","); two {
		return ofTime(first) || ofTime(second)
	}
	return map[string]bool{"day": true, "week": true, "month": true, "hour": true, "weekday": true}[by]
}

func percentOf(part, whole int) float64 { return 100 * float64(part) / float64(whole) }

func sentimentOf(g *group) []any {
	n, reached, words := map[any]int{}, 0, map[string]bool{}
	for _, r := range g.calls {
		word := r["user_sentiment"]
		switch {
		case rated(r):
			reached++
			n[word]++
			if word != "negative" && word != "neutral" && word != "positive" {
				words[word.(string)] = true
			}
		case linked(r) != "no" && !reasonIs(r, "voicemail_reached"):
			reached++
		}
	}
	all := count(g.calls, rated)
	other := all - n["negative"] - n["neutral"] - n["positive"]
	var remarks []string
	if all < 20 || 2*all < reached {
		remarks = []string{map[bool]string{true: "none rated", false: "few rated"}[all == 0]}
	}
	if len(words) > 0 {
		remarks = append(remarks, "other: "+strings.Join(slices.Sorted(maps.Keys(words)), ", "))
	}
	line := []any{g.key, int64(len(g.calls)), share(n["negative"], all), share(n["neutral"], all), share(n["positive"], all),
		share(reached-all, reached), strings.Join(remarks, ", "), int64(all), int64(reached), int64(n["negative"]), int64(n["neutral"]),
		int64(n["positive"]), int64(other), share(other, all)}
	if line[6] == "" {
		line[6] = nil
	}
	for _, word := range []string{"negative", "neutral", "positive"} {
		low, high := wilson(n[word], all)
		line = append(line, low, high)
	}
	return line
}

func disconnectionsOf(g *group) (out [][]any) {
	for _, part := range counted(g, "disconnection_reason") {
		n, up := len(part.calls), 0
		for _, r := range part.calls {
			if connected(r) {
				up++
			}
		}
		out = append(out, []any{g.key, part.key, int64(n), percentOf(n, len(g.calls)), int64(up), percentOf(up, n)})
	}
	return out
}

func durationsOf(g *group) []any {
	var all, up []int64
	var total, talk, handled int64
	for _, r := range g.calls {
		ms, ok := r["duration_ms"].(int64)
		if !ok {
			continue
		}
		all = append(all, ms)
		total += ms
		if connected(r) {
			up = append(up, ms)
			if !reasonIs(r, "voicemail_reached") {
				talk += ms
				handled++
			}
		}
	}
	n := int64(len(all))
	if n == 0 {
		return []any{g.key, int64(len(g.calls)), nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, int64(0), int64(0), int64(0), nil}
	}
	sort.Slice(all, func(i, j int) bool { return all[i] < all[j] })
	return []any{g.key, int64(len(g.calls)), mean(total, n), rank(all, 50), rank(all, 90), rank(all, 95), rank(all, 99), all[n-1],
		rank(up, 50), rank(up, 90), rank(up, 95), rank(up, 99), mean(talk, handled), n, int64(len(up)), handled, total}
}

// mean rounds halves away from zero.
func mean(total, n int64) any {
	if n == 0 {
		return nil
	}
	return int64(math.Round(float64(total) / float64(n)))
}

func stepsOf(g *group) (out [][]any) {
	steps, up := map[int64]int{}, map[int64]int{}
	timed := 0
	for _, r := range g.calls {
		ms, ok := r["duration_ms"].(int64)
		if !ok {
			continue
		}
		timed++
		steps[ms-ms%5000]++
		if connected(r) {
			up[ms-ms%5000]++
		}
	}
	soFar := 0
	for _, from := range slices.Sorted(maps.Keys(steps)) {
		soFar += steps[from]
		out = append(out, []any{g.key, from, int64(steps[from]), percentOf(steps[from], timed), percentOf(soFar, timed), int64(up[from])})
	}
	return out
}
