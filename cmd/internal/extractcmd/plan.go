package extractcmd

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"strings"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/crawler"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/words"
)

// plannedRun is the JSON output of plan.
type plannedRun struct {
	crawler.Plan
	Known    int64   `json:"calls_known"`
	Requests int64   `json:"requests"`
	Minutes  float64 `json:"minutes"`
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
		out := plannedRun{Plan: p, Requests: p.Pages + p.Transcripts + p.Resources}
		out.Minutes = math.Ceil(crawler.Takes(&cfg.Config, out.Requests).Minutes()*10) / 10
		if snapshot := w.Snapshot(); snapshot != nil {
			out.Known = snapshot.Manifest.Rows(schema.Calls.Name)
		}
		if asJSON {
			return writeJSON(stdout, out)
		}
		return s.print(stdout, func(text io.Writer) { out.write(text, &cfg) })
	})
}

// write prints a plan as text.
func (p *plannedRun) write(w io.Writer, cfg *crawler.Config) {
	has := "does not report its number of calls: new ones come on top"
	if p.Total >= 0 {
		has = "has " + cli.Plural(p.Total, "call")
	}
	words.Fprintf(w, "The warehouse has %s, the service %s. A run without failures takes about:\n", cli.Plural(p.Known, "call"), has)
	transcripts := "at most: one per connected call; fewer if the service sends them in bulk"
	if cfg.ListOnly {
		transcripts = "not with --list-only"
	}
	for _, part := range []struct {
		name, note string
		requests   int64
	}{
		{"list", "", p.Pages}, {"transcripts", transcripts, p.Transcripts},
		{"resources", "lists of agents, campaigns and others; more for objects that are new", p.Resources}, {"together", "", p.Requests},
	} {
		n, unit, _ := strings.Cut(cli.Plural(part.requests, "request"), " ")
		line := fmt.Sprintf("  %-11s %9s %-8s  %7s  %s", part.name, n, unit,
			cli.Clock(crawler.Takes(&cfg.Config, part.requests)), part.note)
		words.Fprintln(w, strings.TrimRight(line, " "))
	}
}
