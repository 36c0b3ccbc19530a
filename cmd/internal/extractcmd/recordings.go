package extractcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/extractcmd/settings"
	"callhouse/cmd/internal/progress"
	"callhouse/cmd/internal/status"
	"callhouse/internal/crawler"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/words"
)

const recordingsAbout = `recordings stores the audio of calls in the archive that --recordings names, newest first. extract run
and extract follow also do this, so the command is needed only if they ran out of time, or for a
separate schedule. It lists no calls; it sends requests to the service only to replace expired links,
one request each.

Recordings that failed or were given up are tried at once, unless the link to one that was given up
has expired. Runs wait longer after each failure. First it deletes the recordings that must not be
kept, as every run does.

Exit codes: 0 nothing is due any more; 1 failed, nothing lost; 2 wrong use or configuration; 3 some
recordings are still due, or the archive failed; 4 another run holds the warehouse; 130 interrupted,
committed.`

func recordingsCommand(s *settings.Settings, stderr io.Writer) *cobra.Command {
	cmd := &cobra.Command{
		Use: "recordings", Short: "Store the audio of calls before their links expire", Long: recordingsAbout,
		Example: `  extract recordings --recordings /var/lib/callhouse/recordings
  extract recordings --recordings s3://bucket/recordings --max-duration 2h`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return archive(cmd.Context(), s, stderr) },
	}
	s.RunFlags(cmd)
	s.YesFlags(cmd)
	return cmd
}

// archive stores the due recordings.
func archive(ctx context.Context, s *settings.Settings, stderr io.Writer) error {
	if !s.Archives() {
		return cli.Usage("name a folder or a bucket: --recordings /var/lib/callhouse/recordings", "there is no archive of recordings")
	}
	started := s.Now()
	cfg, err := s.Crawl(started)
	if err != nil {
		return err
	}
	if _, err := s.Current(); err != nil {
		return err
	}
	screen := progress.NewScreen(stderr, s.Quiet)
	defer screen.Close()
	log := screen.Logger(screen.Out)
	s.WarnPlain(log)
	opts := s.Options(settings.RunID(started))
	var due int64
	var got crawler.Report
	var left error
	err = s.OpenWith(opts, func(w *sink.Warehouse) error {
		if _, err := w.Recover(ctx); err != nil {
			return err
		}
		a := archiving{Settings: s, w: w, started: started, id: opts.RunID}
		if err := a.run(ctx, &cfg, screen, log); err != nil {
			return err
		}
		due, got, left = w.Snapshot().Manifest.Recordings().Due, a.report, cmp.Or(a.undeleted, a.spared)
		return nil
	})
	screen.Close()
	if err != nil {
		return err
	}
	if !s.Quiet {
		words.Fprintf(s.Stderr, "recordings: %s\n", status.RecordingsText(got.Recordings, due))
	}
	return cmp.Or(judge(ctx, got.Recordings.Err, due), left)
}

// judge returns the error of an archiving run that left due recordings.
func judge(ctx context.Context, failed error, due int64) error {
	switch {
	case ctx.Err() != nil:
		return cli.Fail(cli.ExitInterrupted, errors.New("interrupted"), "stored recordings are committed; run again to continue")
	case failed != nil:
		return cli.Fail(cli.ExitIncomplete, failed, "check the archive (setting recordings) and run again")
	case due > 0:
		return cli.Fail(cli.ExitIncomplete, fmt.Errorf("recordings are still due: %d", due), "run again later")
	}
	return nil
}

// archiving is one execution of the command.
type archiving struct {
	*settings.Settings
	retention
	w       *sink.Warehouse
	started time.Time
	id      string
	c       *crawler.Crawler
	report  crawler.Report
}

func (a *archiving) run(ctx context.Context, cfg *crawler.Config, screen *progress.Screen, log *slog.Logger) error {
	if err := a.StartMask(a.w, a.w); err != nil {
		return err
	}
	store, err := a.OpenArchive(ctx, a.w)
	if err != nil {
		return err
	}
	defer store.Close()
	settings.Remember(cfg, a.w, log)
	cfg.Resources, cfg.Recordings, cfg.RecordingsAgain = nil, store, true
	cfg.Logger, cfg.Now, cfg.CheckpointEvery, cfg.AnyClock = log, a.Now, sink.OfferEvery, a.Yes
	a.w.From(cfg.BaseURL, string(cfg.Key), a.Adopt)
	row := func(did sink.Stats, commits int64) schema.Run { return a.row(schema.OutcomeArchived, did, commits) }
	a.w.Schedule(row, func() bool { return false })
	if a.c, err = crawler.New(*cfg, a.w); err != nil {
		return cli.Usage("", "%w", err)
	}
	if err = a.setKept(a.Settings, a.started); err == nil {
		err = a.prune(ctx, a.Settings, a.w, log, row)
	}
	if err != nil {
		a.c.Close()
		return err
	}
	stop := screen.Watch(log, a.c.Progress)
	rctx := ctx
	if cfg.MaxDuration > 0 {
		var cancel context.CancelFunc
		rctx, cancel = context.WithTimeout(ctx, cfg.MaxDuration)
		defer cancel()
	}
	err = a.c.ArchiveRecordings(rctx, true)
	stop()
	a.report = a.c.Report()
	a.c.Close()
	if serr := a.w.Settle(); err == nil {
		err = serr
	}
	if records, _ := a.w.Uncommitted(); records == 0 {
		return err
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), settings.CommitGrace)
	defer cancel()
	return errors.Join(err, a.w.Commit(grace, row))
}

// row returns the command's row of the table runs. Only an execution with commits has one.
func (a *archiving) row(outcome string, did sink.Stats, commits int64) schema.Run {
	p := a.c.Progress()
	row := status.Row(a.id, cli.Version(), a.started, &p, nil, did, commits, a.Secrets)
	row.Outcome, row.EndedAt = outcome, schema.Some(max(a.Now().UnixMilli(), row.StartedAt))
	return row
}
