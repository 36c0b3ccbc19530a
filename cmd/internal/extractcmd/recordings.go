package extractcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/status"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/words"
)

const recordingsAbout = `recordings stores the audio of calls in the archive that --recordings names, newest first. extract run
and the nightly sweep of extract follow also do this, so the command is needed only if they ran out of time, or for a
separate schedule. It lists no calls; it sends requests to the service only to replace expired links,
one request each.

Recordings that failed are tried at once. First it deletes those that must not be kept, as every run.

Exit codes: 0 nothing is due any more; 1 failed, nothing lost; 2 wrong use or configuration; 3 some
recordings are still due, or the archive failed; 4 another run holds the warehouse; 130 interrupted,
committed.`

func recordingsCommand(s *settings, stderr io.Writer) *cobra.Command {
	cmd := &cobra.Command{
		Use: "recordings", Short: "Store the audio of calls before their links expire", Long: recordingsAbout,
		Example: `  extract recordings --recordings /var/lib/callhouse/recordings
  extract recordings --recordings s3://bucket/recordings --max-duration 2h`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return archive(cmd.Context(), s, stderr) },
	}
	s.runFlags(cmd)
	s.yesFlags(cmd)
	return cmd
}

// archive stores the due recordings.
func archive(ctx context.Context, s *settings, stderr io.Writer) error {
	if !s.archives() {
		return cli.Usage("name a folder or a bucket: --recordings /var/lib/callhouse/recordings", "there is no archive of recordings")
	}
	started := s.Now()
	cfg, err := s.crawlConfig(started)
	if err != nil {
		return err
	}
	if _, err := s.snapshot(); err != nil {
		return err
	}
	screen := newScreen(stderr, s.Quiet)
	defer screen.close()
	log := screen.logger(screen.out)
	s.warnPlain(log)
	a := &job{settings: s, started: started, running: schema.OutcomeArchived, id: runID(started), log: log, cfg: cfg}
	var due int64
	err = s.openWith(s.options(a.id), func(w *sink.Warehouse) error {
		a.w = w
		if _, err := w.Recover(ctx); err != nil {
			return err
		}
		if err := a.archive(ctx, screen); err != nil {
			return err
		}
		due = w.Snapshot().Manifest.Recordings().Due
		return nil
	})
	screen.close()
	if err != nil {
		return err
	}
	if !s.Quiet {
		words.Fprintf(s.Stderr, "recordings: %s\n", status.RecordingsText(a.rep.Recordings, due))
	}
	return cmp.Or(judge(ctx, a.rep.Recordings.Err, due), a.undeleted, a.notErased)
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

// archive stores the due recordings. Only an execution with commits has a row in the table runs.
func (j *job) archive(ctx context.Context, screen *screen) error {
	if err := j.startMask(j.w); err != nil {
		return err
	}
	cfg := &j.cfg
	cfg.Resources, cfg.RecordingsAgain, cfg.CheckpointEvery = nil, true, sink.OfferEvery
	if err := j.connect(func() bool { return false }); err != nil {
		return err
	}
	defer j.crawler.Close()
	if err := j.setRetention(j.started); err != nil {
		return err
	}
	if err := j.prune(ctx); err != nil {
		return err
	}
	stop := screen.watch(j.log, j.crawler.Progress)
	rctx := ctx
	if cfg.MaxDuration > 0 {
		var cancel context.CancelFunc
		rctx, cancel = context.WithTimeout(ctx, cfg.MaxDuration)
		defer cancel()
	}
	err := j.crawler.ArchiveRecordings(rctx)
	stop()
	if serr := j.w.Settle(); err == nil {
		err = serr
	}
	rep := j.crawler.Report()
	j.rep = &rep
	if records, _ := j.w.Uncommitted(); records == 0 {
		return err
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitGrace)
	defer cancel()
	return errors.Join(err, j.w.Commit(grace, j.current))
}
