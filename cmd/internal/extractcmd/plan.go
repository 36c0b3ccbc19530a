package extractcmd

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"time"

	"github.com/dustin/go-humanize"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/extractcmd/settings"
	"callhouse/cmd/internal/intake"
	"callhouse/cmd/internal/progress"
	"callhouse/internal/crawler"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/words"
)

// plannedRun is what plan prints, as JSON. Times are RFC 3339 in UTC.
type plannedRun struct {
	Total      int64            `json:"total_count"` // -1: the service does not say
	Known      int64            `json:"calls_known"`
	Stretches  []plannedStretch `json:"list"`
	Pages      int64            `json:"pages"`
	Again      int64            `json:"pages_of_unsettled_calls"`
	Due        int64            `json:"details_due"`
	Skipped    int64            `json:"details_skipped"`
	Unsettled  int64            `json:"details_to_settle_at_most"`
	New        int64            `json:"details_of_new_calls_at_most"`
	BulkPages  int64            `json:"bulk_pages"`
	BulkCalls  int64            `json:"bulk_calls_at_most"` // of the details, those that come on these pages instead
	Compared   int64            `json:"bulk_compared"`
	Verify     int64            `json:"bulk_verified"`
	Side       int64            `json:"resources"`
	Unlisted   int64            `json:"resources_never_listed"`
	Unasked    string           `json:"resources_not_asked_for,omitempty"`
	Requests   int64            `json:"requests_at_most"`
	Minutes    float64          `json:"minutes_at_most"`
	Allowed    int64            `json:"requests_in_max_duration,omitempty"`
	Remaining  int64            `json:"requests_remaining,omitempty"`
	PlanningBy int64            `json:"requests_spent_on_planning"`
}

type plannedStretch struct {
	From  *time.Time `json:"from"` // null: the beginning
	To    *time.Time `json:"to"`   // null: now
	Calls int64      `json:"calls"`
	Pages int64      `json:"pages"`
}

// plan says what run would cost.
func plan(ctx context.Context, s *settings.Settings, asJSON bool, stdout, stderr io.Writer) error {
	started := s.Now()
	cfg, err := s.Crawl(started)
	if err != nil {
		return err
	}
	s.WarnPlain(progress.Logger(stderr, s.LogFormat, s.Quiet))
	opts := s.Options(settings.RunID(started))
	opts.ReadOnly = true
	return s.OpenWith(opts, func(w *sink.Warehouse) error {
		cfg.Now, cfg.AnyClock = s.Now, true // it stores nothing
		settings.Remember(&cfg, w, slog.New(slog.DiscardHandler))
		c, err := crawler.New(cfg, intake.New(w, s.Now))
		if err != nil {
			return cli.Usage("", "%w", err)
		}
		var known int64
		if snapshot := w.Snapshot(); snapshot != nil {
			known = snapshot.Manifest.Rows(schema.Calls.Name)
		}
		p, err := c.Plan(ctx, known)
		if err != nil {
			return settings.Explain(err)
		}
		if left := w.Leftover(); len(left) > 0 {
			words.Fprintf(stderr, "the journal contains records of a killed run; "+
				"the next run commits them first, so it needs fewer requests than shown\n")
		}
		out := plannedRun{
			Total: p.Total, Known: p.Known, Pages: p.Pages, Again: p.Again, Due: p.Due, Skipped: p.Skipped, Unsettled: p.Unsettled, New: p.New,
			BulkPages: p.Bulk.Pages, BulkCalls: p.Bulk.Calls, Compared: p.Bulk.Compared, Verify: p.Verify, Side: p.Side, Unlisted: p.Unlisted,
			Unasked: s.Unasked(cfg.Resources), Requests: p.Requests(), Minutes: math.Ceil(c.Takes(p.Requests()).Minutes()*10) / 10,
			PlanningBy: p.Asked,
		}
		for _, st := range p.Stretches {
			ps := plannedStretch{Calls: st.Calls, Pages: st.Pages}
			if st.From > 0 {
				ps.From = new(time.UnixMilli(st.From).UTC())
			}
			if st.To != math.MaxInt64 {
				ps.To = new(time.UnixMilli(st.To).UTC())
			}
			out.Stretches = append(out.Stretches, ps)
		}
		if s.MaxDuration > 0 {
			out.Allowed = c.Within(s.MaxDuration)
			out.Remaining = max(0, out.Requests-out.Allowed)
		}
		if asJSON {
			return settings.WriteJSON(stdout, out)
		}
		writePlan(s.Text(stdout), &out, c, s.MaxDuration, s.ListOnly)
		return nil
	})
}

// writePlan prints a plan for a person.
func writePlan(w io.Writer, p *plannedRun, c *crawler.Crawler, limit time.Duration, listOnly bool) {
	n := humanize.Comma
	line := func(what string, requests int64, note string) {
		words.Fprintf(w, "  %-10s %10s requests  %8s  %s\n", what, n(requests), cli.Clock(c.Takes(requests)), note)
	}
	cost := "Maximum cost"
	if p.Unlisted > 0 || p.Total < 0 { // of lists whose length is unknown
		cost = "Expected cost"
	}
	if p.Total >= 0 {
		words.Fprintf(w, "The service has %s calls, the warehouse %s. %s of a run:\n", n(p.Total), n(p.Known), cost)
	} else {
		words.Fprintf(w, "The service does not report its number of calls; the warehouse has %s. %s of a run:\n", n(p.Known), cost)
	}
	for _, s := range p.Stretches {
		from, to := "the beginning", "now"
		if s.From != nil {
			from = s.From.Format(time.DateTime)
		}
		if s.To != nil {
			to = s.To.Format(time.DateTime)
		}
		line("list", s.Pages, fmt.Sprintf("pages, from %s to %s", from, to))
	}
	if p.Again > 0 {
		line("", p.Again, "pages listed again, with older calls that lack their analysis or cost")
	}
	if listOnly {
		words.Fprintf(w, "  %-10s %10s transcripts: --list-only\n", "details", "no")
	} else {
		writeDetails(w, p, line)
	}
	if p.Side > 0 {
		note := "agents, campaigns and other resources"
		if p.Unlisted > 0 {
			note += "; a minimum, since the length of " + cli.Plural(p.Unlisted, "list") + " is unknown"
		}
		line("resources", p.Side, note)
	}
	line("together", p.Requests, "")
	if p.Unasked != "" {
		words.Fprintf(w, "Not requested: %s.\n", p.Unasked)
	}
	if limit > 0 {
		if p.Remaining == 0 {
			words.Fprintf(w, "All of it fits within %s.\n", cli.Clock(limit))
		} else {
			words.Fprintf(w, "%s allows %s requests: %s would remain, the oldest transcripts.\n", cli.Clock(limit), n(p.Allowed), n(p.Remaining))
		}
	}
	words.Fprintf(w, "Planning used %s of the service's requests.\n", n(p.PlanningBy))
}

// writeDetails prints what of a plan is for records of calls.
func writeDetails(w io.Writer, p *plannedRun, line func(what string, requests int64, note string)) {
	if p.BulkPages > 0 {
		line("bulk", p.BulkPages, "v2 pages, with the transcripts of "+cli.Plural(p.BulkCalls, "call"))
		line("details", p.Compared, "of these, to compare v2 with v3")
		if one := p.Due + p.New - p.BulkCalls; one > 0 {
			line("", one, "calls too far from others to share a page")
		}
	} else {
		line("details", p.Due, "calls that are over and lack theirs")
		line("", p.New, "new calls; those that never connected need no details")
	}
	if p.Skipped > 0 {
		words.Fprintf(w, "  %-10s %10s are skipped: calls of their kind never had a transcript\n", "", humanize.Comma(p.Skipped))
	}
	if p.Verify > 0 {
		line("", p.Verify, "to compare transcripts of earlier v2 pages with v3")
	}
	if p.Unsettled > 0 {
		line("", p.Unsettled, "to settle calls: the list contains neither analyses nor costs")
	}
}
