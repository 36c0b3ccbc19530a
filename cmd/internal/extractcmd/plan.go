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
func plan(ctx context.Context, s *settings, asJSON bool, stdout, stderr io.Writer) error {
	started := s.Now()
	cfg, err := s.crawlConfig(started)
	if err != nil {
		return err
	}
	s.warnPlain(newLogger(stderr, s.Quiet))
	opts := s.options(runID(started))
	opts.ReadOnly = true
	return s.openWith(opts, func(w *sink.Warehouse) error {
		cfg.Now, cfg.AnyClock = s.Now, true // plan stores nothing
		remember(&cfg, w, slog.New(slog.DiscardHandler))
		c, err := crawler.New(cfg, w)
		if err != nil {
			return cli.Usage("", "%w", err)
		}
		p, err := c.Plan(ctx)
		if err != nil {
			return explain(err)
		}
		if left := w.Leftover(); len(left) > 0 {
			words.Fprintf(stderr, "the journal contains records of a killed run; "+
				"the next run commits them first, so it needs fewer requests than shown\n")
		}
		number := func(r crawler.Range) plannedRange { return rangeOf(r, func(n int64) float64 { return float64(n) }) }
		all := p.Requests()
		out := plannedRun{
			Total: p.Total, Pages: number(p.Pages), Transcripts: number(p.Transcripts), Resources: number(p.Resources),
			Unasked: s.unasked(cfg.Resources), Requests: number(all), PlanningBy: p.Asked,
			Minutes: rangeOf(all, func(n int64) float64 { return math.Ceil(crawler.Takes(&cfg.Config, n).Minutes()*10) / 10 }),
		}
		if snapshot := w.Snapshot(); snapshot != nil {
			out.Known = snapshot.Manifest.Rows(schema.Calls.Name)
		}
		if asJSON {
			return writeJSON(stdout, out)
		}
		return s.print(stdout, func(text io.Writer) { writePlan(text, &out, &p, &cfg) })
	})
}

// writePlan prints a plan as text.
func writePlan(w io.Writer, out *plannedRun, p *crawler.Plan, cfg *crawler.Config) {
	has := "does not report its number of calls"
	if p.Total >= 0 {
		has = "has " + humanize.Comma(p.Total) + " calls"
	}
	words.Fprintf(w, "The service %s, the warehouse %s. A run without failures takes about:\n", has, humanize.Comma(out.Known))
	transcripts := "one for each call that connected"
	if p.Transcripts.Least > 0 && p.Transcripts.Least != p.Transcripts.Most {
		transcripts = "few if the service has v2 pages, else " + transcripts
	}
	if cfg.ListOnly {
		transcripts = "not with --list-only"
	}
	for _, part := range []struct {
		name     string
		requests crawler.Range
		note     string
	}{
		{"list", p.Pages, ""},
		{"transcripts", p.Transcripts, transcripts},
		{"resources", p.Resources, "agents, campaigns and other resources; more if many objects are new"},
		{"together", p.Requests(), ""},
	} {
		unit := "requests"
		if part.requests.Least == 1 && part.requests.Most == 1 {
			unit = "request " // as wide as the others
		}
		line := fmt.Sprintf("  %-11s %17s %s  %17s  %s", part.name, between(part.requests, humanize.Comma), unit,
			between(part.requests, func(n int64) string { return cli.Clock(crawler.Takes(&cfg.Config, n)) }), part.note)
		words.Fprintln(w, strings.TrimRight(line, " "))
	}
	if out.Unasked != "" {
		words.Fprintf(w, "Not requested: %s.\n", out.Unasked)
	}
	words.Fprintf(w, "Planning used %s of the service's requests.\n", humanize.Comma(out.PlanningBy))
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
