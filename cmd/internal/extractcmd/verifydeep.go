package extractcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"slices"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/intake"
	"callhouse/cmd/internal/progress"
	"callhouse/internal/crawler"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/scratch"
	"callhouse/internal/sink"
)

// What ended the questions early.
const (
	interrupted = "interrupted"
	timeUp      = "the time was up"
)

// questions are what a deep verification asks the service.
type questions struct {
	*settings
	cfg    crawler.Config
	sample int // details; everything for all of them
	stderr io.Writer
}

// ask lists the calls anew, fetches the sample, and compares. What the service
// says becomes a warehouse of its own, in a temporary folder: so it takes no
// more memory than a run, and both are read in one order, side by side.
//
// It holds the warehouse from beginning to end: two programs must not spend one
// budget, and this one remembers what the last one spent.
func (q *questions) ask(ctx context.Context) (_ *serviceReport, err error) {
	started := q.now()
	opts := q.options(runIDAt(started))
	opts.ReadOnly = true
	w, err := sink.Open(opts)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	dir, err := scratch.Make("callhouse-verify-")
	if err != nil {
		return nil, fmt.Errorf("keep what the service says: %w", err)
	}
	defer func() { err = errors.Join(err, dir.Remove()) }()
	heard, err := sink.Open(sink.Options{Root: filepath.Join(dir.Path, "heard"), RunID: runIDAt(started), Now: q.now})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, heard.Close()) }()
	if err := q.startMask(w, heard); err != nil {
		return nil, err
	}

	rep, err := q.listen(ctx, w, heard)
	if err != nil {
		return nil, err
	}
	c, err := newComparison(w.Snapshot(), heard.Snapshot(), &q.cfg, q.now().UnixMilli())
	if err != nil {
		return nil, err
	}
	// Also when it was interrupted: what has come in was paid for.
	if err := c.run(context.WithoutCancel(ctx)); err != nil {
		return nil, err
	}
	r := &c.report
	r.Requests, r.Pages, r.Details, r.Retries = rep.Requests, rep.PageRequests, rep.DetailRequests, rep.Retries
	r.Seconds, r.SetAside = rep.Elapsed.Seconds(), rep.SetAside
	r.Problems = append(r.Problems, rep.Problems...)
	switch {
	case rep.Interrupted:
		r.Stopped = interrupted
	case rep.DeadlineHit:
		r.Stopped = timeUp
	}
	return r, nil
}

// listen fills a warehouse with what the service says now.
func (q *questions) listen(ctx context.Context, w, heard *sink.Warehouse) (rep crawler.Report, err error) {
	screen := progress.NewScreen(q.stderr, q.quiet)
	defer screen.Close()
	log := screen.Logger(screen.Out, q.logFormat, q.quiet)
	q.warnPlain(log)
	cfg := q.cfg
	remember(&cfg, w, log)
	cfg.Logger, cfg.Now, cfg.CheckpointEvery, cfg.Full, cfg.AnyClock = log, q.now, intake.OfferEvery, true, true

	sample, err := q.choose(ctx, w.Snapshot())
	if err != nil {
		return rep, err
	}
	st := intake.New(heard, q.now)
	st.Row = func(sink.Stats, int64) schema.Run {
		return schema.Run{ID: heard.RunID(), StartedAt: q.now().UnixMilli(), Outcome: schema.OutcomeRunning}
	}
	c, err := crawler.New(cfg, &listener{Store: st, asked: w.Snapshot(), since: cfg.Since.UnixMilli(), all: q.sample == everything, sample: sample})
	if err != nil {
		return rep, cli.Usage("", "%w", err)
	}
	st.Over = func() bool { return c.Progress().Phase == crawler.Finishing }
	log.Info("asking the service what the warehouse should hold", "service", cfg.BaseURL, "key_from", cfg.KeySource)
	watch := screen.Watch(log, c.Progress)
	rep, err = c.Run(ctx)
	watch.Stop()
	if err = errors.Join(err, st.Settle()); err != nil {
		return rep, unanswered(err)
	}
	return rep, heard.Commit(context.WithoutCancel(ctx), st.Row)
}

// unanswered explains why the service could not be asked, where a run would say
// what became of its calls.
func unanswered(err error) error {
	var auth *crawler.AuthError
	var down *crawler.ServiceDownError
	switch {
	case errors.As(err, &auth):
		return cli.Fail(cli.ExitFailed, err, "check the key in the service's dashboard; the warehouse itself is whole")
	case errors.As(err, &down):
		return cli.Fail(cli.ExitFailed, err, "try again later; the warehouse itself is whole")
	}
	return err
}

// choose draws the calls whose details are asked for, newest first: each of
// those that have one is as likely as any other.
func (q *questions) choose(ctx context.Context, s *layout.Snapshot) (out []schema.Due, err error) {
	if q.sample <= 0 {
		return nil, nil
	}
	var seen int64
	for call, err := range sink.CallRows(ctx, s) {
		if err != nil {
			return nil, err
		}
		if !comparable(call, q.cfg.Since.UnixMilli()) {
			continue
		}
		seen++
		at := len(out)
		if at == q.sample {
			if at = int(rand.Int64N(seen)); at >= q.sample {
				continue
			}
		} else {
			out = append(out, schema.Due{})
		}
		out[at] = schema.Due{CallID: string(call.ID), StartAt: call.StartAt}
	}
	slices.SortFunc(out, func(a, b schema.Due) int { return cmp.Compare(b.StartAt.V, a.StartAt.V) })
	return out, nil
}

// comparable says whether the warehouse holds a call's own record, to compare.
func comparable(c *schema.Call, since int64) bool {
	known := c.TurnCount.OK && (c.TranscriptState == schema.Present || c.TranscriptState == schema.Empty)
	return known && (!c.StartAt.OK || c.StartAt.V >= since)
}

// listener is the store of a crawler that only listens: what is due is what the
// sample says.
type listener struct {
	*intake.Store
	asked  *layout.Snapshot
	since  int64
	all    bool
	sample []schema.Due
}

// Due implements crawler.Store.
func (l *listener) Due(ctx context.Context, _ schema.DueScope) iter.Seq2[schema.Due, error] {
	return func(yield func(schema.Due, error) bool) {
		for _, d := range l.sample {
			if !yield(d, nil) {
				return
			}
		}
		if !l.all {
			return
		}
		for call, err := range sink.CallRows(ctx, l.asked) {
			if err != nil {
				yield(schema.Due{}, err)
				return
			}
			if comparable(call, l.since) && !yield(schema.Due{CallID: string(call.ID), StartAt: call.StartAt}, nil) {
				return
			}
		}
	}
}

// DueCount tells the progress how many there are, at the most.
func (l *listener) DueCount(schema.DueScope) int64 {
	if l.all {
		return l.asked.Manifest.Rows(schema.Calls.Name)
	}
	return int64(len(l.sample))
}

// Coverage implements crawler.Store: nothing is taken for listed.
func (l *listener) Coverage() []schema.Span { return nil }
