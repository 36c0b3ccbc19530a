package extractcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/crawler"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
)

// commitGrace bounds the last commit after an interrupt. A service manager that
// stops a run usually waits 90 seconds before it kills.
const commitGrace = 80 * time.Second

// run fetches what is new or changed, and commits it.
func run(ctx context.Context, s *settings, stderr io.Writer) error {
	started := s.now()
	cfg, err := s.crawl(started)
	if err != nil {
		return err
	}
	id := runIDAt(started)
	screen := newScreen(stderr, s.quiet)
	// Where bars tell how it goes, the log keeps to what goes wrong.
	log := logger(screen.out, s.logFormat, s.quiet || screen.bars != nil && s.logFormat == "text")
	row, rep, err := collect(ctx, s, cfg, id, started, log, screen)
	screen.close()
	if row != nil && !s.quiet {
		snapshot := ""
		if now, err := layout.Current(s.warehouse); err == nil {
			snapshot = now.Dir
		}
		writeReport(stderr, row, rep, snapshot)
	}
	return err
}

// collect opens the warehouse, lets the crawler fill it, and makes the last
// commit, whatever became of the crawl. row is nil when it did not come so far.
func collect(ctx context.Context, s *settings, cfg crawler.Config, id string, started time.Time,
	log *slog.Logger, screen *screen) (row *schema.Run, rep *crawler.Report, err error) {
	w, err := sink.Open(sink.Options{Root: s.warehouse, RunID: id, Now: s.now})
	if err != nil {
		return nil, nil, explain(err)
	}
	defer func() {
		if cerr := w.Close(); cerr != nil && err == nil {
			err = explain(cerr)
		}
	}()
	if killed := w.Leftover(); len(killed) > 0 {
		did, err := w.Recover(ctx)
		if err != nil {
			return nil, nil, explain(err)
		}
		log.Info("took in what a killed run had fetched", "run", killed[len(killed)-1],
			"calls_new", did.New, "calls_changed", did.Changed, "transcripts", did.Transcripts)
	}
	remember(&cfg, w, log)
	cfg.Logger, cfg.Now, cfg.CheckpointEvery = log, s.now, offerEvery

	st := &store{Warehouse: w, now: s.now, last: started}
	c, err := crawler.New(cfg, st)
	if err != nil {
		return nil, nil, cli.Usage("", "%w", err)
	}
	st.row = func(did sink.Stats, commits int64) schema.Run {
		p := c.Progress()
		return runRow(id, cfg.Version, started, &p, nil, did, commits)
	}
	st.over = func() bool { return c.Progress().Phase == crawler.Finishing }
	log.Info("run started", "run", id, "warehouse", s.warehouse, "service", cfg.BaseURL, "key_from", cfg.KeySource)
	watch := screen.watch(log, c.Progress)
	report, crawlErr := c.Run(ctx)
	watch.stop()
	outcome, crawlErr := judge(&report, crawlErr)

	// Also when the run was interrupted: what came in is committed.
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitGrace)
	defer cancel()
	err = st.settle()
	if err == nil {
		err = w.Commit(grace, func(did sink.Stats, commits int64) schema.Run {
			last := runRow(id, cfg.Version, started, &report.Progress, report.DriftFields, did, commits)
			last.EndedAt = schema.Some(s.now().UnixMilli())
			last.Outcome = outcome
			if crawlErr != nil {
				last.Error = crawlErr.Error()
			}
			row = &last
			return last
		})
	}
	if err != nil {
		if crawlErr != nil {
			err = fmt.Errorf("%w; before that: %w", err, crawlErr)
		}
		return nil, nil, explain(err)
	}
	return row, &report, explain(crawlErr)
}

// runIDAt names a run that starts at now.
func runIDAt(now time.Time) string { return layout.RunID(now, rand.Uint32()) }

// remember lets the budget go on from what the runs before this one spent, and
// keeps for the next one what this one spends.
func remember(cfg *crawler.Config, w *sink.Warehouse, log *slog.Logger) {
	cfg.Version = cli.Version()
	for _, sp := range w.Recall() {
		cfg.Recall = append(cfg.Recall, crawler.Spend(sp))
	}
	cfg.Note = func(slot int, sp crawler.Spend) {
		if err := w.Note(slot, sink.Spend(sp)); err != nil {
			log.Warn("cannot note a request for the runs after this one", "error", err)
		}
	}
}

// judge says what became of a crawl: its word for the table runs, and its error
// with the exit code, nil when all was done.
func judge(rep *crawler.Report, err error) (outcome string, _ error) {
	switch {
	case rep.Interrupted || errors.Is(err, context.Canceled):
		return schema.OutcomeInterrupted, cli.Fail(cli.ExitInterrupted, errors.New("interrupted"),
			"what was fetched is committed; run again to go on")
	case err != nil:
		return schema.OutcomeFailed, explain(err)
	case rep.DeadlineHit:
		return schema.OutcomeIncomplete, cli.Fail(cli.ExitIncomplete, errors.New("the time was up before all was fetched"),
			"what was fetched is committed; the next run goes on")
	case !rep.Complete():
		return schema.OutcomeIncomplete, cli.Fail(cli.ExitIncomplete, errors.New("not everything could be fetched"),
			"what was fetched is committed; the next run tries the rest again")
	}
	return schema.OutcomeDone, nil
}

// logger writes to out: warnings only when quiet.
func logger(out io.Writer, format string, quiet bool) *slog.Logger {
	opts := &slog.HandlerOptions{Level: slog.LevelInfo}
	if quiet {
		opts.Level = slog.LevelWarn
	}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(out, opts))
	}
	return slog.New(slog.NewTextHandler(out, opts))
}
