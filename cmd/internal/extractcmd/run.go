package extractcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/extractcmd/settings"
	"callhouse/cmd/internal/intake"
	"callhouse/cmd/internal/ping"
	"callhouse/cmd/internal/progress"
	"callhouse/cmd/internal/runreport"
	"callhouse/internal/api"
	"callhouse/internal/crawler"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/wire"
	"callhouse/internal/words"
)

// night is one run and the data of its final report.
type night struct {
	*settings.Settings
	id      string
	begun   time.Time // by this machine's clock
	started time.Time
	log     *slog.Logger
	screen  *progress.Screen
	cfg     crawler.Config
	retention
	aged    int64 // number of calls erased by retention
	objects int64 // number of changed objects of other resources

	held     bool            // acquired the lock
	row      *schema.Run     // of the table runs; nil: it did not acquire the lock
	rep      *crawler.Report // nil: the crawl did not start
	failures []string        // of the data tests

	poll atomic.Pointer[func() crawler.Progress] // returns the crawl's progress; nil: it has not started
}

// run fetches new and changed calls and commits them. Then it prints its report, writes the metrics
// and sends the ping.
func run(ctx context.Context, s *settings.Settings, stderr io.Writer) error {
	n := &night{Settings: s, begun: s.Clock.Local(), started: s.Now(), screen: progress.NewScreen(stderr, s.Quiet)}
	n.id = settings.RunID(n.started)
	n.logTo(n.screen.Out)
	cfg, err := s.Crawl(n.started)
	if err == nil {
		err = n.setKept(s, n.started)
	}
	if err == nil {
		n.cfg = cfg
		n.WarnPlain(n.log)
		err = n.collect(ctx)
	}
	n.screen.Close()
	n.logTo(stderr) // the progress bars have ended
	n.report(stderr)
	err = n.toLake(ctx, err)
	n.alert(ctx, err)
	n.publish(err)
	ping.Send(ctx, n.PingURL, err, n.Secrets, n.log)
	return err
}

// logTo sends the log to out.
func (n *night) logTo(out io.Writer) {
	n.log = n.screen.Logger(out, n.Quiet)
}

// collect opens the warehouse, lets the crawler fill it, and makes the last commit, even if the crawl
// failed. Every run gets a row in the table runs; if this commit fails, the next run adds the row.
func (n *night) collect(ctx context.Context) (err error) {
	opts := n.Options(n.id)
	opts.Records, opts.ProblemOf = true, func(err error) string { return string(settings.ProblemOf(err)) }
	w, err := sink.Open(opts)
	if err != nil {
		return settings.Explain(err)
	}
	defer func() {
		if cerr := w.Close(); cerr != nil && err == nil {
			err = settings.Explain(cerr)
		}
	}()
	n.held = true
	defer n.pulse()()
	err = n.fill(ctx, w)
	switch {
	case cli.Is[*api.ClockError](err), cli.Code(err) == cli.ExitUsage:
		w.Unrecorded() // either nothing was requested, or the row's times would be as wrong as the clock
	case err != nil && n.row == nil:
		n.record(w, err)
	}
	for _, what := range w.Notices() {
		n.log.Warn("mended", "what", what)
	}
	return err
}

// fill crawls and commits. It sets the run's row after the commit.
func (n *night) fill(ctx context.Context, w *sink.Warehouse) error {
	log := n.log
	n.Hurried = true
	if err := n.StartMask(w, w); err != nil {
		return err
	}
	cfg := n.cfg
	if left := settings.Unmasked(cfg.Resources, w); len(left) < len(cfg.Resources) {
		log.Info("customers are not fetched, because calls are masked or redacted")
		cfg.Resources = left
	}
	settings.Remember(&cfg, w, log)
	if err := w.TryService(); err != nil {
		log.Warn("transcripts are not requested, because the service of --redact-service does not check them", "error", n.Secrets.Error(err))
		cfg.ListOnly = true
	}
	archive, err := n.OpenArchive(ctx, w)
	if err != nil {
		return err
	}
	if archive != nil {
		defer archive.Close()
		cfg.Recordings = archive
	}
	cfg.Logger, cfg.Now, cfg.CheckpointEvery, cfg.AnyClock = log, n.Now, intake.OfferEvery, n.Yes
	// Before the service's clock is known, nothing is committed and no age is computed.
	var c *crawler.Crawler
	var before *layout.Snapshot
	taken := errNotReady
	st := intake.New(w, n.Now)
	cfg.Ready = func(ctx context.Context) error {
		if err := n.setClock(c); err != nil {
			return err
		}
		if before, taken = n.takeIn(ctx, w); taken == nil {
			taken = n.spare(n.Settings, w)
		}
		if taken == nil {
			taken = n.prune(ctx, n.Settings, w, n.log, st.Row)
		}
		return taken
	}

	st.Gate = intake.NewGate(w, intake.OriginOf(&cfg), n.Adopt)
	c, err = crawler.New(cfg, st)
	if err != nil {
		return cli.Usage("", "%w", err)
	}
	st.Row = func(did sink.Stats, commits int64) schema.Run {
		p := c.Progress()
		return runreport.Row(n.id, cfg.Version, n.started, &p, nil, did, commits, n.Secrets)
	}
	st.Over = func() bool { return c.Progress().Phase == crawler.Finishing }
	log.Info("run started", "run", n.id, "warehouse", n.Warehouse, "service", cfg.BaseURL, "key_from", cfg.KeySource)
	if w.Snapshot() == nil {
		n.sayHow(&cfg)
	}
	poll := c.Progress
	n.poll.Store(&poll)
	stop := n.screen.Watch(log, poll)
	report, crawlErr := c.Run(ctx)
	stop()
	n.rep = &report
	if cli.Is[*api.ClockError](crawlErr) {
		return settings.Explain(crawlErr)
	}
	if errors.Is(taken, errNotReady) { // the service did not respond: commit the records of killed runs anyway
		before, taken = n.takeIn(ctx, w)
	}
	if taken != nil {
		return settings.Explain(taken)
	}
	if crawlErr == nil && ctx.Err() == nil && n.undeleted == nil { // the recordings of callers who opted out meanwhile
		if crawlErr = n.prune(ctx, n.Settings, w, log, st.Row); ctx.Err() != nil {
			crawlErr = nil
		}
	}
	outcome, crawlErr := runreport.Judge(&report, crawlErr)
	crawlErr = settings.Explain(crawlErr)
	if left := cmp.Or(n.spared, n.undeleted, runreport.Unchecked(w.Redacted(), runreport.Requested)); crawlErr == nil && left != nil {
		outcome, crawlErr = schema.OutcomeIncomplete, left
	}

	var last schema.Run
	row := func(did sink.Stats, commits int64) schema.Run {
		last = n.lastRow(outcome, crawlErr, did, commits)
		return last
	}
	err = st.Settle()
	if err == nil && outcome != schema.OutcomeDone && w.Empty() { // the first run has created no warehouse
		row(sink.Stats{}, 0)
		n.row = &last
		w.Unrecorded()
		return crawlErr
	}
	if err == nil {
		err = n.commit(ctx, w, outcome, row)
	}
	if err != nil {
		if crawlErr != nil {
			err = fmt.Errorf("%w; before that: %w", err, crawlErr)
		}
		return settings.Explain(err)
	}
	n.row = &last
	did, _ := w.Totals()
	n.objects = did.ObjectsChanged
	if did.Aged > 0 {
		n.aged = did.Aged
		log.Info("erased calls past their retention", "calls", n.aged, "started_before", n.kept)
	}
	if err := n.check(ctx, w, before); err != nil {
		return err
	}
	return settings.Explain(crawlErr)
}

// setClock switches to the service's clock once it is known: the run's start, the listed period and
// the retention are computed again.
func (n *night) setClock(c *crawler.Crawler) error {
	n.started = n.Clock.At(n.begun)
	since, err := n.ListFrom(n.started)
	if err == nil {
		c.SetSince(since)
		err = n.setKept(n.Settings, n.started)
	}
	return err
}

// sayHow prints, in the first run of a warehouse, how much of the budget a run may use.
func (n *night) sayHow(cfg *crawler.Config) {
	said := fmt.Sprintf("first run: it may use %d requests per second and %d per minute, which the whole organisation shares, "+
		"and yields to other clients; --share 0.5 always leaves half to them", cfg.PerSecond, cfg.PerMinute)
	if n.screen.Draws() { // then the log shows only warnings
		words.Fprintf(n.screen.Out, "%s\n", said)
	} else {
		n.log.Info(said)
	}
}

var errNotReady = errors.New("the service has not responded yet")

// takeIn commits the records that killed runs had fetched, applies a change of the country to stored
// numbers, and returns the snapshot that this run starts from.
func (n *night) takeIn(ctx context.Context, w *sink.Warehouse) (*layout.Snapshot, error) {
	if killed := w.Leftover(); len(killed) > 0 {
		did, err := w.Recover(ctx)
		if err != nil {
			return nil, err
		}
		n.log.Info("committed records of a killed run", "run", killed[len(killed)-1],
			"calls_new", did.New, "calls_changed", did.Changed, "transcripts", did.Transcripts)
	}
	if calls := w.Respell(ctx); calls > 0 {
		n.log.Info("rewrote stored telephone numbers for the country", "calls", calls)
	}
	return w.Snapshot(), nil
}

// commit makes the last commit. A completed run also cleans up.
func (n *night) commit(ctx context.Context, w *sink.Warehouse, outcome string, row func(sink.Stats, int64) schema.Run) error {
	if outcome == schema.OutcomeDone || outcome == schema.OutcomeIncomplete {
		return w.Finish(ctx, row)
	}
	// Even after an interrupt, the fetched records are committed.
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), settings.CommitGrace)
	defer cancel()
	return w.Commit(grace, row)
}

// lastRow returns the run's row at its end.
func (n *night) lastRow(outcome string, err error, did sink.Stats, commits int64) schema.Run {
	crawl := &crawler.Progress{TotalCount: -1}
	var drift wire.DriftCounts
	if n.rep != nil {
		crawl, drift = &n.rep.Progress, n.rep.DriftFields
	}
	row := runreport.Row(n.id, cli.Version(), n.started, crawl, drift, did, commits, n.Secrets)
	row.EndedAt = schema.Some(max(n.Now().UnixMilli(), row.StartedAt)) // a clock may have been set back
	row.Outcome = outcome
	if err != nil {
		row.Error, row.Problem = n.Secrets.Error(err), string(settings.ProblemOf(err))
	}
	return row
}

// record writes the row of a run that failed before its last commit succeeded.
func (n *night) record(w *sink.Warehouse, err error) {
	outcome := schema.OutcomeFailed
	if cli.Code(err) == cli.ExitInterrupted {
		outcome = schema.OutcomeInterrupted
	}
	did, commits := w.Totals()
	row := n.lastRow(outcome, err, did, commits)
	n.row = &row
	if w.Empty() {
		w.Unrecorded()
		return
	}
	grace, cancel := context.WithTimeout(context.Background(), settings.CommitGrace)
	defer cancel()
	if err := w.Record(grace, row); err != nil {
		n.log.Warn("cannot write this run's row in the table runs; the next run writes it", "error", err)
	}
}

// check runs the data tests on the run's commits. If one fails, the run's row records it and the run
// exits with code 3; the committed data stays.
func (n *night) check(ctx context.Context, w *sink.Warehouse, before *layout.Snapshot) error {
	did, _ := w.Totals()
	found, err := w.Check(context.WithoutCancel(ctx), before)
	if err != nil {
		n.failures = []string{"unreadable: " + err.Error()}
	} else {
		n.failures = runreport.DataTests(found, w.Snapshot(), before, did, n.row, n.rep)
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
	if err := w.Record(context.WithoutCancel(ctx), row); err != nil {
		return settings.Explain(err)
	}
	if row.Outcome != schema.OutcomeIncomplete {
		return nil // it failed for another reason, reported by the caller
	}
	return cli.Fail(cli.ExitIncomplete, failed, "fetched data is committed; extract verify checks the whole "+
		"warehouse, extract rollback undoes this run")
}
