package analytics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/human"
	"callhouse/internal/analytics/opened"
)

// Coverage says how far a report's numbers can be trusted.
type Coverage struct {
	Calls    int64 // selected
	Undated  int64 // calls left out for want of a start, where there are bounds
	Unlisted []Gap // spans of the selection of which the list was not read completely
	Skipped  []opened.Skipped

	facts  []fact // that the report needs
	counts []int64
}

// fact is something that may be missing in calls, and how that is told.
type fact struct {
	need    string // of reports that are not complete without it
	count   string // over tallied: the calls in which it is missing
	columns string // of tallied that this reads
	one     string // "of 8 calls, 1" does this
	many    string // and "2" do this
}

const ofConnected = "settlement is_started status disconnection_reason"

// facts is the one place that says what the needs of reports mean.
func facts() []fact {
	return []fact{
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
		{"transcripts", "sum_if(calls, transcript_state = 'missing')", "transcript_state", "lost its transcript", "lost their transcript"},
		{"transcripts", "sum_if(calls, transcript_state = 'skipped')", "transcript_state",
			"is of a kind without transcripts", "are of kinds without transcripts"},
		{"transcripts", "sum_if(calls, opted_out)", "opted_out", "opted out of transcripts", "opted out of transcripts"},
		{"cost", "sum_if(calls - costed_calls, lacks_cost('ended', settlement, is_connected))", ofConnected + " unit",
			"is waiting for its cost", "are waiting for their cost"},
		{"cost", "sum_if(calls - costed_calls, lacks_cost('expired', settlement, is_connected))", ofConnected + " unit",
			"never got a cost", "never got a cost"},
		{"cost", "total_of(unheld_costs)", "", "has a cost that does not fit total_cost", "have a cost that does not fit total_cost"},
	}
}

// Gap is a span of start_at, From inclusive, To exclusive; a zero time is open.
type Gap struct{ From, To time.Time }

// Coverage returns how complete the calls are, as far as now, that p selects
// for a report.
func (w *Warehouse) Coverage(ctx context.Context, report string, p Params, now time.Time) (*Coverage, error) {
	found, err := Describe(report)
	if err != nil {
		return nil, err
	}
	if err := w.May(found[0], p); err != nil {
		return nil, err
	}
	conn, err := w.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	s, err := w.selection(ctx, conn, p)
	if err != nil {
		return nil, err
	}
	if s, err = w.around(ctx, conn, found[0], s); err != nil {
		return nil, err
	}
	bounded := p.bounded()
	p = s.Params
	c := &Coverage{Unlisted: w.unlisted(p, now), Skipped: w.Skipped()}
	names, columns, into := []string{"total_of(calls)"}, []string{}, []*int64{&c.Calls}
	needs := found[0].Needs
	if p.Field != "" && !slices.Contains(needs, "analysis") {
		needs = append(slices.Clone(needs), "analysis")
	}
	for _, need := range needs {
		for _, f := range facts() {
			if f.need == need {
				c.facts = append(c.facts, f)
			}
		}
	}
	c.counts = make([]int64, len(c.facts))
	for i, f := range c.facts {
		names, into = append(names, f.count), append(into, &c.counts[i])
		columns = append(columns, strings.Fields(f.columns)...)
	}
	if err := w.tallyOne(ctx, conn, names, columns, s, into...); err != nil || !bounded {
		return c, err
	}
	s.Params = Params{}
	return c, w.tallyOne(ctx, conn, []string{"sum_if(calls, NOT is_started)"}, []string{"is_started"}, s, &c.Undated)
}

// tallyOne reads numbers of selected calls, as one group.
func (w *Warehouse) tallyOne(ctx context.Context, conn *duck.Conn, names, columns []string, s selection, into ...*int64) error {
	slices.Sort(columns)
	return one(ctx, conn, "SELECT "+strings.Join(names, ", ")+" FROM ("+w.tallied(slices.Compact(columns), nil, s)+")", into...)
}

// one reads the numbers of a result's one row.
func one(ctx context.Context, conn *duck.Conn, text string, into ...*int64) error {
	rows, err := conn.QuerySmall(ctx, text)
	if err != nil {
		return fmt.Errorf("read numbers: %w", err)
	}
	defer rows.Close()
	row, err := rows.Next(ctx)
	if errors.Is(err, io.EOF) || err == nil && len(row) != len(into) {
		return fmt.Errorf("read numbers: unexpected result")
	}
	if err != nil {
		return fmt.Errorf("read numbers: %w", err)
	}
	for i, v := range row {
		n, ok := v.(int64)
		if !ok {
			return fmt.Errorf("read numbers: column %d is %T", i, v)
		}
		*into[i] = n
	}
	return nil
}

// unlisted returns what of the selection's span the manifest does not call
// listed. Where p has no bound, nothing is said of what lies outside, and nothing
// is said of the future.
func (w *Warehouse) unlisted(p Params, now time.Time) []Gap {
	spans := w.Snapshot().Manifest.Coverage
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

// String tells, in one line without an end, what is not complete; "" where
// nothing is missing.
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
	if len(c.Skipped) > 0 {
		out = append(out, opened.SkippedText(c.Skipped))
	}
	if len(parts) > 0 {
		out = append(out, "of "+human.Calls(c.Calls)+", "+strings.Join(parts, ", "))
	}
	if c.Undated == 1 {
		out = append(out, "1 call without a start is excluded")
	} else if c.Undated > 1 {
		out = append(out, humanize.Comma(c.Undated)+" calls without a start are excluded")
	}
	for _, g := range c.Unlisted {
		out = append(out, g.text(loc)+" fully listed yet")
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
