package extractcmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/status"
	"callhouse/internal/api"
	"callhouse/internal/crawler"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
)

// night is one run and the data of its final report.
type night struct {
	job
	screen *screen
	did    sink.Stats // by its commits

	held     bool        // acquired the lock
	row      *schema.Run // of the table runs; nil: it did not acquire the lock
	failures []string    // of the data tests
	next     int64       // requests of the next night; -1: unknown
}

// run fetches new and changed calls and commits them. Then it prints its report and writes the metrics.
func run(ctx context.Context, s *settings, stderr io.Writer) error {
	n := &night{job: job{settings: s, begun: s.Clock.Local(), started: s.Now(), running: schema.OutcomeRunning},
		screen: newScreen(stderr, s.Quiet), next: -1}
	n.id = runID(n.started)
	n.log = n.screen.logger(n.screen.out)
	cfg, err := s.crawlConfig(n.started)
	if err == nil {
		err = n.setRetention(n.started)
	}
	if err == nil {
		n.cfg = cfg
		n.warnPlain(n.log)
		err = n.open(n.options(n.id), func() error { return n.collect(ctx) })
	}
	n.screen.close()
	n.log = n.screen.logger(stderr) // the status line has ended
	if n.row != nil && !n.Quiet {
		r := status.Report{Row: n.row, Crawl: n.rep, ListOnly: n.ListOnly, Failures: n.failures, Did: n.did, ErasedBefore: n.callsFrom,
			Next: n.next, NextTakes: crawler.Takes(&n.cfg.Config, n.next)}
		if now, err := layout.Current(n.Warehouse); err == nil {
			r.Snapshot = now.Dir
		}
		r.Write(stderr)
	}
	n.alert(ctx, err)
	n.publish(err)
	return err
}

// collect lets the crawler fill the warehouse, and makes the last commit, even if the crawl failed.
// Every run gets a row in the table runs; if this commit fails, the next run adds the row.
func (n *night) collect(ctx context.Context) error {
	n.held = true
	defer n.heartbeat()()
	err := n.fill(ctx)
	switch {
	case cli.Is[*api.ClockError](err), cli.Code(err) == cli.ExitUsage:
		n.w.Unrecorded() // either nothing was requested, or the row's times would be as wrong as the clock
	case err != nil && n.row == nil:
		n.record(err)
	}
	return err
}

// fill crawls and commits.
func (n *night) fill(ctx context.Context) error {
	if err := n.prepare(ctx); err != nil {
		return err
	}
	defer n.crawler.Close()
	stop := n.screen.watch(n.log, n.crawler.Progress)
	down, err := n.begin(ctx)
	before := n.w.Snapshot() // the run starts from it
	if err == nil && down == nil {
		if err = n.limitErased(); err == nil {
			err = n.prune(ctx)
		}
	}
	var crawlErr error
	if err == nil {
		var report crawler.Report
		report, crawlErr = n.crawler.Run(ctx)
		n.rep = &report
	}
	stop()
	if err != nil {
		report := n.crawler.Report()
		n.rep = &report
		return explain(err)
	}
	if crawlErr == nil && ctx.Err() == nil && n.undeleted == nil { // the recordings of callers who opted out meanwhile
		if crawlErr = n.prune(ctx); ctx.Err() != nil {
			crawlErr = nil
		}
	}
	outcome, crawlErr := status.Judge(n.rep, crawlErr)
	crawlErr = explain(crawlErr)
	if left := cmp.Or(n.notErased, n.undeleted, status.Unchecked(n.w.Redacted(), status.Requested)); crawlErr == nil && left != nil {
		outcome, crawlErr = schema.OutcomeIncomplete, left
	}
	if err := n.w.Settle(); err != nil {
		return explain(after(err, crawlErr))
	}
	if outcome != schema.OutcomeDone && n.w.Empty() { // the first run has created no warehouse
		n.record(crawlErr)
		return crawlErr
	}
	if err := n.commit(ctx, outcome, crawlErr); err != nil {
		return explain(after(err, crawlErr))
	}
	n.forecast(ctx)
	if err := n.check(ctx, before); err != nil {
		return err
	}
	return crawlErr
}

// forecast computes what a run in a day costs, from the same facts as plan.
func (n *night) forecast(ctx context.Context) {
	cfg, at := n.cfg, n.Now().Add(24*time.Hour)
	cfg.Clock, cfg.Now, cfg.Recordings, cfg.Full = nil, func() time.Time { return at }, nil, false
	if c, err := crawler.New(cfg, n.w); err == nil && n.row.Outcome != schema.OutcomeFailed {
		if p, err := c.Forecast(ctx, n.rep.TotalCount); err == nil {
			n.next = p.Pages + p.Transcripts + p.Resources
		}
	}
}

// after adds an earlier error to one.
func after(err, earlier error) error {
	if earlier == nil {
		return err
	}
	return fmt.Errorf("%w; before that: %w", err, earlier)
}

// prepare connects the crawler to the warehouse.
func (n *night) prepare(ctx context.Context) error {
	n.NoDelay = true
	if err := n.startMask(n.w); err != nil {
		return err
	}
	cfg := &n.cfg
	if left := unmasked(cfg.Resources, n.w); len(left) < len(cfg.Resources) {
		n.log.Info("customers are not fetched, because calls are masked or redacted")
		cfg.Resources = left
	}
	if err := n.w.TryService(); err != nil {
		n.log.Warn("transcripts are not requested, because the service of --redact-service does not check them", "error", n.Secrets.Error(err))
		cfg.ListOnly = true
	}
	cfg.CheckpointEvery = sink.OfferEvery
	if err := n.connect(func() bool { return n.crawler.Progress().Phase == crawler.Finishing }); err != nil {
		return err
	}
	n.log.Info("run started", "run", n.id, "warehouse", n.Warehouse, "service", cfg.BaseURL, "key_from", cfg.KeySource)
	return nil
}

// commit makes the last commit, with the run's row. A completed run also cleans up.
func (n *night) commit(ctx context.Context, outcome string, failed error) error {
	var last schema.Run
	row := func(did sink.Stats, commits int64) schema.Run {
		last = n.rowOf(outcome, failed, did, commits)
		return last
	}
	commit := n.w.Finish
	if outcome != schema.OutcomeDone && outcome != schema.OutcomeIncomplete {
		commit = n.w.Commit
		// Even after an interrupt, the fetched records are committed.
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitGrace)
		defer cancel()
		ctx = grace
	}
	if err := commit(ctx, row); err != nil {
		return err
	}
	n.row = &last
	if n.did, _ = n.w.Totals(); n.did.Aged > 0 {
		n.log.Info("erased calls past their retention", "calls", n.did.Aged, "started_before", n.callsFrom)
	}
	return nil
}

// record writes the row of a run that failed before its last commit succeeded.
func (n *night) record(err error) {
	outcome := schema.OutcomeFailed
	switch cli.Code(err) {
	case cli.ExitInterrupted:
		outcome = schema.OutcomeInterrupted
	case cli.ExitIncomplete:
		outcome = schema.OutcomeIncomplete
	}
	did, commits := n.w.Totals()
	row := n.rowOf(outcome, err, did, commits)
	n.row = &row
	if n.w.Empty() { // status knows of it
		if err := n.w.NoteFirst(row.Error, row.Problem); err != nil {
			n.log.Warn("extract status does not show this run", "error", err)
		}
		return
	}
	grace, cancel := context.WithTimeout(context.Background(), commitGrace)
	defer cancel()
	if err := n.w.Record(grace, row); err != nil {
		n.log.Warn("cannot write this run's row in the table runs; the next run writes it", "error", err)
	}
}

// check runs the data tests on the run's commits. If one fails, the run's row records it and the run
// exits with code 3; the committed data stays.
func (n *night) check(ctx context.Context, before *layout.Snapshot) error {
	found, err := n.w.Check(context.WithoutCancel(ctx), before)
	if err != nil {
		n.failures = []string{"unreadable: " + err.Error()}
	} else {
		n.failures = status.DataTests(found, n.w.Snapshot(), before, n.did)
	}
	if len(n.failures) == 0 {
		return nil
	}
	failed := fmt.Errorf("%s failed: %s", cli.Plural(int64(len(n.failures)), "data test"), n.failures[0])
	row := *n.row
	if row.Error != "" {
		row.Error += "; "
	}
	row.Error += n.Secrets.Error(failed)
	if row.Outcome == schema.OutcomeDone {
		row.Outcome, row.Problem = schema.OutcomeIncomplete, string(cli.Incomplete)
	}
	n.row = &row
	if err := n.w.Record(context.WithoutCancel(ctx), row); err != nil {
		return explain(err)
	}
	if row.Outcome != schema.OutcomeIncomplete {
		return nil // it failed for another reason, reported by the caller
	}
	return cli.Fail(cli.ExitIncomplete, failed, "fetched data is committed; extract verify checks the whole "+
		"warehouse, extract rollback undoes this run")
}
