package extractcmd

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"strings"

	"github.com/dustin/go-humanize"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/extractcmd/settings"
	"callhouse/cmd/internal/progress"
	"callhouse/internal/api"
	"callhouse/internal/crawler"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/words"
)

// plannedRun is the JSON output of plan: estimates, if no request fails.
type plannedRun struct {
	Total       int64        `json:"total_count"` // -1: unspecified by the service
	Known       int64        `json:"calls_known"`
	Pages       plannedRange `json:"pages"`
	Transcripts plannedRange `json:"transcripts"`
	Resources   plannedRange `json:"resources"`
	Unasked     string       `json:"resources_not_asked_for,omitempty"`
	Requests    plannedRange `json:"requests"`
	Minutes     plannedRange `json:"minutes"`
	Allowed     int64        `json:"requests_in_max_duration,omitempty"`
	Remaining   int64        `json:"requests_remaining,omitempty"`
	PlanningBy  int64        `json:"requests_spent_on_planning"`
}

// plannedRange is a number between two bounds.
type plannedRange struct {
	From float64  `json:"from"`
	To   *float64 `json:"to"` // null: unknown
}

func rangeOf(r crawler.Range, of func(int64) float64) plannedRange {
	p := plannedRange{From: of(r.Least)}
	if r.Most >= 0 {
		p.To = new(of(r.Most))
	}
	return p
}

// plan prints the expected cost of a run.
func plan(ctx context.Context, s *settings.Settings, asJSON bool, stdout, stderr io.Writer) error {
	started := s.Now()
	cfg, err := s.Crawl(started)
	if err != nil {
		return err
	}
	s.WarnPlain(progress.Logger(stderr, s.Quiet))
	opts := s.Options(settings.RunID(started))
	opts.ReadOnly = true
	return s.OpenWith(opts, func(w *sink.Warehouse) error {
		cfg.Now, cfg.AnyClock = s.Now, true // plan stores nothing
		settings.Remember(&cfg, w, slog.New(slog.DiscardHandler))
		c, err := crawler.New(cfg, w)
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
		number := func(r crawler.Range) plannedRange { return rangeOf(r, func(n int64) float64 { return float64(n) }) }
		all := p.Requests()
		out := plannedRun{
			Total: p.Total, Known: known, Pages: number(p.Pages), Transcripts: number(p.Transcripts), Resources: number(p.Resources),
			Unasked: s.Unasked(cfg.Resources), Requests: number(all), PlanningBy: p.Asked,
			Minutes: rangeOf(all, func(n int64) float64 { return math.Ceil(crawler.Takes(&cfg.Config, n).Minutes()*10) / 10 }),
		}
		if s.MaxDuration > 0 {
			out.Allowed = c.Within(s.MaxDuration)
			out.Remaining = max(0, max(all.Least, all.Most)-out.Allowed)
		}
		if asJSON {
			return settings.WriteJSON(stdout, out)
		}
		return s.Print(stdout, func(text io.Writer) { writePlan(text, &out, &p, &cfg.Config, s) })
	})
}

// writePlan prints a plan as text.
func writePlan(w io.Writer, out *plannedRun, p *crawler.Plan, cfg *api.Config, s *settings.Settings) {
	if p.Total < 0 {
		words.Fprintf(w, "The service does not report its number of calls")
	} else {
		words.Fprintf(w, "The service has %s calls", humanize.Comma(p.Total))
	}
	words.Fprintf(w, ", the warehouse %s. A run without failures takes about:\n", humanize.Comma(out.Known))
	planLine(w, cfg, "list", p.Pages, "")
	if s.ListOnly {
		words.Fprintf(w, "  %-11s %17s transcripts: --list-only\n", "transcripts", "no")
	} else {
		planLine(w, cfg, "transcripts", p.Transcripts, plannedTranscripts(p))
	}
	if p.Resources.Most > 0 {
		planLine(w, cfg, "resources", p.Resources, "agents, campaigns and other resources; more if many objects are new")
	}
	planLine(w, cfg, "together", p.Requests(), "")
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

// planLine prints one line of a plan: how many requests something takes, and how long.
func planLine(w io.Writer, cfg *api.Config, what string, r crawler.Range, note string) {
	unit := "requests"
	if r.Least == 1 && r.Most == 1 {
		unit = "request " // as wide as the others
	}
	line := fmt.Sprintf("  %-11s %17s %s  %17s  %s", what, between(r, humanize.Comma), unit,
		between(r, func(n int64) string { return cli.Clock(crawler.Takes(cfg, n)) }), note)
	words.Fprintln(w, strings.TrimRight(line, " "))
}

// plannedTranscripts explains the range of a plan's transcripts.
func plannedTranscripts(p *crawler.Plan) string {
	if p.Transcripts.Least > 0 && p.Transcripts.Least != p.Transcripts.Most {
		return "few if the service has v2 pages, else one for each call that connected"
	}
	return "one for each call that connected"
}

// between formats a range.
func between(r crawler.Range, format func(int64) string) string {
	from, to := format(r.Least), format(max(0, r.Most))
	switch {
	case r.Most < 0:
		return from + " or more"
	case from == to:
		return from
	}
	return from + " to " + to
}
