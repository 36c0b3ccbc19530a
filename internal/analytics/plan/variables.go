package plan

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"callhouse/internal/analytics/localtime"
	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/stored"
)

// variables returns the statements that set what a report over selected calls reads besides its
// relations.
func (p *Planner) variables(q question.Question) string {
	judged, _ := p.wholeDays(q.Params)
	q.Since = p.historyOf(q)
	from, until := p.wholeDays(q.Params)
	field, wanted := "NULL", "NULL"
	if name, v, ok := strings.Cut(q.Field, "="); ok {
		field, wanted = stored.Quote(name), stored.Quote(v)
	}
	natural := slices.ContainsFunc(q.Keys, func(d question.Dimension) bool { return d.Natural })
	return couldHave(q.Keys) +
		set("field_name", "CAST("+field+" AS VARCHAR)") + set("field_value", "CAST("+wanted+" AS VARCHAR)") +
		set("every", stored.Quote(cmp.Or(q.Every, "day"))) + set("skip", q.Skip) +
		set("most", fmt.Sprintf("CAST(nullif(%d, 0) AS BIGINT)", max(q.Most, 0))) +
		set("largest_first", !natural) + set("grouped", q.By != "") + set("whole_from", from) + set("whole_until", until) +
		set("judged_from", judged) + set("listed_until", p.listedUntil()) + set("goals", goals(q))
}

// arguments returns the statements that set the variables of a report with arguments.
func arguments(q question.Question) string {
	words := make([]string, len(q.Words))
	for i, w := range q.Words {
		words[i] = stored.Quote(w)
	}
	var start string
	if q.Call != "" {
		at := "(SELECT start_at FROM calls WHERE call_id = " + stored.Quote(q.Call) + ")"
		if !q.CallStart.IsZero() {
			at = localtime.Instant(q.CallStart)
		}
		start = set("call_start_at", at)
	}
	return start + set("call_id", stored.Quote(q.Call)) + set("words", "CAST(["+strings.Join(words, ", ")+"] AS VARCHAR[])") +
		set("longest_word", stored.Quote(anyCase(q.Words)))
}

func set(name string, to any) string { return fmt.Sprintf("SET VARIABLE %s = %v;\n", name, to) }

// couldHave returns the statement that creates the macro could_have for the groups.
func couldHave(keys []question.Dimension) string {
	condition := "true"
	for i, d := range keys {
		if d.OnDay != "" {
			condition += " AND " + keyColumn(keys, i) + " = " + d.OnDay
		}
	}
	return "CREATE OR REPLACE TEMP MACRO could_have(key, day) AS " + condition + ";\n"
}

// anyCase returns a pattern for the longest of the words in any case. Patterns and lower() agree on
// case, except for the dotted capital I of Turkish, whose small letter is i.
func anyCase(words []string) string {
	var longest string
	for _, w := range words {
		if len(w) > len(longest) {
			longest = w
		}
	}
	return strings.NewReplacer("i", "[iİ]", "I", "[iİ]", "İ", "[iİ]").Replace(regexp.QuoteMeta(longest))
}

// wholeDays returns, as SQL literals, the first local day that is selected completely, and the day
// after the last one that is also listed completely; NULL: no bound.
func (p *Planner) wholeDays(of question.Params) (from, until string) {
	from, until = "CAST(NULL AS DATE)", "CAST(NULL AS DATE)"
	day := func(t time.Time, after bool) string {
		y, m, d := t.In(p.loc).Date()
		if midnight := time.Date(y, m, d, 0, 0, 0, 0, p.loc); after && t.After(midnight) {
			d++
		}
		return date(time.Date(y, m, d, 0, 0, 0, 0, time.UTC))
	}
	if !of.Since.IsZero() {
		from = day(of.Since, true)
	}
	end := of.Until
	if to := p.snap.Manifest.ListedTo(); !to.IsZero() && (end.IsZero() || to.Before(end)) {
		end = to
	}
	// An end beyond the range of DATE is no bound.
	if y := end.Year(); !end.IsZero() && y > 0 && y < 10_000 {
		until = day(end, false)
	}
	return from, until
}

// date returns a day as an SQL literal.
func date(day time.Time) string { return "DATE " + stored.Quote(day.Format(time.DateOnly)) }

// listedUntil returns the time, in ms, up to which all started calls are known: the end of the
// listed range or, if nothing was listed, the last call.
func (p *Planner) listedUntil() int64 {
	if to := p.snap.Manifest.ListedTo(); !to.IsZero() {
		return to.UnixMilli()
	}
	_, last := p.snap.Manifest.Starts()
	return last
}

// goals returns, as an SQL literal, the outcomes that count as success, by agent.
func goals(q question.Question) string {
	of := map[string][]string{}
	var ids, entries []string
	for _, g := range q.Goals {
		if of[g.Agent] == nil {
			ids = append(ids, g.Agent)
		}
		of[g.Agent] = append(of[g.Agent], stored.Quote(g.Outcome))
	}
	for _, id := range ids {
		entries = append(entries, stored.Quote(id)+": ["+strings.Join(of[id], ", ")+"]")
	}
	return "CAST(MAP {" + strings.Join(entries, ", ") + "} AS MAP(VARCHAR, VARCHAR[]))"
}
