package extractcmd

import (
	"context"
	"log/slog"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/extractcmd/settings"
	"callhouse/cmd/internal/status"
	"callhouse/internal/crawler"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/wire"
)

// job is what the commands have in common that request data from the service: a warehouse, the crawler
// that fills it, and the row of the table runs.
type job struct {
	*settings.Settings
	id      string
	started time.Time
	running string // outcome of the row until the command ends
	log     *slog.Logger
	cfg     crawler.Config
	w       *sink.Warehouse
	crawler *crawler.Crawler
	rep     *crawler.Report // the result; nil: the crawl did not start, or goes on
	retention
}

// open opens the warehouse for use, and closes it.
func (j *job) open(opts sink.Options, use func() error) (err error) {
	opts.Records, opts.ProblemOf = true, func(err error) string { return string(settings.ProblemOf(err)) }
	if j.w, err = sink.Open(opts); err != nil {
		return settings.Explain(err)
	}
	defer func() {
		if cerr := j.w.Close(); cerr != nil && err == nil {
			err = settings.Explain(cerr)
		}
	}()
	return use()
}

// connect creates the crawler, which the caller closes. It must follow StartMask. over reports that the
// crawl is over; then the command itself makes the commit.
func (j *job) connect(ctx context.Context, over func() bool) (err error) {
	cfg := &j.cfg
	settings.Remember(cfg, j.w, j.log)
	if cfg.Recordings, err = j.OpenArchive(ctx, j.w); err != nil {
		return err
	}
	cfg.Logger, cfg.Now, cfg.AnyClock = j.log, j.Now, j.Yes
	j.w.From(cfg.BaseURL, string(cfg.Key), j.Adopt)
	j.w.Schedule(j.current, over)
	if j.crawler, err = crawler.New(*cfg, j.w); err != nil {
		if cfg.Recordings != nil {
			cfg.Recordings.Close()
		}
		return cli.Usage("", "%w", err)
	}
	return nil
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
		row.Error, row.Problem = j.Secrets.Error(err), string(settings.ProblemOf(err))
	}
	return row
}
