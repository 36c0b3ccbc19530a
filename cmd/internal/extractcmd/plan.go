package extractcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/extractcmd/settings"
	"callhouse/cmd/internal/intake"
	"callhouse/cmd/internal/progress"
	"callhouse/internal/api"
	"callhouse/internal/crawler"
	"callhouse/internal/crawler/forecast"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/words"
)

// plannedRun is the JSON output of plan. Times are RFC 3339 in UTC. Ranges assume that no request
// fails; a null upper bound is unknown.
type plannedRun struct {
	Total      int64            `json:"total_count"` // -1: unspecified by the service
	Known      int64            `json:"calls_known"`
	Stretches  []plannedStretch `json:"list"`
	Pages      plannedRange     `json:"pages"`
	Again      plannedRange     `json:"pages_of_unsettled_calls"`
	Relisted   plannedRange     `json:"pages_listed_long_ago"`
	Due        int64            `json:"details_due"`
	Skipped    int64            `json:"details_skipped"`
	Unsettled  int64            `json:"details_to_settle_at_most"`
	New        int64            `json:"new_calls_at_most"` // -1: unknown
	Bulk       plannedRange     `json:"bulk_pages"`
	Compared   plannedRange     `json:"bulk_compared"`
	Verified   plannedRange     `json:"bulk_verified"`
	Records    plannedRange     `json:"details"`
	Links      plannedRange     `json:"links_to_recordings"`
	Side       plannedRange     `json:"resources"`
	Resources  []plannedObjects `json:"by_resource"`
	Unasked    string           `json:"resources_not_asked_for,omitempty"`
	Requests   plannedRange     `json:"requests"`
	Minutes    plannedRange     `json:"minutes"`
	AtMost     *int64           `json:"requests_at_most"` // even if pages of v2 prove useless; null: unknown
	Allowed    int64            `json:"requests_in_max_duration,omitempty"`
	Remaining  int64            `json:"requests_remaining,omitempty"`
	PlanningBy int64            `json:"requests_spent_on_planning"`
}

// plannedRange is a number between two bounds.
type plannedRange struct {
	From float64  `json:"from"`
	To   *float64 `json:"to"` // null: unknown
}

func rangeOf(r forecast.Range, of func(int64) float64) plannedRange {
	p := plannedRange{From: of(r.Least)}
	if r.Most >= 0 {
		p.To = new(of(r.Most))
	}
	return p
}

type plannedObjects struct {
	Resource string       `json:"resource"`
	Requests plannedRange `json:"requests"`
}

type plannedStretch struct {
	From  *time.Time `json:"from"` // null: the beginning
	To    *time.Time `json:"to"`   // null: now
	Calls int64      `json:"calls"`
	Pages int64      `json:"pages"`
}

// plan prints the expected cost of a run.
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
		cfg.Now, cfg.AnyClock = s.Now, true // plan stores nothing
		settings.Remember(&cfg, w, slog.New(slog.DiscardHandler))
		archive, err := s.OpenArchive(ctx, w)
		if err != nil {
			return err
		}
		if archive != nil {
			defer archive.Close()
			cfg.Recordings = archive
		}
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
			return settings.Explain(unreached(err, c.Progress(), s.BaseURL))
		}
		if left := w.Leftover(); len(left) > 0 {
			words.Fprintf(stderr, "the journal contains records of a killed run; "+
				"the next run commits them first, so it needs fewer requests than shown\n")
		}
		number := func(r forecast.Range) plannedRange { return rangeOf(r, func(n int64) float64 { return float64(n) }) }
		all := p.Requests()
		out := plannedRun{
			Total: p.Total, Known: p.Known, Pages: number(p.List), Again: number(p.Again), Relisted: number(p.Relisted),
			Due: p.Calls.Due, Skipped: p.Calls.Skipped, Unsettled: p.Calls.Unsettled, New: p.Calls.New,
			Bulk: number(p.Bulk), Compared: number(p.Compared), Verified: number(p.Verified), Records: number(p.Records),
			Links: number(p.Links), Side: number(p.Side()),
			Unasked: s.Unasked(cfg.Resources), Requests: number(all), PlanningBy: p.Asked,
			Minutes: rangeOf(all, func(n int64) float64 { return math.Ceil(c.Takes(n).Minutes()*10) / 10 }),
		}
		if most := p.AtMost(); most >= 0 {
			out.AtMost = &most
		}
		for _, of := range p.Resources {
			out.Resources = append(out.Resources, plannedObjects{of.Name, number(of.Requests())})
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
			out.Remaining = max(0, max(all.Least, all.Most)-out.Allowed)
		}
		if asJSON {
			return settings.WriteJSON(stdout, out)
		}
		return s.Print(stdout, func(text io.Writer) { writePlan(text, &out, &p, c, s) })
	})
}

// unreached returns an error of a plan, or the error of a run without any answer, which tries for
// longer.
func unreached(err error, done crawler.Progress, base string) error {
	if f, ok := errors.AsType[*api.RequestError](err); ok && f.Status == 0 && done.Pages == 0 {
		return &api.UnreachableError{BaseURL: base, Tries: int(done.Requests), Err: f.Err}
	}
	return err
}

// writePlan prints a plan as text.
func writePlan(w io.Writer, out *plannedRun, p *forecast.Run, c *crawler.Crawler, s *settings.Settings) {
	line := func(what string, r forecast.Range, note string) {
		unit := "requests"
		if r.Least == 1 && r.Most == 1 {
			unit = "request " // as wide as the others
		}
		words.Fprintf(w, "  %-11s %15s %s  %15s  %s\n", what, between(r, humanize.Comma), unit,
			between(r, func(n int64) string { return cli.Clock(c.Takes(n)) }), note)
	}
	total := "does not report its number of calls"
	if p.Total >= 0 {
		total = fmt.Sprintf("has %s calls", humanize.Comma(p.Total))
	}
	words.Fprintf(w, "The service %s, the warehouse %s. A run without failures takes:\n", total, humanize.Comma(p.Known))
	line("list", p.List, "pages: "+stretches(out.Stretches))
	if p.Again.Least > 0 {
		line("", p.Again, "pages listed again, with older calls that lack their analysis or cost")
	}
	if p.Relisted.Most != 0 {
		line("", p.Relisted, "pages listed again, because it was more than a week ago")
	}
	if s.ListOnly {
		words.Fprintf(w, "  %-11s %15s transcripts: --list-only\n", "transcripts", "no")
	} else {
		writeTranscripts(w, p, line)
	}
	if p.Links.Most != 0 {
		line("recordings", p.Links, "records with new links, because the old ones have expired")
	}
	if len(p.Resources) > 0 {
		line("resources", p.Side(), "agents, campaigns and other resources; more if many objects are new")
	}
	line("together", p.Requests(), "")
	if p.Fallback != 0 && out.AtMost != nil {
		words.Fprintf(w, "At most %s requests, if no v2 page can be used.\n", humanize.Comma(*out.AtMost))
	}
	if out.Unasked != "" {
		words.Fprintf(w, "Not requested: %s.\n", out.Unasked)
	}
	switch limit := s.MaxDuration; {
	case limit > 0 && out.Remaining == 0:
		words.Fprintf(w, "All of it fits within %s.\n", cli.Clock(limit))
	case limit > 0:
		words.Fprintf(w, "%s allows %s requests: up to %s would remain, the oldest transcripts.\n", cli.Clock(limit),
			humanize.Comma(out.Allowed), humanize.Comma(out.Remaining))
	}
	words.Fprintf(w, "Planning used %s of the service's requests.\n", humanize.Comma(out.PlanningBy))
}

// between formats a range.
func between(r forecast.Range, format func(int64) string) string {
	from, to := format(r.Least), format(max(0, r.Most))
	switch {
	case r.Most < 0:
		return from + " or more"
	case from == to:
		return from
	}
	return from + " to " + to
}

// stretches describes the parts of the list.
func stretches(all []plannedStretch) string {
	var parts []string
	for _, s := range all {
		from, to := "the beginning", "now"
		if s.From != nil {
			from = s.From.Format(time.DateTime)
		}
		if s.To != nil {
			to = s.To.Format(time.DateTime)
		}
		parts = append(parts, fmt.Sprintf("from %s to %s", from, to))
	}
	return strings.Join(parts, ", ")
}

// writeTranscripts prints the transcripts' part of a plan.
func writeTranscripts(w io.Writer, p *forecast.Run, line func(what string, r forecast.Range, note string)) {
	if p.Fallback != 0 {
		line("v2 pages", p.Bulk, "of 100 to 500 calls, with their transcripts")
		line("records", p.Compared, "of these, to compare v2 with v3")
		line("", p.Records, "of calls that v2 pages lack or that are too few for a page")
	} else {
		note := "calls that are over and lack their transcripts"
		if p.Records.Least != p.Records.Most {
			note += "; those that never connected need no record"
		}
		line("records", p.Records, note)
	}
	if p.Verified.Most != 0 {
		line("", p.Verified, "to compare transcripts of earlier v2 pages with v3")
	}
	if p.Calls.Skipped > 0 {
		words.Fprintf(w, "  %-11s %15s are skipped: calls of their kind never had a transcript\n", "", humanize.Comma(p.Calls.Skipped))
	}
}
