package extractcmd

import (
	"context"
	"log/slog"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/status"
	"callhouse/internal/api"
	"callhouse/internal/crawler"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/wire"
)

// job is what the commands have in common that request data from the service: a warehouse, the crawler
// that fills it, and the row of the table runs.
type job struct {
	*settings
	id      string
	begun   time.Time // by this machine's clock
	started time.Time // by the service's, once it is known
	running string    // outcome of the row until the command ends
	log     *slog.Logger
	cfg     crawler.Config
	w       *sink.Warehouse
	crawler *crawler.Crawler
	rep     *crawler.Report // the result; nil: the crawl did not start, or goes on
	retention
}

// open opens the warehouse for use, and closes it.
func (j *job) open(opts sink.Options, use func() error) error {
	opts.Records, opts.ProblemOf = true, func(err error) string { return string(problemOf(err)) }
	return j.openWith(opts, func(w *sink.Warehouse) error {
		j.w = w
		return use()
	})
}

// connect creates the crawler, which the caller closes. It must follow startMask. over reports that the
// crawl is over; then the command itself makes the commit.
func (j *job) connect(over func() bool) (err error) {
	cfg := &j.cfg
	remember(cfg, j.w, j.log)
	if cfg.Recordings, err = j.openArchive(j.w); err != nil {
		return err
	}
	cfg.Logger, cfg.Now, cfg.AnyClock = j.log, j.Now, j.Yes
	cfg.Known = j.w.From(cfg.BaseURL, string(cfg.Key), j.Adopt)
	j.w.Schedule(j.current, over)
	if j.crawler, err = crawler.New(*cfg, j.w); err != nil {
		if cfg.Recordings != nil {
			cfg.Recordings.Close()
		}
		return cli.Usage("", "%w", err)
	}
	return nil
}

// begin sends the first request. Then the service's clock is known, by which the start, the listed
// period and the retention are computed again, and the records that killed runs had fetched are
// committed, also if the service does not respond: down.
func (j *job) begin(ctx context.Context) (down, err error) {
	if down = j.crawler.Begin(ctx); cli.Is[*api.ClockError](down) {
		return down, down // nothing is committed, and no age is computed
	}
	if down == nil {
		j.started = j.Clock.At(j.begun)
		since, err := j.listFrom(j.started)
		if err == nil {
			j.crawler.SetSince(since)
			err = j.setRetention(j.started)
		}
		if err != nil {
			return nil, err
		}
	}
	if killed := j.w.Leftover(); len(killed) > 0 {
		did, err := j.w.Recover(ctx)
		if err != nil {
			return down, err
		}
		j.log.Info("committed records of a killed run", "run", killed[len(killed)-1],
			"calls_new", did.New, "calls_changed", did.Changed, "transcripts", did.Transcripts)
	}
	if calls := j.w.NormalizePhones(ctx); calls > 0 { // the country has changed
		j.log.Info("rewrote stored telephone numbers for the country", "calls", calls)
	}
	return down, nil
}

// current returns the row of a command that continues.
func (j *job) current(did sink.Stats, commits int64) schema.Run {
	return j.rowOf(j.running, nil, did, commits)
}

// rowOf returns the command's row of the table runs.
func (j *job) rowOf(outcome string, err error, did sink.Stats, commits int64) schema.Run {
	p := crawler.Progress{TotalCount: -1}
	var drift wire.DriftCounts
	switch {
	case j.rep != nil:
		p, drift = j.rep.Progress, j.rep.DriftFields
	case j.crawler != nil:
		p = j.crawler.Progress()
	}
	row := status.Row(j.id, j.started, &p, drift, did, commits, j.Secrets)
	row.Outcome = outcome
	if outcome != schema.OutcomeRunning && outcome != schema.OutcomeFollowing {
		row.EndedAt = schema.Some(max(j.Now().UnixMilli(), row.StartedAt)) // a clock may have been set back
	}
	if err != nil {
		row.Error, row.Problem = j.Secrets.Error(err), string(problemOf(err))
	}
	return row
}
