package maintain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/compare"
	"callhouse/cmd/internal/extractcmd/settings"
	"callhouse/cmd/internal/intake"
	"callhouse/cmd/internal/progress"
	"callhouse/internal/api"
	"callhouse/internal/crawler"
	"callhouse/internal/schema"
	"callhouse/internal/scratch"
	"callhouse/internal/sink"
)

// questions are the parameters of a deep verification.
type questions struct {
	*settings.Settings
	cfg    crawler.Config
	sample int // records; compare.Everything for all
	stderr io.Writer
}

// ask lists all calls again, fetches the sample, and compares. The service's responses go into a
// second warehouse in a temporary folder. So the comparison needs no more memory than a run, and
// reads both side by side in the same order.
//
// It locks the warehouse throughout: two programs must not spend the same budget, and this one needs
// to know how much the last one spent.
func (q *questions) ask(ctx context.Context) (_ *compare.Report, err error) {
	started := q.Now()
	opts := q.Options(settings.RunID(started))
	opts.ReadOnly = true
	w, err := sink.Open(opts)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	dir, err := scratch.Make(scratch.Verify)
	if err != nil {
		return nil, fmt.Errorf("store the service's responses: %w", err)
	}
	defer func() { err = errors.Join(err, dir.Remove()) }()
	heard, err := sink.Open(sink.Options{Root: filepath.Join(dir.Path, "heard"), RunID: settings.RunID(started), Now: q.Now})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, heard.Close()) }()
	if err := q.StartMask(w, heard); err != nil {
		return nil, err
	}

	q.cfg.Resources = compare.Comparable(settings.Unmasked(q.cfg.Resources, w), w.Snapshot())
	rep, err := q.listen(ctx, w, heard)
	if err != nil {
		return nil, err
	}
	// Even after an interrupt: the requests are already spent.
	r, err := compare.Run(context.WithoutCancel(ctx), w.Snapshot(), heard.Snapshot(), q.cfg.Since, q.cfg.Window, q.Now(),
		q.cfg.Resources, rep.Resources)
	if err != nil {
		return nil, err
	}
	r.Requests, r.Pages, r.Details, r.Side, r.Retries = rep.Requests, rep.PageRequests, rep.DetailRequests, rep.SideRequests, rep.Retries
	r.Seconds, r.SetAside = rep.Elapsed.Seconds(), rep.SetAside
	r.Problems = append(r.Problems, rep.Problems...)
	switch {
	case rep.Interrupted:
		r.Stopped = compare.Interrupted
	case rep.DeadlineHit:
		r.Stopped = compare.TimeUp
	}
	return r, nil
}

// listen fills a warehouse with the service's current data.
func (q *questions) listen(ctx context.Context, w, heard *sink.Warehouse) (rep crawler.Report, err error) {
	screen := progress.NewScreen(q.stderr, q.Quiet)
	defer screen.Close()
	log := screen.Logger(screen.Out, q.LogFormat, q.Quiet)
	q.WarnPlain(log)
	cfg := q.cfg
	settings.Remember(&cfg, w, log)
	cfg.Transcripts, cfg.ListOnly = crawler.FromV3, false
	cfg.Logger, cfg.Now, cfg.CheckpointEvery, cfg.Full, cfg.AnyClock = log, q.Now, intake.OfferEvery, true, true

	st := intake.New(heard, q.Now)
	st.Row = func(sink.Stats, int64) schema.Run {
		return schema.Run{ID: heard.RunID(), StartedAt: q.Now().UnixMilli(), Outcome: schema.OutcomeRunning}
	}
	l, err := compare.Listen(ctx, st, w.Snapshot(), cfg.Since, q.sample, cfg.Resources)
	if err != nil {
		return rep, err
	}
	c, err := crawler.New(cfg, l)
	if err != nil {
		return rep, cli.Usage("", "%w", err)
	}
	st.Over = func() bool { return c.Progress().Phase == crawler.Finishing }
	log.Info("listing the service's data for comparison", "service", cfg.BaseURL, "key_from", cfg.KeySource)
	stop := screen.Watch(log, c.Progress)
	rep, err = c.Run(ctx)
	stop()
	if err = errors.Join(err, st.Settle()); err != nil {
		return rep, unanswered(err)
	}
	return rep, heard.Commit(context.WithoutCancel(ctx), st.Row)
}

// unanswered explains why the service could not be queried. Unlike in a run, no calls are affected.
func unanswered(err error) error {
	switch {
	case cli.Is[*api.AuthError](err):
		return cli.Fail(cli.ExitFailed, err, "check the key in the service's dashboard; the warehouse itself is intact")
	case cli.Is[*api.ServiceDownError](err):
		return cli.Fail(cli.ExitFailed, err, "try again later; the warehouse itself is intact")
	}
	return err
}
