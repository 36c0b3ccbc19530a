package extractcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
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
	"callhouse/internal/words"
)

// night is one run, and what is reported of it when it is over.
type night struct {
	*settings.Settings
	id      string
	begun   time.Time // by this machine's clock
	started time.Time
	log     *slog.Logger
	screen  *progress.Screen
	cfg     crawler.Config
	retention
	aged    int64 // calls past it that were erased
	objects int64 // of other resources, how many changed

	held     bool            // it got the lock
	row      *schema.Run     // of the table runs; nil: it did not get the lock
	rep      *crawler.Report // nil: it did not come to crawl
	failures []string        // of the data tests

	poll atomic.Pointer[func() crawler.Progress] // how the crawl goes; nil: it has not begun
}

// run fetches what is new or changed, and commits it. Then it reports: to a person,
// to the metrics, to the ping.
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
		n.warnRoot()
		err = n.collect(ctx)
	}
	n.screen.Close()
	n.logTo(stderr) // the bars take nothing more
	n.report(stderr)
	err = n.toLake(ctx, err)
	n.alert(ctx, err)
	n.publish(err)
	ping.Send(ctx, n.PingURL, err, n.Secrets, n.log)
	return n.logged(err)
}

// warnRoot warns where root is about to make files in another user's warehouse.
func (n *night) warnRoot() {
	if os.Geteuid() != 0 {
		return
	}
	if owner, others := cli.OwnerOf(n.Warehouse); others {
		n.log.Warn("the warehouse belongs to "+owner+", but files created by root will not: run this as "+owner+
			", or restore the owner afterwards (chown -R)",
			"warehouse", n.Warehouse)
	}
}

// logTo sends the log to out.
func (n *night) logTo(out io.Writer) {
	n.log = n.screen.Logger(out, n.LogFormat, n.Quiet)
	if n.Profile != "" && n.LogFormat == "json" {
		n.log = n.log.With("profile", n.Profile)
	}
}

// collect opens the warehouse, lets the crawler fill it, and makes the last commit,
// even if the crawl failed. The table runs always gets a row of the run, at the
// latest from the next run.
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
		w.Unrecorded() // its times would be wrong too; or nothing was asked
	case err != nil && n.row == nil:
		n.record(w, err)
	}
	for _, what := range w.Notices() {
		n.log.Warn("mended", "what", what)
	}
	return err
}

// fill crawls and commits. The run's row is set once it is committed.
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
	// Before the service's clock is known, nothing is committed, and no age is
	// computed.
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
	if errors.Is(taken, errNotReady) { // the service did not answer: what is there is taken in all the same
		before, taken = n.takeIn(ctx, w)
	}
	if taken != nil {
		return settings.Explain(taken)
	}
	if crawlErr == nil && ctx.Err() == nil && n.undeleted == nil { // the recordings of those who opted out meanwhile
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
	if err == nil && outcome != schema.OutcomeDone && w.Empty() { // then there is no warehouse
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

// setClock goes over to the service's clock, once that is known: the run began by it, and what it
// lists and keeps goes by it.
func (n *night) setClock(c *crawler.Crawler) error {
	n.started = n.Clock.At(n.begun)
	since, err := n.ListFrom(n.started)
	if err == nil {
		c.SetSince(since)
		err = n.setKept(n.Settings, n.started)
	}
	return err
}

// sayHow says, in the first run of a warehouse, how much of the budget a run may
// use.
func (n *night) sayHow(cfg *crawler.Config) {
	said := fmt.Sprintf("first run: it may use %d requests per second and %d per minute, which the whole organisation shares, "+
		"and yields to other clients; --share 0.5 always leaves half to them", cfg.PerSecond, cfg.PerMinute)
	if n.screen.Draws() && n.LogFormat == "text" { // then the log keeps to what goes wrong
		words.Fprintf(n.screen.Out, "%s\n", said)
	} else {
		n.log.Info(said)
	}
}

var errNotReady = errors.New("the service has not responded yet")

// takeIn commits what killed runs had fetched, and returns the snapshot that this
// run starts from.
func (n *night) takeIn(ctx context.Context, w *sink.Warehouse) (*layout.Snapshot, error) {
	if killed := w.Leftover(); len(killed) > 0 {
		did, err := w.Recover(ctx)
		if err != nil {
			return nil, err
		}
		n.log.Info("committed records of a killed run", "run", killed[len(killed)-1],
			"calls_new", did.New, "calls_changed", did.Changed, "transcripts", did.Transcripts)
	}
	return w.Snapshot(), nil
}

// commit makes the last commit. A run that came to its end also tidies up.
func (n *night) commit(ctx context.Context, w *sink.Warehouse, outcome string, row func(sink.Stats, int64) schema.Run) error {
	if outcome == schema.OutcomeDone || outcome == schema.OutcomeIncomplete {
		return w.Finish(ctx, row)
	}
	// Also when the run was interrupted: what came in is committed.
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), settings.CommitGrace)
	defer cancel()
	return w.Commit(grace, row)
}

// lastRow is the run's row at its end.
func (n *night) lastRow(outcome string, err error, did sink.Stats, commits int64) schema.Run {
	crawl := &crawler.Progress{TotalCount: -1}
	var drift map[crawler.DriftKey]int64
	if n.rep != nil {
		crawl, drift = &n.rep.Progress, n.rep.DriftFields
	}
	row := runreport.Row(n.id, cli.Version(), n.started, crawl, drift, did, commits, n.Secrets)
	row.EndedAt = schema.Some(max(n.Now().UnixMilli(), row.StartedAt)) // a clock may be set back
	row.Outcome = outcome
	if err != nil {
		row.Error, row.Problem = n.Secrets.Error(err), string(settings.ProblemOf(err))
	}
	return row
}

// record writes the row of a run that could not make its last commit.
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

// check runs the data tests on what the run committed. Where one fails, the
// run's row says so, and the run ends with exit code 3: what was committed stays.
func (n *night) check(ctx context.Context, w *sink.Warehouse, before *layout.Snapshot) error {
	did, _ := w.Totals()
	found, err := w.Check(context.WithoutCancel(ctx), before)
	if err != nil {
		n.failures = []string{"unreadable: " + err.Error()}
	} else {
		n.failures = runreport.DataTests(found, w.Snapshot(), before, did, n.row, n.rep)
	}
	if n.cfg.Since.IsZero() {
		n.failures = append(n.failures, runreport.TotalTest(w.Snapshot(), n.row)...)
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
		return nil // it has failed for another reason, which its caller tells
	}
	return cli.Fail(cli.ExitIncomplete, failed, "fetched data is committed; extract verify checks the whole "+
		"warehouse, extract rollback undoes this run")
}
