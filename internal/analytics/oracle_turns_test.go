package analytics_test

import (
	"math/big"
	"slices"
	"sort"
	"strings"
	"time"

	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/value"
)

// rank returns a percentile of the values: the smallest that at least p % do not exceed; nil for too few values.
func rank(values []int64, p int) any {
	if n := len(values); n == 0 || p == 99 && n < 100 || p > 50 && p < 99 && n < 20 {
		return nil
	}
	sort.Slice(values, func(i, j int) bool { return values[i] < values[j] })
	return values[(len(values)*p+99)/100-1]
}

func byCall(rows []row) map[any][]row {
	out := map[any][]row{}
	for _, r := range rows {
		out[r["call_id"]] = append(out[r["call_id"]], r)
	}
	return out
}

// conversationOf walks through the turns of each call, one call at a time.
func conversationOf(g *group, turns map[any][]row) []any {
	var calls, spoken, interrupted, byCaller, byAgent int
	var total, agent int64
	var latencies, silences []int64
	for _, c := range g.calls {
		until := map[string]int64{}
		var last string
		var lastEnd, longest int64
		var n, barged int
		hasSilence := false
		for _, t := range turns[c["call_id"]] {
			role, _ := t["role"].(string)
			begin, ok1 := t["start_at"].(int64)
			end, ok2 := t["end_at"].(int64)
			if role != "agent" && role != "user" || !ok1 || !ok2 {
				continue
			}
			n++
			total += end - begin
			other := "agent"
			if role == "agent" {
				agent += end - begin
				other = "user"
				if last == "user" && begin >= lastEnd {
					latencies = append(latencies, begin-lastEnd)
				}
			}
			if e, ok := until[other]; ok && begin < e {
				if role == "user" {
					byCaller++
					barged++
				} else {
					byAgent++
				}
			}
			if n > 1 {
				latest := int64(-1 << 62)
				for _, e := range until {
					latest = max(latest, e)
				}
				longest, hasSilence = max(longest, begin-latest), true
			}
			if e, ok := until[role]; !ok || end > e {
				until[role] = end
			}
			last, lastEnd = role, end
		}
		if n == 0 {
			continue
		}
		calls++
		spoken += n
		if barged > 0 {
			interrupted++
		}
		if hasSilence {
			silences = append(silences, longest)
		}
	}
	if calls == 0 {
		return nil
	}
	line := []any{g.key, int64(calls), float64(spoken) / float64(calls), nil, rank(latencies, 50), rank(latencies, 95), percentOf(interrupted, calls),
		int64(byCaller), int64(byAgent), rank(silences, 50), rank(silences, 100), int64(len(latencies))}
	if total != 0 {
		line[3] = 100 * float64(agent) / float64(total)
	}
	return line
}

// use is a tool call.
type use struct {
	call, tool, id     any
	turn, resultTurn   int64
	invoked, answered  bool
	content            any
	startedAt, endedAt any
}

// usesOf pairs the n-th invocation of an id with its n-th result.
func usesOf(turns []row) []*use {
	var out []*use
	waiting := map[string][2][]*use{} // by id: uses without a result, and without an invocation
	for _, t := range turns {
		role := t["role"]
		if role != "tool_call_invocation" && role != "tool_call_result" {
			continue
		}
		result := role == "tool_call_result"
		mine, other := 0, 1
		if result {
			mine, other = 1, 0
		}
		var u *use
		id, named := t["tool_call_id"].(string)
		w := waiting[id]
		if named && len(w[other]) > 0 {
			u = w[other][0]
			w[other] = w[other][1:]
		} else {
			u = &use{call: t["call_id"], id: t["tool_call_id"]}
			out = append(out, u)
			w[mine] = append(w[mine], u)
		}
		if named {
			waiting[id] = w
		}
		if result {
			u.answered, u.resultTurn, u.content = true, t["turn"].(int64), t["content"]
			if u.endedAt = t["end_at"]; u.endedAt == nil {
				u.endedAt = t["start_at"]
			}
		} else {
			u.invoked, u.turn, u.tool, u.startedAt = true, t["turn"].(int64), t["tool_name"], t["start_at"]
		}
	}
	return out
}

// pause returns the gap in the speech around a tool call.
func (u *use) pause(turns []row) any {
	first, last := u.turn, u.resultTurn
	if !u.invoked {
		first = last
	}
	if !u.answered {
		last = first
	}
	first, last = min(first, last), max(first, last)
	var before, after *int64
	for _, t := range turns {
		if t["role"] != "agent" && t["role"] != "user" {
			continue
		}
		if end, ok := t["end_at"].(int64); ok && t["turn"].(int64) < first && (before == nil || end > *before) {
			before = &end
		}
		if begin, ok := t["start_at"].(int64); ok && t["turn"].(int64) > last && (after == nil || begin < *after) {
			after = &begin
		}
	}
	if before == nil || after == nil {
		return nil
	}
	return max(*after-*before, 0)
}

func failed(content any) bool {
	for _, a := range answers {
		if a.content == content {
			return a.failed
		}
	}
	panic("an answer that is not in the list")
}

func toolsOf(g *group, turns map[any][]row) (out [][]any) {
	type tool struct {
		uses, failed, answered int
		calls                  map[any]bool
		pauses, durations      []int64
	}
	tools := map[any]*tool{}
	all := 0
	for _, c := range g.calls {
		for _, u := range usesOf(turns[c["call_id"]]) {
			t := tools[u.tool]
			if t == nil {
				t = &tool{calls: map[any]bool{}}
				tools[u.tool] = t
			}
			all++
			t.uses++
			t.calls[u.call] = true
			if u.answered {
				t.answered++
				if failed(u.content) {
					t.failed++
				}
			}
			if ms, ok := u.pause(turns[c["call_id"]]).(int64); ok {
				t.pauses = append(t.pauses, ms)
			}
			if from, ok := u.startedAt.(int64); ok && u.endedAt != nil {
				t.durations = append(t.durations, max(u.endedAt.(int64)-from, 0))
			}
		}
	}
	for name, t := range tools {
		out = append(out, []any{g.key, name, int64(t.uses), percentOf(t.uses, all), int64(len(t.calls)), int64(t.failed), share(t.failed, t.answered),
			int64(t.uses - t.answered), rank(t.pauses, 50), rank(t.pauses, 95), rank(t.durations, 50)})
	}
	sort.Slice(out, func(i, j int) bool {
		if a, b := out[i][2].(int64), out[j][2].(int64); a != b {
			return a > b
		}
		return keyLess(out[i][1], out[j][1])
	})
	return out
}

// itemGroups groups items as groupsOf groups calls.
func itemGroups(g *group, column string) []*group { return counted(g, column) }

func extractedOf(g *group, items map[any][]row) (out [][]any) {
	all := &group{}
	for _, c := range g.calls {
		all.calls = append(all.calls, items[c["call_id"]]...)
	}
	var fields []*group
	names := map[*group][2]any{}
	for _, n := range itemGroups(all, "name") {
		for _, t := range itemGroups(n, "type") {
			fields = append(fields, t)
			names[t] = [2]any{n.key, t.key}
		}
	}
	sort.SliceStable(fields, func(i, j int) bool {
		a, b := fields[i], fields[j]
		if len(a.calls) != len(b.calls) {
			return len(a.calls) > len(b.calls)
		}
		if x, y := names[a][0], names[b][0]; x != y {
			return keyLess(x, y)
		}
		return keyLess(names[a][1], names[b][1])
	})
	for _, f := range fields {
		numbers, others, stats := numbersOf(f)
		if n := len(numbers.calls); n > 0 {
			values := int64(len(itemGroups(numbers, "text")))
			out = append(out, append([]any{g.key, names[f][0], names[f][1], nil, values, int64(n), percentOf(n, len(f.calls))}, stats...))
		}
		values := itemGroups(others, "text")
		rare := 0
		for i, v := range values {
			if i >= 10 && len(values) > 11 {
				rare += len(v.calls)
				continue
			}
			out = append(out, []any{g.key, names[f][0], names[f][1], v.key, int64(1), int64(len(v.calls)), percentOf(len(v.calls), len(f.calls)),
				nil, nil, nil, nil, nil, nil, nil, nil})
		}
		if rare > 0 {
			out = append(out, []any{g.key, names[f][0], names[f][1], nil, int64(len(values) - 10), int64(rare), percentOf(rare, len(f.calls)),
				nil, nil, nil, nil, nil, nil, nil, nil})
		}
	}
	return out
}

// numbersOf separates the numbers of a field from its other values, and computes their sum, mean and
// percentiles as fractions.
func numbersOf(field *group) (numbers, others *group, stats []any) {
	numbers, others, stats = &group{}, &group{}, make([]any, 8)
	var found []*big.Rat
	total := new(big.Rat)
	for _, i := range field.calls {
		raw, _ := text(i, "value")
		t, _ := text(i, "text")
		v, ok := new(big.Rat).SetString(t)
		whole, behind, _ := strings.Cut(t, ".")
		isNumber := raw != "" && strings.ContainsAny(raw[:1], "-0123456789") || i["type"] == "number"
		if !isNumber || !ok || len(whole) > 13 || len(behind) > 18 {
			others.calls = append(others.calls, i)
			continue
		}
		numbers.calls = append(numbers.calls, i)
		found = append(found, v)
		total.Add(total, v)
	}
	if n := len(found); n > 0 {
		slices.SortFunc(found, (*big.Rat).Cmp)
		stats[0], stats[1] = decimalOf(total), new(big.Rat).Quo(total, big.NewRat(int64(n), 1)).FloatString(4)
		for i, at := range []int{0, (n*50 + 99) / 100, (n*90 + 99) / 100, (n*95 + 99) / 100, (n*99 + 99) / 100, n} {
			if i > 1 && i < 5 && n < 20 || i == 4 && n < 100 { // too few for p90, p95, p99
				continue
			}
			stats[2+i] = decimalOf(found[max(at, 1)-1])
		}
	}
	return numbers, others, stats
}

// decimalOf formats a fraction like a column of 18 decimals.
func decimalOf(v *big.Rat) string {
	units, _ := new(big.Int).SetString(strings.Replace(v.FloatString(18), ".", "", 1), 10)
	return value.Decimal{Units: units, Scale: 18}.String()
}

// searched returns what the report search finds.
func searched(calls []row, turns map[any][]row, p question.Params, loc *time.Location) (out [][]any) {
	has := func(t row) bool {
		s, ok := t["content"].(string)
		for _, w := range p.Words {
			ok = ok && strings.Contains(strings.ToLower(s), strings.ToLower(w))
		}
		return ok
	}
	var chosen []row
	for _, c := range calls {
		if selects(c, p, loc) {
			chosen = append(chosen, c)
		}
	}
	sort.SliceStable(chosen, func(i, j int) bool {
		a, b := chosen[i]["start_at"], chosen[j]["start_at"]
		if a == nil || b == nil {
			return a != nil && b == nil
		}
		return a.(int64) > b.(int64)
	})
	hits := int64(0)
	for _, c := range chosen {
		var said []row
		var isHit []bool
		for _, t := range turns[c["call_id"]] {
			if t["role"] != "agent" && t["role"] != "user" {
				continue
			}
			found := has(t)
			if found {
				hits++
				found = hits > p.Skip && (p.Limit == 0 || hits <= p.Skip+p.Limit)
			}
			said, isHit = append(said, t), append(isHit, found)
		}
		for i, t := range said {
			if !isHit[i] && (i == 0 || !isHit[i-1]) && (i+1 == len(said) || !isHit[i+1]) {
				continue
			}
			line := []any{c["call_id"], c["start_at"], c["agent_id"], isHit[i], t["role"], orNil(t, "content"), nil, t["turn"]}
			if at, ok := t["start_at"].(int64); ok && c["start_at"] != nil {
				line[6] = at - c["start_at"].(int64)
			}
			out = append(out, line)
		}
	}
	return out
}
