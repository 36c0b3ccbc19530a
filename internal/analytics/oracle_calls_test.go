package analytics_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"sort"
	"strings"
	"time"

	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/value"
)

func reasonIs(r row, reason string) bool { return r["disconnection_reason"] == reason }

func over(r row) bool { return r["settlement"] != "open" }

// talk returns the duration of a connected call.
func talk(r row) (int64, bool) {
	ms, ok := r["duration_ms"].(int64)
	return ms, ok && connected(r)
}

// unitOf returns the unit of a call's cost; nil if there is none.
func unitOf(r row) any {
	if r["total_cost"] != nil {
		return "currency"
	}
	if r["credits_used"] != nil {
		return "credits"
	}
	return nil
}

// inUnit returns the calls with costs in one unit only: total_cost is the amount in it.
func inUnit(calls []row, unit any) (out []row) {
	for _, r := range calls {
		c := maps.Clone(r)
		delete(c, "total_cost")
		switch {
		case unit == nil || unitOf(r) != unit:
		case unit == "credits":
			c["total_cost"] = r["credits_used"]
		default:
			c["total_cost"] = r["total_cost"]
		}
		out = append(out, c)
	}
	return out
}

// mainUnit returns the unit of the most calls.
func mainUnit(calls []row) any {
	currency := count(calls, func(r row) bool { return unitOf(r) == "currency" })
	credits := count(calls, func(r row) bool { return unitOf(r) == "credits" })
	switch {
	case credits > currency:
		return "credits"
	case currency > 0:
		return "currency"
	}
	return nil
}

// unitsOf returns the lines of a group's costs, one for each unit in which it has costs.
func unitsOf(g *group, aim aim) (out [][]any) {
	for _, unit := range []any{"currency", "credits", nil} {
		if unit == nil && len(out) > 0 || unit != nil && count(g.calls, func(r row) bool { return unitOf(r) == unit }) == 0 {
			continue
		}
		one := &group{key: g.key, calls: inUnit(g.calls, unit)}
		line := append(costsOf(one), costOfSuccess(one.calls, aim)...)
		out = append(out, slices.Insert(line, 1, unit))
	}
	return out
}

// units returns the cost in ten-thousandths of the currency.
func units(r row) (*big.Int, bool) {
	s, ok := r["total_cost"].(string)
	if !ok {
		return nil, false
	}
	n, _ := new(big.Int).SetString(strings.Replace(s, ".", "", 1), 10)
	return n, true
}

// money formats ten-thousandths divided by n, rounding halves away from zero.
func money(u *big.Int, n int64) any {
	if n == 0 {
		return nil
	}
	return new(big.Rat).SetFrac(u, big.NewInt(n*10_000)).FloatString(4)
}

func count(calls []row, is func(row) bool) (n int) {
	for _, r := range calls {
		if is(r) {
			n++
		}
	}
	return n
}

// share returns a percentage; null of zero.
func share(part, whole int) any {
	if whole == 0 {
		return nil
	}
	return percentOf(part, whole)
}

func costsOf(g *group) []any {
	all, timed, parsed := new(big.Int), new(big.Int), new(big.Int)
	var costed, completedCalls, ms int64
	var anyParsed bool
	var anyTalk bool
	for _, r := range g.calls {
		u, ok := units(r)
		if !ok {
			continue
		}
		costed++
		all.Add(all, u)
		if completed(r) {
			completedCalls++
		}
		if !person(r) || answered(r) {
			parsed.Add(parsed, u)
			anyParsed = true
		}
		if t, ok := talk(r); ok {
			timed.Add(timed, u)
			ms += t
			anyTalk = true
		}
	}
	line := []any{g.key, int64(len(g.calls)), nil, nil, nil, nil, costed, completedCalls, nil, nil, nil, nil, nil}
	if costed > 0 {
		line[2], line[3] = money(all, 1), money(all, costed)
		line = append(line[:9], wastedOf(g, all)...)
	}
	if anyParsed {
		line[5] = money(parsed, completedCalls)
	}
	if anyTalk {
		line[4], line[8] = money(new(big.Int).Mul(timed, big.NewInt(60_000)), ms), ms
	}
	return line
}

// wastedOf returns the cost of calls without a result, and their share of all costs.
func wastedOf(g *group, all *big.Int) (out []any) {
	wasted := new(big.Int)
	for _, why := range []string{"voicemail", "failed", "silent"} {
		cost, any := new(big.Int), false
		for _, r := range g.calls {
			outcome, _ := outcomeOf(r)
			if outcome != "failed" && answered(r) && heard(r) == "no" {
				outcome = "silent"
			}
			if u, ok := units(r); ok && outcome == why {
				cost.Add(cost, u)
				any = true
			}
		}
		wasted.Add(wasted, cost)
		if out = append(out, nil); any {
			out[len(out)-1] = money(cost, 1)
		}
	}
	if all.Sign() == 0 {
		return append(out, nil)
	}
	percent, _ := new(big.Rat).SetFrac(wasted.Mul(wasted, big.NewInt(100)), all).Float64()
	return append(out, percent)
}

func volumeOf(g *group, selected []row, d analyticstest.Data, p question.Params, loc *time.Location) (out [][]any) {
	wall := func(ms int64) float64 { // hours on the local clock, since a Monday
		_, offset := time.UnixMilli(ms).In(loc).Zone()
		return float64(ms+1000*int64(offset))/3_600_000 + 72
	}
	from, until := math.Inf(1), math.Inf(-1)
	for _, c := range selected {
		if at, ok := c["start_at"].(int64); ok {
			from, until = min(from, math.Floor(wall(at))), max(until, math.Floor(wall(at))+1)
		}
	}
	if !p.Since.IsZero() {
		from = math.Floor(wall(p.Since.UnixMilli()))
	}
	end := int64(1 << 60)
	if d.Coverage != nil {
		end = d.Coverage[len(d.Coverage)-1].To
	}
	if until := p.Until.UnixMilli(); !p.Until.IsZero() && until < end {
		end = until
	}
	if end < 1<<60 {
		until = math.Ceil(wall(end))
	}
	peaks := map[[2]any]int64{}
	for _, line := range concurrencyOf(g, "hour", loc) {
		at := time.UnixMilli(line[1].(int64)).UTC()
		slot := [2]any{at.Weekday().String(), int64(at.Hour())}
		peaks[slot] = max(peaks[slot], line[3].(int64))
	}
	for _, day := range groupsOf(g.calls, question.Params{By: "weekday"}, loc) {
		for _, hour := range groupsOf(day.calls, question.Params{By: "hour"}, loc) {
			n, moved, ms := len(hour.calls), count(hour.calls, func(r row) bool { return outcomeIs(r, "transferred") }), int64(0)
			for _, r := range hour.calls {
				if t, ok := talk(r); ok {
					ms += t
				}
			}
			line := []any{g.key, day.key, hour.key, nil, nil, nil, nil, int64(n), nil, percentOf(n, len(g.calls)), int64(count(hour.calls, connected)), int64(moved), ms}
			if h, ok := hour.key.(int64); ok {
				slot := float64(24*slices.Index(value.Weekdays[:], day.key.(string)) + int(h))
				days := max(1, math.Floor((until-1-slot)/168)-math.Floor((from-1-slot)/168))
				line[3], line[4], line[5] = float64(n)/days, float64(ms)/60_000/days, float64(moved)/days
				line[6], line[8] = peaks[[2]any{day.key, hour.key}], int64(days)
			}
			out = append(out, line)
		}
	}
	return out
}

// said reports whether the caller says anything in a turn.
func said(turn row) bool {
	s, _ := turn["content"].(string)
	return turn["role"] == "user" && strings.TrimSpace(s) != ""
}

// wilson solves |p - hits/n| = z √(p(1-p)/n) for p.
func wilson(hits, n int) (low, high any) { return wilsonAt(hits, n, 1.959963984540054) }

func wilsonAt(hits, n int, z float64) (low, high any) {
	if n == 0 {
		return nil, nil
	}
	p, m := float64(hits)/float64(n), float64(n)
	a, b, c := 1+z*z/m, -(2*p + z*z/m), p*p
	d := math.Sqrt(b*b - 4*a*c)
	l, h := (-b-d)/(2*a), (-b+d)/(2*a)
	if hits == 0 {
		l = 0
	}
	if hits == n {
		h = 1
	}
	return 100 * l, 100 * h
}

// handle returns the mean of the handle times, and their number.
func handle(calls []row) (any, int64) {
	var total, n int64
	for _, r := range calls {
		if ms, ok := talk(r); ok && !reasonIs(r, "voicemail_reached") {
			total += ms
			n++
		}
	}
	return mean(total, n), n
}

func sentimentShare(calls []row, sentiment string) any {
	return share(count(calls, func(r row) bool { return r["user_sentiment"] == sentiment && !reasonIs(r, "voicemail_reached") }), count(calls, rated))
}

func rated(r row) bool { return r["user_sentiment"] != nil && !reasonIs(r, "voicemail_reached") }

// goalsOfAgent are the outcomes that count as success for agents with a goal other than completed calls.
var goalsOfAgent map[any][]string

func agentsOf(g *group, aim aim, unit any) (out [][]any) {
	g = &group{key: g.key, calls: inUnit(g.calls, unit)}
	lows := map[any]any{}
	for _, a := range counted(g, "agent_id") {
		whole := count(a.calls, answered)
		low, _ := wilson(count(a.calls, completed), whole)
		total, costed := new(big.Int), false
		for _, r := range a.calls {
			if u, ok := units(r); ok {
				total.Add(total, u)
				costed = true
			}
		}
		time, handled := handle(a.calls)
		line := []any{g.key, a.key, int64(len(a.calls)), percentOf(count(a.calls, connected), len(a.calls)), int64(whole), share(count(a.calls, completed), whole), low,
			share(count(a.calls, func(r row) bool { return answered(r) && outcomeIs(r, "transferred") }), whole),
			sentimentShare(a.calls, "positive"), sentimentShare(a.calls, "negative"), time, nil,
			unit, int64(count(a.calls, func(r row) bool { return r["total_cost"] != nil })), int64(count(a.calls, rated)), handled}
		aims := goalsOfAgent[a.key]
		if aims == nil {
			aims = []string{"completed"}
		}
		met := slices.DeleteFunc(slices.Clone(a.calls), func(r row) bool { o, _ := outcomeOf(r); return !answered(r) || !slices.Contains(aims, o) })
		lows[a.key], _ = wilson(len(met), whole)
		unhappy, _ := wilson(count(met, func(r row) bool { return r["user_sentiment"] == "negative" }), count(met, rated))
		line = append(line, strings.Join(aims, " or "), share(len(met), whole), lows[a.key], nil)
		if x, ok := unhappy.(float64); ok && x > 50 {
			line[len(line)-1] = "rated negative"
		}
		if aim.isField {
			known, hits := count(a.calls, aim.of), count(a.calls, aim.hit)
			lows[a.key], _ = wilson(hits, known)
			line = append(line, int64(known), share(hits, known), lows[a.key], costOfSuccess(a.calls, aim)[3])
		}
		if costed {
			line[11] = money(total, 1)
		}
		out = append(out, line)
	}
	sort.SliceStable(out, func(i, j int) bool { // ties keep the order of counted: by calls, then by name
		a, b := lows[out[i][1]], lows[out[j][1]]
		if a == nil || b == nil {
			return a != nil
		}
		return a.(float64) > b.(float64)+1e-9
	})
	return out
}

// versionsOf compares the versions and variants of each agent in a group with the one that has the
// most calls in all groups. judged is the number of comparisons in all groups; 0: only count them.
func versionsOf(groups []*group, g *group, aim aim, judged int, loc *time.Location) (out [][]any, compared int) {
	ended := func(g *group) *group {
		of := &group{}
		for _, r := range g.calls {
			if answered(r) || aim.of(r) {
				of.calls = append(of.calls, r)
			}
		}
		return of
	}
	type side struct {
		name [2]any
		*group
	}
	ranked := func(calls *group) (sides []side) {
		for _, v := range counted(calls, "agent_version") {
			for _, l := range counted(v, "variant_label") {
				sides = append(sides, side{[2]any{v.key, l.key}, l})
			}
		}
		sort.Slice(sides, func(i, j int) bool {
			if a, b := count(sides[i].calls, aim.of), count(sides[j].calls, aim.of); a != b {
				return a > b
			}
			if sides[i].name[0] != sides[j].name[0] {
				return keyLess(sides[i].name[0], sides[j].name[0])
			}
			return keyLess(sides[i].name[1], sides[j].name[1])
		})
		return sides
	}
	everything := &group{}
	for _, o := range groups {
		everything.calls = append(everything.calls, ended(o).calls...)
	}
	first := map[any][2]any{}
	for _, a := range counted(everything, "agent_id") {
		first[a.key] = ranked(a)[0].name
	}
	agents := counted(ended(g), "agent_id")
	sort.SliceStable(agents, func(i, j int) bool {
		if a, b := count(agents[i].calls, aim.of), count(agents[j].calls, aim.of); a != b {
			return a > b
		}
		return keyLess(agents[i].key, agents[j].key)
	})
	for _, a := range agents {
		sides, base := ranked(a), &group{}
		if at := slices.IndexFunc(sides, func(s side) bool { return s.name == first[a.key] }); at >= 0 {
			it := sides[at]
			sides, base = slices.Insert(slices.Delete(sides, at, at+1), 0, it), it.group
		}
		for _, s := range sides {
			line, is := sideOf(g.key, a.key, s.name, s.group, base, s.name == first[a.key], aim, quantile(judged), loc)
			out = append(out, line)
			if is {
				compared++
			}
		}
	}
	return out, compared
}

func sideOf(key, agent any, name [2]any, s, base *group, first bool, aim aim, z float64, loc *time.Location) (line []any, compared bool) {
	done := &group{}
	for _, r := range s.calls {
		if answered(r) {
			done.calls = append(done.calls, r)
		}
	}
	hits, n := count(done.calls, completed), len(done.calls)
	low, high := wilson(hits, n)
	rated := count(done.calls, func(r row) bool { return r["user_sentiment"] != nil })
	positive := count(done.calls, func(r row) bool { return r["user_sentiment"] == "positive" })
	plow, phigh := wilson(positive, rated)
	mean, handled := handle(done.calls)
	line = []any{key, agent, name[0], name[1], int64(n), share(hits, n), low, high, "baseline", nil, nil, nil, nil, share(positive, rated), plow, phigh, mean, int64(rated), handled, nil, nil}
	for _, r := range s.calls {
		if day := keyOf(r, "day", loc); day != nil {
			if line[19] == nil || keyLess(day, line[19]) {
				line[19] = day
			}
			if line[20] == nil || keyLess(line[20], day) {
				line[20] = day
			}
		}
	}
	if aim.isField {
		n := count(s.calls, aim.of)
		low, high := wilson(count(s.calls, aim.hit), n)
		line = append(line, int64(n), share(count(s.calls, aim.hit), n), low, high)
	}
	if first {
		return line, false
	}
	line[8] = "unclear"
	types := map[any]bool{}
	for _, r := range append(slices.Clone(s.calls), base.calls...) {
		types[r["call_type"]] = true
	}
	of := func(g *group, kind any, is func(row) bool) float64 {
		return float64(count(g.calls, func(r row) bool { return r["call_type"] == kind && is(r) }))
	}
	var whole float64
	for kind := range types {
		if of(s, kind, aim.of) > 0 {
			whole += of(base, kind, aim.of)
		}
	}
	if mine, theirs := float64(count(s.calls, aim.of)), float64(count(base.calls, aim.of)); mine > 0 && theirs > 0 {
		difference, more, named := -1.0, false, ""
		for kind := range types {
			a, b := 100*of(s, kind, aim.of)/mine, 100*of(base, kind, aim.of)/theirs
			text, _ := kind.(string)
			if d := math.Abs(a - b); d >= 5 && (d > difference+1e-7 || d > difference-1e-7 && (a > b && !more || (a > b) == more && text < named)) {
				difference, more, named = d, a > b, text
				line[10] = fmt.Sprintf("%s %.0f %%, baseline %.0f %%", cmp.Or(text, "(none)"), math.Round(a), math.Round(b))
			}
		}
	}
	if whole == 0 {
		return line, false
	}
	var mine, theirs, below, above float64
	for kind := range types {
		n, x, m, y := of(s, kind, aim.of), of(s, kind, aim.hit), of(base, kind, aim.of), of(base, kind, aim.hit)
		if n == 0 || m == 0 {
			continue
		}
		w := m / whole
		p, q := 100*x/n, 100*y/m
		pLow, pHigh := wilsonAt(int(x), int(n), z)
		qLow, qHigh := wilsonAt(int(y), int(m), z)
		mine, theirs = mine+w*p, theirs+w*q
		below += w * w * (math.Pow(p-pLow.(float64), 2) + math.Pow(q-qHigh.(float64), 2))
		above += w * w * (math.Pow(p-pHigh.(float64), 2) + math.Pow(q-qLow.(float64), 2))
	}
	line[9], line[11], line[12] = mine, mine-theirs-math.Sqrt(below), mine-theirs+math.Sqrt(above)
	if mine-theirs-math.Sqrt(below) > 0 {
		line[8] = "better"
	} else if mine-theirs+math.Sqrt(above) < 0 {
		line[8] = "worse"
	}
	return line, true
}

func factsOf(g *group) (out [][]any) {
	is := func(column, value string) func(row) bool { return func(r row) bool { return r[column] == value } }
	const optOut = "opt_out_sensitive_data_storage"
	due := func(r row, settlement string) bool { return r["settlement"] == settlement && linked(r) != "no" }
	has := func(column string) func(row) bool { return func(r row) bool { return r[column] != nil } }
	for _, f := range []struct {
		fact, state string
		applies     func(row) bool
	}{
		{"listed", "info", func(row) bool { return true }},
		{"without a start", "info", func(r row) bool { return r["start_at"] == nil }},
		{"status or reason not known", "lost", unknownWord},
		{"not over", "waiting", is("settlement", "open")},
		{"settled", "good", is("settlement", "settled")},
		{"analysis to come", "waiting", func(r row) bool { return due(r, "ended") && r["user_sentiment"] == nil && r[optOut] != true }},
		{"analysis given up", "lost", func(r row) bool { return due(r, "expired") && r["user_sentiment"] == nil && r[optOut] != true }},
		{"cost to come", "waiting", func(r row) bool { return due(r, "ended") && unitOf(r) == nil }},
		{"cost given up", "lost", func(r row) bool { return due(r, "expired") && unitOf(r) == nil }},
		{"duration not known", "info", func(r row) bool { return over(r) && r["duration_ms"] == nil }},
		{"transcript there", "good", is("transcript_state", "present")},
		{"nothing to transcribe", "good", func(r row) bool { return r["transcript_state"] == "empty" && r["user_turns"] != nil }},
		{"no transcript asked for", "info", func(r row) bool { return r["transcript_state"] == "empty" && r["user_turns"] == nil }},
		{"transcript to come", "waiting", func(r row) bool { return over(r) && r["transcript_state"] == "pending" }},
		{"opted out of storage", "info", func(r row) bool { return r[optOut] == true }},
		{"transcript gone", "lost", is("transcript_state", "missing")},
		{"sentiment known", "good", has("user_sentiment")},
		{"cost known", "good", func(r row) bool { return unitOf(r) != nil }},
	} {
		if n := count(g.calls, f.applies); n > 0 {
			out = append(out, []any{g.key, f.fact, f.state, int64(n), percentOf(n, len(g.calls)), "selection"})
		}
	}
	return out
}

// lastRunOf returns the facts of the last run.
func lastRunOf(runs []row) (out [][]any) {
	if len(runs) == 0 {
		return nil
	}
	last := runs[len(runs)-1]
	if n := last["calls_set_aside"].(int64); n > 0 {
		out = append(out, []any{nil, "set aside by the last run", "lost", n, nil, "warehouse"})
	}
	return append(out, []any{nil, "counted by the service", "info", last["total_count"], nil, "warehouse"})
}

// callsOf returns the calls themselves, newest first.
func callsOf(groups []*group, p question.Params) (out [][]any) {
	var all []row
	for _, g := range groups {
		all = append(all, g.calls...)
	}
	slices.SortFunc(all, func(a, b row) int {
		x, dated := a["start_at"].(int64)
		y, also := b["start_at"].(int64)
		if dated != also {
			if dated {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(y, x), strings.Compare(a["call_id"].(string), b["call_id"].(string)))
	})
	all = all[min(p.Skip, int64(len(all))):]
	if p.Limit > 0 {
		all = all[:min(p.Limit, int64(len(all)))]
	}
	for _, c := range all {
		o, _ := outcomeOf(c)
		out = append(out, []any{c["call_id"], c["start_at"], c["call_type"], c["agent_id"], c["from_number"], c["to_number"], c["duration_ms"], o,
			c["disconnection_reason"], c["user_sentiment"], c["summary"]})
	}
	return out
}
