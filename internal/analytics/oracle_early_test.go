package analytics_test

import (
	"cmp"
	"slices"
	"sort"
	"time"
)

func earlyOf(g *group, turns map[any][]row) []any {
	hungUp := func(within int64) int {
		return count(g.calls, func(r row) bool {
			ms, timed := r["duration_ms"].(int64)
			return answered(r) && reasonIs(r, "user_hangup") && timed && ms < within
		})
	}
	var words []int64
	for _, c := range g.calls {
		if !answered(c) {
			continue
		}
		first, known := int64(1<<62), false
		for _, t := range turns[c["call_id"]] {
			if ms, ok := t["start_at"].(int64); ok && t["role"] == "agent" {
				first, known = min(first, ms), true
			}
		}
		if from, ok := c["start_at"].(int64); ok && known {
			words = append(words, max(first-from, 0)) // before the start counts as at once
		}
	}
	n, silent := count(g.calls, answered), count(g.calls, func(r row) bool { return answered(r) && heard(r) == "no" })
	return []any{g.key, int64(n), int64(hungUp(5000)), share(hungUp(5000), n), int64(hungUp(10_000)), share(hungUp(10_000), n), int64(silent), share(silent, n),
		rank(words, 50), rank(words, 90), rank(words, 95), int64(len(words))}
}

func transfersOf(g *group, turns map[any][]row) (out [][]any) {
	n := count(g.calls, answered)
	if n == 0 {
		return nil
	}
	all, calls, times := 0, map[any]int{}, map[any][]int64{}
	for _, c := range g.calls {
		if !answered(c) || !outcomeIs(c, "transferred") {
			continue
		}
		all++
		var last any
		for _, t := range turns[c["call_id"]] {
			if name, ok := text(t, "tool_name"); ok && t["role"] == "tool_call_invocation" {
				last = name
			}
		}
		calls[last]++
		if ms, ok := c["duration_ms"].(int64); ok {
			times[last] = append(times[last], ms)
		}
	}
	if all == 0 {
		_, high := wilson(0, n)
		return [][]any{{g.key, nil, int64(0), 0.0, 0.0, high, nil, nil, nil, int64(n)}}
	}
	for tool, k := range calls {
		low, high := wilson(k, n)
		out = append(out, []any{g.key, tool, int64(k), percentOf(k, n), low, high, percentOf(k, all), rank(times[tool], 50), rank(times[tool], 90), int64(n)})
	}
	sort.Slice(out, func(i, j int) bool {
		if a, b := out[i][2].(int64), out[j][2].(int64); a != b {
			return a > b
		}
		return keyLess(out[i][1], out[j][1])
	})
	return out
}

// lasts returns how long a call occupies a line; 0 if it does not.
func lasts(r row) int64 {
	_, started := r["start_at"].(int64)
	if ms, ok := r["duration_ms"].(int64); ok && started {
		return max(ms, 0)
	}
	return 0
}

// concurrencyOf counts the calls in progress at each start of a call and in the last millisecond of each, one by one.
func concurrencyOf(g *group, every string, loc *time.Location) (out [][]any) {
	going := func(at int64) int64 {
		return int64(count(g.calls, func(r row) bool {
			return r["start_at"] != nil && r["start_at"].(int64) <= at && at < r["start_at"].(int64)+lasts(r)
		}))
	}
	steps := map[int64][]any{}
	see := func(at, starts, passes int64) {
		t := time.UnixMilli(at).In(loc)
		hour, minute := t.Hour(), t.Minute()
		if every != "minute" {
			minute = 0
		}
		if every == "" {
			hour = 0
		}
		step := time.Date(t.Year(), t.Month(), t.Day(), hour, minute, 0, 0, time.UTC).UnixMilli()
		s := steps[step]
		if s == nil {
			s = []any{g.key, step, int64(0), int64(0), nil}
			steps[step] = s
		}
		s[2] = s[2].(int64) + starts + passes
		if n := going(at); n > s[3].(int64) {
			begin := at
			for i := 0; starts == 0 && i < 2; i++ { // again after a change of the clocks
				_, offset := time.UnixMilli(begin).In(loc).Zone()
				begin = step - 1000*int64(offset)
			}
			s[3], s[4] = n, begin
		}
	}
	type moment struct{ at, starts, passes int64 }
	var moments []moment
	for _, r := range g.calls {
		_, timed := r["duration_ms"].(int64)
		from, started := r["start_at"].(int64)
		if n := lasts(r); n > 0 {
			moments = append(moments, moment{from, 1, 0}, moment{from + n - 1, 0, 0})
		} else if timed && started { // over at once: it starts, but never overlaps another call
			moments = append(moments, moment{from, 0, 1})
		}
	}
	slices.SortFunc(moments, func(a, b moment) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b.starts, a.starts)) })
	for _, m := range moments {
		see(m.at, m.starts, m.passes)
	}
	for _, s := range steps {
		out = append(out, s)
	}
	sort.Slice(out, func(i, j int) bool { return out[i][1].(int64) < out[j][1].(int64) })
	return out
}
