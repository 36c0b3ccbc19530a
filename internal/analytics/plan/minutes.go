package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/stored"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// lasting is the relation of the calls that a report of simultaneous calls reads one by one. For
// files with tallies, it reads the relation minutes instead, except for the first minutes of a
// month or day, in which calls of the file before may still be going.
const lasting = "lasting"

// stretch is the time from the first start in a file of calls to the first start in the next file.
type stretch struct {
	calls    *layout.File
	tally    *layout.File // MinuteTallies; nil: its calls are read
	from, to int64        // ms, at the start of a minute
	followed int64        // calls are read until then, minutes from then on
	passing  int64        // the earliest start of a call that may last into the next stretch
}

// stretches returns the stretches of the selection in order; nil: read all calls.
func (p *Planner) stretches(q question.Question) (out []stretch) {
	if !slices.Contains(q.Report.Reads, lasting) || !p.rights.Tallied() || !p.inQuarters || !asksAll(q) {
		return nil
	}
	tallies := map[string]*layout.File{}
	for _, f := range p.snap.Manifest.FilesOf(schema.MinuteTallies.Name) {
		tallies[f.Period] = f
	}
	for _, f := range p.snap.Manifest.FilesOf(schema.Calls.Name) {
		if f.MinStart == nil || f.MaxStart == nil || misses(q.Params, f) {
			continue
		}
		s := stretch{calls: f, from: minuteOf(*f.MinStart), to: math.MaxInt64, passing: math.MaxInt64}
		if holds(q.Params, f) {
			s.tally = tallies[f.Period]
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b stretch) int { return cmp.Compare(*a.calls.MinStart, *b.calls.MinStart) })
	tallied := false
	for i := range out {
		tallied = tallied || out[i].tally != nil
		if i > 0 {
			if *out[i].calls.MinStart <= *out[i-1].calls.MaxStart { // the periods overlap
				return nil
			}
			out[i-1].to = out[i].from
		}
	}
	if !tallied {
		return nil
	}
	p.follow(out, q.Passing)
	return out
}

// follow sets followed and passing of the stretches from the rows of Passing.
func (p *Planner) follow(all []stretch, known []question.Passing) {
	end := int64(math.MinInt64)
	for i := range all {
		s := &all[i]
		s.followed = s.to
		if s.tally != nil {
			s.followed = min(max(s.from, end), s.to)
		}
		if i < len(known) {
			end = max(end, known[i].Last+schema.Minute)
			s.passing = known[i].From
		}
	}
}

// Passing returns the SELECT of the ends of calls, one row per stretch, that must be known before a
// report of simultaneous calls is planned; empty if none is needed.
func (p *Planner) Passing(q question.Question) string {
	var rows []string
	for i, s := range p.stretches(q) {
		last, from, of := "-1", fmt.Sprint(math.MaxInt64), "(SELECT 1)"
		switch {
		case s.tally != nil:
			last = "coalesce(epoch_ms(max(start_at)), -1)"
			from = fmt.Sprintf("coalesce(min(epoch_ms(start_at)) FILTER (epoch_ms(start_at) + %d + greatest(longest_ms, 0) >= %d), %s)",
				schema.Minute, s.to, from)
			of = "(" + stored.Relation(p.snap, []*layout.File{s.tally}, &schema.MinuteTallies, false) + ")"
		case s.to < math.MaxInt64:
			last = fmt.Sprintf("coalesce(max(epoch_ms(start_at) + greatest(duration_ms, 1) - 1), 0) // %d * %d", schema.Minute, schema.Minute)
			of = "(" + p.relation([]*layout.File{s.calls}) + ") WHERE " + bounds(q.Params, "start_at")
		}
		rows = append(rows, fmt.Sprintf("SELECT %d AS i, %s AS last, %s AS passing FROM %s", i, last, from, of))
	}
	if rows == nil {
		return ""
	}
	return "SELECT CAST(last AS BIGINT), CAST(passing AS BIGINT) FROM (" + strings.Join(rows, " UNION ALL ") + ") ORDER BY i"
}

// minuteOf returns the start of the minute that contains a time, in ms.
func minuteOf(ms int64) int64 {
	if past := ms % schema.Minute; past < 0 {
		return ms - past - schema.Minute
	}
	return ms - ms%schema.Minute
}

// lastingCalls returns the SELECTs of the relations lasting and minutes.
func (p *Planner) lastingCalls(q question.Question) (calls, minutes string) {
	const columns = "CAST(NULL AS VARCHAR) AS key, start_at, duration_ms"
	none := "SELECT * FROM (" + stored.Empty(&schema.MinuteTallies) + ")"
	all := p.stretches(q)
	if all == nil {
		return "SELECT key, start_at, duration_ms FROM selected", none
	}
	var followed, tallies []*layout.File
	var parts []string
	for _, s := range all {
		if s.tally == nil {
			followed = append(followed, s.calls)
			continue
		}
		tallies = append(tallies, s.tally)
		if s.followed > s.from || s.passing < math.MaxInt64 {
			parts = append(parts, fmt.Sprintf("SELECT %s FROM (%s) WHERE start_at < make_timestamptz(%d) OR start_at >= make_timestamptz(%d)",
				columns, p.relation([]*layout.File{s.calls}), 1000*min(s.followed, s.to, latest), 1000*min(s.passing, latest)))
		}
	}
	if followed != nil || parts == nil {
		parts = append(parts, "SELECT "+columns+" FROM ("+p.relation(followed)+") WHERE "+bounds(q.Params, "start_at"))
	}
	return strings.Join(parts, "\nUNION ALL\n"),
		"SELECT * FROM (" + stored.Relation(p.snap, tallies, &schema.MinuteTallies, false) + ") WHERE NOT is_followed_at(epoch_ms(start_at))"
}

// latest is later than any call, in ms.
const latest = 253_402_300_800_000

// isFollowed returns the statement that creates the macro is_followed_at for the stretches.
func (p *Planner) isFollowed(q question.Question) string {
	condition := "true"
	if all := p.stretches(q); all != nil {
		condition = "false"
		var alone []string // minutes: one look-up for all, instead of a comparison with each short span
		for i := 0; i < len(all); i++ {
			from, until := all[i].from, all[i].followed
			if until <= from {
				continue
			}
			for until == all[i].to && i+1 < len(all) && all[i+1].followed > all[i+1].from {
				i++
				until = all[i].followed
			}
			if from < 0 || until-from > schema.Quarter {
				condition += fmt.Sprintf(" OR ms >= %d AND ms < %d", from, until)
				continue
			}
			for minute := from / schema.Minute; minute < until/schema.Minute; minute++ {
				alone = append(alone, fmt.Sprint(minute))
			}
		}
		if alone != nil {
			condition += fmt.Sprintf(" OR ms >= 0 AND ms // %d IN (%s)", schema.Minute, strings.Join(alone, ", "))
		}
	}
	return "CREATE OR REPLACE TEMP MACRO is_followed_at(ms) AS " + condition + ";\n"
}
