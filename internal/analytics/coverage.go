package analytics

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/value"
	"callhouse/internal/schema"
)

// Coverage describes how complete a report's data is.
type Coverage struct {
	Calls    int64 // selected
	Undated  int64 // calls left out because they have no start, if there are bounds
	Unlisted []Gap // spans of the selection that were not listed completely
	// Misread is the number of all calls whose telephone numbers are still to be rewritten after a change of the country.
	Misread int64

	facts  []fact // that the report needs
	counts []int64
}

// fact is data that calls may lack, and the wording for it.
type fact struct {
	need    string // reports with this need are incomplete without it
	count   string // over counted_calls: the calls that lack it
	columns string // the columns of counted_calls that count reads
	one     string // wording after "of 8 calls, 1"
	many    string // wording after a larger number
}

const ofConnected = "settlement is_started status disconnection_reason"

// facts is the single definition of the needs of reports.
var facts = []fact{
	{"end", "sum_if(calls, NOT is_over)", "settlement", "is not over yet", "are not over yet"},
	{"words", "sum_if(calls, unknown_word(status, disconnection_reason))", "status disconnection_reason",
		"has an unknown status or reason", "have an unknown status or reason"},
	{"duration", "sum_if(calls - timed_calls, is_over)", "settlement", "has no known duration", "have no known duration"},
	{"analysis", "sum_if(calls, lacks_analysis('ended', settlement, is_connected, user_sentiment, opted_out))",
		ofConnected + " user_sentiment opted_out", "is waiting for its analysis", "are waiting for their analysis"},
	{"analysis", "sum_if(calls, lacks_analysis('expired', settlement, is_connected, user_sentiment, opted_out))",
		ofConnected + " user_sentiment opted_out", "never got an analysis", "never got an analysis"},
	{"analysis", "sum_if(calls, opted_out)", "opted_out", "opted out of analysis", "opted out of analysis"},
	{"transcripts", "sum_if(calls, lacks_transcript(is_over, transcript_state))", "settlement transcript_state",
		"is waiting for its transcript", "are waiting for their transcript"},
	{"transcripts", "sum_if(calls, lost_transcript(transcript_state))", "transcript_state", "lost its transcript", "lost their transcript"},
	{"transcripts", "sum_if(calls, transcript_state = 'skipped')", "transcript_state",
		"is of a kind without transcripts", "are of kinds without transcripts"},
	{"transcripts", "sum_if(calls, opted_out)", "opted_out", "opted out of transcripts", "opted out of transcripts"},
	{"cost", "sum_if(calls - costed_calls, lacks_cost('ended', settlement, is_connected))", ofConnected + " unit",
		"is waiting for its cost", "are waiting for their cost"},
	{"cost", "sum_if(calls - costed_calls, lacks_cost('expired', settlement, is_connected))", ofConnected + " unit",
		"never got a cost", "never got a cost"},
	{"cost", "total_of(unheld_costs)", "", "has a cost that does not fit total_cost", "have a cost that does not fit total_cost"},
}

// Gap is a span of start_at, From inclusive, To exclusive; a zero time is open.
type Gap struct{ From, To time.Time }

// coverage returns how complete the calls are, as of now, that q selects.
func (w *Warehouse) coverage(ctx context.Context, conn *duck.Conn, q question.Question, now time.Time) (*Coverage, error) {
	c := &Coverage{Unlisted: unlisted(w.Snapshot().Manifest.Coverage, q.Params, now), Misread: w.Snapshot().Manifest.ReadElsewhere()}
	numbers, columns, into := []string{"total_of(calls)"}, []string{}, []*int64{&c.Calls}
	needs := q.Report.Needs
	if q.Field != "" && !slices.Contains(needs, "analysis") {
		needs = append(slices.Clone(needs), "analysis")
	}
	for _, need := range needs {
		for _, f := range facts {
			if f.need == need {
				c.facts = append(c.facts, f)
			}
		}
	}
	c.counts = make([]int64, len(c.facts))
	for i, f := range c.facts {
		numbers, into = append(numbers, f.count), append(into, &c.counts[i])
		columns = append(columns, strings.Fields(f.columns)...)
	}
	bounded := q.Bounded()
	if question.OfChanges(q.Report) {
		bounded = q.Seen.Bounded()
	}
	if err := one(ctx, conn, w.planner.Sums(q, numbers, columns), into...); err != nil || !bounded {
		return c, err
	}
	q.Params = question.Params{Agent: q.Agent}
	undated := w.planner.Sums(q, []string{"sum_if(calls, NOT is_started)"}, []string{"is_started"})
	return c, one(ctx, conn, undated, &c.Undated)
}

// unlisted returns the parts of the selected span that are not listed. On a side without a bound it
// reports nothing outside the listed spans, and it never reports the future.
func unlisted(spans []schema.Span, p question.Params, now time.Time) []Gap {
	if len(spans) == 0 {
		return []Gap{{p.Since, p.Until}}
	}
	at, end := spans[0].From, spans[len(spans)-1].To
	if !p.Since.IsZero() {
		at = p.Since.UnixMilli()
	}
	if !p.Until.IsZero() {
		end = min(p.Until.UnixMilli(), max(end, now.UnixMilli()))
	} else {
		end = max(end, at+1)
	}
	var gaps []Gap
	for _, s := range spans {
		if s.From > at && at < end {
			gaps = append(gaps, Gap{time.UnixMilli(at), time.UnixMilli(min(s.From, end))})
		}
		at = max(at, s.To)
	}
	if at < end {
		gaps = append(gaps, Gap{From: time.UnixMilli(at)})
	}
	return gaps
}

// String describes the missing data in one line without a line end; "" if nothing is missing.
func (c *Coverage) String(loc *time.Location) string {
	var parts []string
	for i, f := range c.facts {
		if n := c.counts[i]; n == 1 {
			parts = append(parts, "1 "+f.one)
		} else if n > 1 {
			parts = append(parts, humanize.Comma(n)+" "+f.many)
		}
	}
	var out []string
	if len(parts) > 0 {
		out = append(out, "of "+value.Calls(c.Calls)+", "+strings.Join(parts, ", "))
	}
	if c.Undated == 1 {
		out = append(out, "1 call without a start is excluded")
	} else if c.Undated > 1 {
		out = append(out, humanize.Comma(c.Undated)+" calls without a start are excluded")
	}
	for _, g := range c.Unlisted {
		out = append(out, g.text(loc)+" fully listed yet")
	}
	if c.Misread > 0 {
		out = append(out, "the country changed: the telephone numbers of "+value.Calls(c.Misread)+
			" are still in their earlier form (extract compact rewrites them)")
	}
	return strings.Join(out, "; ")
}

func (g Gap) text(loc *time.Location) string {
	const layout = "2006-01-02 15:04"
	switch {
	case g.From.IsZero() && g.To.IsZero():
		return "no time range is"
	case g.To.IsZero():
		return "calls from " + g.From.In(loc).Format(layout) + " on are not"
	case g.From.IsZero():
		return "calls before " + g.To.In(loc).Format(layout) + " are not"
	}
	return "calls from " + g.From.In(loc).Format(layout) + " to " + g.To.In(loc).Format(layout) + " are not"
}
