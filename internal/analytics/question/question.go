// Package question models a user's question to a report: a period, groups, conditions and names. It knows no
// warehouse; package plan turns a question into SQL.
package question

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	sqlfiles "callhouse/sql"
)

// Question is a question to a report or table. The zero value is about all calls.
type Question struct {
	Params
	Report  *sqlfiles.File // or the view
	Keys    []Dimension    // of By
	Filters []Filter       // of Where
	Goals   []Goal         // with the agents' ids, for a report that reads goals
	Seen    Params         // the user's parameters, while the period is that of the calls that the report reads
}

// Of parses the parameters of a question to a report or view.
func Of(f *sqlfiles.File, p Params) (q Question, err error) {
	if steps, ok := sqlfiles.Steps(f.Name); ok && p.Steps {
		f = steps
	}
	p.Field = norm.NFC.String(p.Field)
	q = Question{Params: p, Report: f}
	if p.By != "" && !f.Grouped() {
		return q, fmt.Errorf("run report %s: it has no groups", f.Name)
	}
	if q.Keys, err = keysOf(p.By); err != nil {
		return q, err
	}
	if i := slices.IndexFunc(q.Keys, func(d Dimension) bool { return slices.Contains(f.Keys, d.Name) }); i >= 0 {
		return q, &GroupError{f.Name + " has the group " + q.Keys[i].Name + " already", "leave it out of --by"}
	}
	if q.Filters, err = Filters(p.Where); err != nil {
		return q, err
	}
	if name, _, ok := strings.Cut(p.Field, "="); p.Field != "" && (!ok || name == "") {
		return q, &GroupError{fmt.Sprintf("the field %q has no value", p.Field), "write NAME=VALUE, e.g. resolved=true"}
	}
	if !slices.Contains([]string{"", "day", "hour", "minute"}, p.Every) {
		return q, &GroupError{fmt.Sprintf("unknown step %q", p.Every), "use --every day, hour or minute"}
	}
	if _, compares := p.Previous(); compares && f.Selects() {
		return q, q.mayCompare()
	}
	return q, nil
}

// Compare returns p with a period that has an end, and with the period to compare with: a period of the same length
// from PreviousSince on or, without that, the previous one, with the same weekdays or whole months. A period that is
// not over ends at listed, when the list of calls was last read. It returns a *GroupError if a report has none.
func Compare(f *sqlfiles.File, p Params, listed, now time.Time, loc *time.Location) (Params, error) {
	q, err := Of(f, p)
	if err == nil {
		err = q.mayCompare()
	}
	if err != nil {
		return p, err
	}
	if p.Since.IsZero() {
		return p, &GroupError{"--compare needs the start of the period", "set it, e.g. --since 7d or --since 2026-11-01"}
	}
	if p.Until.IsZero() || p.Until.After(now) {
		p.Until = now
		if listed.Before(now) && listed.After(p.Since) {
			p.Until = listed
		}
	}
	if !p.Since.Before(p.Until) {
		return p, &GroupError{"the period starts in the future", "set --since to an earlier time"}
	}
	switch {
	case p.PreviousSince.IsZero():
		return p.WithPrevious(loc), nil
	case !p.PreviousSince.Before(p.Since):
		return p, &GroupError{"the other period does not begin before the period itself", "set --compare to an earlier time than --since"}
	}
	p.PreviousUntil = alike(p.Since.In(loc), p.Until.In(loc), p.PreviousSince.In(loc))
	return p, nil
}

// WithPrevious returns p, which has both bounds, with the previous period: see [Compare].
func (p Params) WithPrevious(loc *time.Location) Params {
	p.PreviousSince, p.PreviousUntil = before(p.Since.In(loc), p.Until.In(loc))
	return p
}

// mayCompare returns a *GroupError if the answers of two periods have no rows in common.
func (q Question) mayCompare() error {
	f := q.Report
	if !f.Selects() || !f.Grouped() {
		return &GroupError{f.Name + " has no figures to compare", "run it for each period, with --since and --until"}
	}
	if f.Incomparable != "" {
		return &GroupError{f.Name + " cannot be compared with the previous period", f.Incomparable}
	}
	if q.InOnePeriod() {
		return &GroupError{"a day, week or month lies in one period only and cannot be compared with the previous one",
			"group by weekday or hour, or select days with --since and --until"}
	}
	return nil
}

// InOnePeriod reports whether groups or conditions are days, weeks or months.
func (q Question) InOnePeriod() bool {
	return slices.ContainsFunc(q.Dimensions(), func(d Dimension) bool { return d.inOne != nil })
}

// InParts reports whether rows are of days, weeks, months or steps, of which the answer may have a part only.
func (q Question) InParts() bool {
	return slices.Contains(q.Report.Flags, "every") || slices.ContainsFunc(q.Keys, func(d Dimension) bool { return d.inOne != nil })
}

// ReadsEarlier reports whether a report shows calls from before the selected time, which it does not where
// rows belong to one period.
func (q Question) ReadsEarlier() bool {
	return slices.Contains(q.Report.Counts, "is_earlier") && !q.Since.IsZero() && q.PreviousSince.IsZero() && !q.InOnePeriod()
}

// OneRow returns the condition of the row that stands for its group in a comparison, and reports whether the answer has
// only these rows: agents, and what belongs to one, have their own. Where the condition is empty, it is the row whose
// main figure changed most clearly.
func (q Question) OneRow() (row string, ok bool) {
	f := q.Report
	_, compares := q.Previous()
	return f.MainRow, q.Params.OneRow && compares && len(q.Keys) > 0 && len(f.Keys) > 0 && !slices.ContainsFunc(f.Keys, IsAgent)
}

// Dimensions returns the dimensions of the groups and conditions.
func (q Question) Dimensions() []Dimension {
	out := slices.Clone(q.Keys)
	for _, f := range q.Filters {
		out = append(out, f.Dimension)
	}
	return out
}

// Resolve replaces the names of agents and campaigns by their ids. find returns the id of the agent
// or campaign that a text refers to.
func (q *Question) Resolve(find func(what, text string) (id string, err error)) (err error) {
	if q.Agent != "" {
		if q.Agent, err = find("agent", q.Agent); err != nil {
			return err
		}
	}
	for _, f := range q.Filters {
		for i, v := range f.Values {
			if v != "" && f.Named() {
				if f.Values[i], err = find(f.Name, v); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// OfCalls reports whether q selects the rows of a table by their calls.
func (q Question) OfCalls() bool {
	_, ok := q.Report.Column("call_id")
	return ok && (q.Agent != "" || len(q.Where) > 0)
}

// Around returns q for the calls around events between the first and the last instant, in ms; 0:
// there was no event, so there are no such calls.
func (q Question) Around(first, last int64) Question {
	q.Seen = q.Params
	q.Since, q.Until = time.UnixMilli(first), time.UnixMilli(last)
	if last > 0 {
		q.Since, q.Until = q.Since.AddDate(0, 0, -12), q.Until.AddDate(0, 0, 9)
	}
	return q
}

// Goal is an outcome that counts as success for an agent.
type Goal struct{ Agent, Outcome string } // the agent's id or name, as with --agent

// goals are the outcomes that an answered call may have.
var goals = []string{"completed", "transferred", "abandoned", "failed"}

// ParseGoal parses AGENT=OUTCOME. It returns an *UnknownError for an outcome that an answered call cannot have.
func ParseGoal(text string) (Goal, error) {
	at := strings.LastIndexByte(text, '=')
	if at < 1 {
		return Goal{}, &GroupError{text + " has no outcome",
			"write AGENT=OUTCOME, e.g. triage=transferred; repeat an agent for further outcomes"}
	}
	g := Goal{text[:at], text[at+1:]}
	if !slices.Contains(goals, g.Outcome) {
		return g, Unknown("outcome of an answered call", g.Outcome, goals)
	}
	return g, nil
}
