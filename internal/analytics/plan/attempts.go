package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"callhouse/internal/analytics/localtime"
	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/stored"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

const halfDay = 12 * time.Hour

// span is a period of time.
type span struct{ from, until time.Time }

// attempts returns the relations tallied_attempts and edge_attempts, as part of a WITH list, and the
// condition on the calls to read. Tallies replace the calls of weeks that begin in their month. Edges
// replace those of the rest of a week that began in the previous month, those before it, which are
// not selected, and those of large days.
func (p *Planner) attempts(q question.Question) (with []string, others string) {
	tallies, _, _ := p.tallyFiles(&schema.AttemptTallies, q, asksAll(q))
	edges, edged, _ := p.tallyFiles(&schema.AttemptEdges, q, asksAll(q))
	tallies, edges = alsoIn(tallies, edges), alsoIn(edges, tallies)
	starts, replaced := []string{"NULL"}, edged.days
	var weeks, going []span
	for _, f := range tallies {
		own, month := p.weeksIn(f.Period)
		for _, w := range own {
			starts = append(starts, localtime.Instant(w.from))
			if w.until.Equal(month.until) {
				going = append(going, w)
			}
		}
		weeks = append(weeks, own...)
		replaced = append(append(replaced, own...),
			span{month.from, month.from.AddDate(0, 0, 7)}, span{month.until.AddDate(0, 0, -7), month.until})
	}
	selected, before := startsIn(weeks, "start_at"), startsIn(going, "start_at")
	with = []string{
		fmt.Sprintf("tallied_attempts AS NOT MATERIALIZED (SELECT NULL AS key, * FROM (%s) WHERE week_start_at IN (%s))",
			stored.Relation(p.snap, tallies, &schema.AttemptTallies, false), strings.Join(starts, ", ")),
		fmt.Sprintf("edge_attempts AS NOT MATERIALIZED (SELECT NULL AS key, NOT (%s) AS is_selected, * FROM (%s) WHERE NOT (%s) OR (%s))",
			selected, stored.Relation(p.snap, edges, &schema.AttemptEdges, false), selected, before),
	}
	return with, p.monthsWithin(replaced).without("start_at") + " AND NOT (" + startsIn(replaced, "start_at") + ")"
}

// monthsWithin returns the months all of whose calls start in the spans. Without them, their files
// need not be opened.
func (p *Planner) monthsWithin(spans []span) (out periods) {
	within, spans := map[string]bool{}, merged(spans)
	for _, f := range p.snap.Manifest.FilesOf(schema.Calls.Name) {
		month := stored.Quote(f.Period[:len("2026-10")])
		all, known := within[month]
		within[month] = (all || !known) && f.MinStart != nil && slices.ContainsFunc(spans, func(s span) bool {
			return !time.UnixMilli(*f.MinStart).Before(s.from) && time.UnixMilli(*f.MaxStart).Before(s.until)
		})
	}
	for month, all := range within {
		if all {
			out.months = append(out.months, month)
		}
	}
	slices.Sort(out.months)
	return out
}

// alsoIn returns the files of days, and those of months that others have as well. Damaged files may
// be left out.
func alsoIn(files, others []*layout.File) (out []*layout.File) {
	for _, f := range files {
		if !schema.IsMonth(f.Period) || slices.ContainsFunc(others, func(o *layout.File) bool { return o.Period == f.Period }) {
			out = append(out, f)
		}
	}
	return out
}

// startsIn returns the condition that a call, whose start is in column, starts in one of the spans.
func startsIn(spans []span, column string) string {
	terms := []string{"false"}
	for _, s := range merged(spans) {
		terms = append(terms, fmt.Sprintf("%[1]s >= %[2]s AND %[1]s < %[3]s", column, localtime.Instant(s.from), localtime.Instant(s.until)))
	}
	return strings.Join(terms, " OR ")
}

// merged returns spans sorted, with those that touch joined.
func merged(spans []span) (out []span) {
	slices.SortFunc(spans, func(a, b span) int { return a.from.Compare(b.from) })
	for _, s := range spans {
		if last := len(out) - 1; last < 0 || s.from.After(out[last].until) {
			out = append(out, s)
		} else if s.until.After(out[last].until) {
			out[last].until = s.until
		}
	}
	return out
}

// weeksIn returns a UTC month, and the local weeks that begin in it and are tallied: those for which
// the zone's offset is constant from half a day before the week to half a day after it, so that the
// week is one interval. No zone was set back by more since 1970. The last one ends with the month.
func (p *Planner) weeksIn(period string) (out []span, month span) {
	begin, err := time.Parse("2006-01", period)
	if err != nil {
		return nil, span{}
	}
	end := begin.AddDate(0, 1, 0)
	y, m, d := begin.In(p.loc).Date()
	d -= (int(begin.In(p.loc).Weekday()) + 6) % 7 // back to Monday
	for monday := func(i int) time.Time { return time.Date(y, m, d+7*i, 0, 0, 0, 0, p.loc) }; monday(0).Before(end); d += 7 {
		w := span{monday(0), monday(1)}
		if w.until.After(end) {
			w.until = end
		}
		_, seconds := w.from.Zone()
		_, changes := w.from.Add(-halfDay).ZoneBounds()
		if !w.from.Before(begin) && w.from.Hour() == 0 && slices.Contains(schema.AttemptOffsets, seconds/60) && seconds%60 == 0 &&
			(changes.IsZero() || changes.After(w.until.Add(halfDay))) {
			out = append(out, w)
		}
	}
	return out, span{begin, end}
}
