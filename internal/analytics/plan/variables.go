package plan

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/sqltext"
	"callhouse/internal/layout"
)

// values replaces the parameters of a report's SQL, such as $every, by literals.
func (p *Planner) values(q question.Question) *strings.Replacer {
	judged, _ := p.wholeDays(q.Params)
	from, until := p.wholeDays(p.withHistory(q).Params)
	words := make([]string, len(q.Words))
	longest := ""
	for i, w := range q.Words {
		w = norm.NFC.String(w)
		words[i] = sqltext.Quote(w)
		if len(w) > len(longest) {
			longest = w
		}
	}
	baseline := "CAST(NULL AS VARCHAR)"
	if q.Baseline != "" {
		baseline = sqltext.Quote(q.Baseline)
	}
	ended := q.Until
	if to := p.snap.Manifest.ListedTo(); !to.IsZero() && (ended.IsZero() || to.Before(ended)) {
		ended = to
	}
	first, _ := p.snap.Manifest.Starts()
	name, wanted := field(q)
	return strings.NewReplacer(
		"$known_from", strconv.FormatInt(first, 10),
		"$every", sqltext.Quote(cmp.Or(q.Every, "day")),
		"$most", fmt.Sprintf("CAST(nullif(%d, 0) AS BIGINT)", max(q.Limit, 0)), "$skip", strconv.FormatInt(q.Skip, 10),
		"$grouped", strconv.FormatBool(q.By != ""), "$largest_first", strconv.FormatBool(!natural(q)), "$possible", possible(q.Keys),
		"$field_name", name, "$field_value", wanted, "$goals", goals(q),
		"$archive", sqltext.Quote(layout.ArchivePlace(p.snap.Manifest.Archive)),
		"$judged_from", judged, "$whole_from", from, "$whole_until", until, "$listed_until", strconv.FormatInt(p.listedUntil(), 10),
		"$call_id", sqltext.Quote(q.Call), "$call_start_at", instant(q.CallStart),
		"$selected_since", instant(q.Since), "$selected_until", instant(q.Until), "$period_until", instant(ended),
		"$baseline", baseline,
		"$answers", strconv.Itoa(max(q.Strict.Answers, 1)),
		"$words", "CAST(["+strings.Join(words, ", ")+"] AS VARCHAR[])", "$longest_word", sqltext.Quote(anyForm(longest)))
}

// instant returns a time as an SQL literal; NULL for none, or beyond the range of timestamps.
func instant(t time.Time) string {
	if y := t.UTC().Year(); t.IsZero() || y < 1 || y > 9999 {
		return "CAST(NULL AS TIMESTAMPTZ)"
	}
	return sqltext.Instant(t)
}

// natural reports whether the groups have an order of their own.
func natural(q question.Question) bool {
	return slices.ContainsFunc(q.Keys, func(d question.Dimension) bool { return d.Natural })
}

// field returns the name and the value of Params.Field as SQL literals; null without one.
func field(q question.Question) (name, wanted string) {
	if name, wanted, ok := strings.Cut(q.Field, "="); ok {
		return sqltext.Quote(name), sqltext.Quote(wanted)
	}
	return "CAST(NULL AS VARCHAR)", "CAST(NULL AS VARCHAR)"
}

// possible returns the condition that a group, by key, can have calls that start on a day.
func possible(keys []question.Dimension) string {
	condition := "true"
	for i, d := range keys {
		if d.OnDay != "" {
			condition += " AND " + keyColumn(keys, i) + " = " + d.OnDay
		}
	}
	return condition
}

// anyForm returns a pattern for a word in any case, and with its letters composed or apart (macOS writes
// file names apart). It may match more. Patterns and lower() agree on case, except for the dotted
// capital I of Turkish, whose small letter is i.
func anyForm(word string) string {
	var out strings.Builder
	for _, r := range word {
		apart, letter := []rune(norm.NFD.String(string(r))), regexp.QuoteMeta(string(r))
		switch {
		case strings.ContainsRune("iIİ", r):
			letter = `[iİ]\x{307}?`
		case len(apart) == 1:
		case unicode.Is(unicode.Hangul, r):
			letter = "(?:" + letter + "|" + string(apart) + "|" + norm.NFC.String(string(apart[:2])) + string(apart[2:]) + ")"
		case len(apart) == 2:
			letter = "(?:" + letter + "|" + regexp.QuoteMeta(string(apart[0])) + `\pM+)`
		default: // a part of the marks may be composed
			letter = "(?:" + letter + `|.\pM+)`
		}
		out.WriteString(letter)
	}
	return out.String()
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
func date(day time.Time) string { return "DATE " + sqltext.Quote(day.Format(time.DateOnly)) }

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
		of[g.Agent] = append(of[g.Agent], sqltext.Quote(g.Outcome))
	}
	for _, id := range ids {
		entries = append(entries, sqltext.Quote(id)+": ["+strings.Join(of[id], ", ")+"]")
	}
	return "CAST(MAP {" + strings.Join(entries, ", ") + "} AS MAP(VARCHAR, VARCHAR[]))"
}
