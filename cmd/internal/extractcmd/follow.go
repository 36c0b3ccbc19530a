package extractcmd

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"time"
	_ "time/tzdata" // for machines and images without time zone data

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/cmd/internal/status"
	"callhouse/internal/api"
	"callhouse/internal/crawler"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/sink/disk"
)

const followAbout = `follow keeps the warehouse minutes behind the service, until it is stopped. It polls the newest page of
the list, fetches the transcripts of calls as they end, and commits at most once a minute. Every day
at 03:00 in the zone tz it does what extract run does, and also at the start if that is overdue.

It holds the warehouse: other commands that write end with exit code 4. While the service is down it
retries with growing pauses, or when the wait that the service asks for is over. A refused key or a wrong address ends it with exit code 1.

Exit codes: 0 stopped, everything is committed; 1 failed, nothing lost; 2 wrong use or
configuration; 4 another run holds the warehouse.`

func followCommand(s *settings, stderr io.Writer) *cobra.Command {
	cmd := &cobra.Command{
		Use: "follow", Short: "Keep the warehouse minutes behind the service, until stopped", Long: followAbout,
		Example: `  extract follow --tz Asia/Seoul`,
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := newFollower(s, stderr)
			if err != nil {
				return err
			}
			return f.follow(cmd.Context())
		},
	}
	s.runFlags(cmd)
	s.yesFlags(cmd)
	config.Grouped(cmd)
	return cmd
}

// follower is a process that follows the service: it alternates between sessions and sweeps.
type follower struct {
	*settings
	stderr io.Writer
	log    *slog.Logger
	pace   crawler.Pace
	zone   *time.Location // of the daily sweep

	locked   bool // it has held the warehouse
	failures int  // in a row
	failing  time.Time
	until    time.Time // by the local clock: nothing is requested before, because the service asked for it
}

func newFollower(s *settings, stderr io.Writer) (*follower, error) {
	f := &follower{settings: s, stderr: stderr, log: newLogger(stderr, s.Quiet)}
	least, most, ok := strings.Cut(s.FollowEvery, "..")
	if !ok {
		most = least
	}
	var err, err2 error
	f.pace.Min, err = cli.ParseSpan(least)
	f.pace.Max, err2 = cli.ParseSpan(most)
	if err = errors.Join(err, err2); err != nil || f.pace.Min < time.Second || f.pace.Max < f.pace.Min {
		return nil, cli.Usage("use the shortest and the longest interval, e.g. 1m..10m", "invalid --follow-every %s", s.FollowEvery)
	}
	if f.zone, err = cli.Zone(s.TZ); err != nil {
		return nil, err
	}
	return f, nil
}

// follow follows the service until ctx is done.
func (f *follower) follow(ctx context.Context) error {
	for {
		next, err := f.nextSweep()
		if err == nil && !f.Clock.Local().Before(next) {
			f.log.Info("sweep", "due", next.Format(time.RFC3339))
			err = run(ctx, f.anew(), f.stderr)
			if cli.Code(err) == cli.ExitIncomplete { // the report says why
				err = nil
			}
			if err == nil {
				next, err = f.nextSweep()
			}
		}
		if err == nil && ctx.Err() == nil {
			err = f.session(ctx, next)
		}
		if ctx.Err() != nil {
			if f.failures > 0 || cli.Code(err) == cli.ExitInterrupted {
				return nil
			}
			return err
		}
		if err := f.waitAfter(ctx, err); err != nil {
			return err
		}
	}
}

// sweepAgain is the delay before a failed sweep is retried.
const sweepAgain = 30 * time.Minute

// nextSweep returns the time of the next sweep: the first one after the last run, or now if
// there was none.
func (f *follower) nextSweep() (time.Time, error) {
	h, err := sink.ReadHistory(f.Warehouse)
	if err != nil {
		return time.Time{}, explain(err)
	}
	var good, tried time.Time
	now := f.Clock.Local()
	for i := range h.Runs {
		r := &h.Runs[i]
		at := time.UnixMilli(r.StartedAt)
		if !schema.IsRun(r.Outcome) || r.Outcome == schema.OutcomeRunning || at.After(now) {
			continue
		}
		if tried.Before(at) {
			tried = at
		}
		if good.Before(at) && (r.Outcome == schema.OutcomeDone || r.Outcome == schema.OutcomeIncomplete) {
			good = at
		}
	}
	next := now
	if !good.IsZero() {
		next = crawler.Sweep(good, f.zone)
	}
	if again := tried.Add(sweepAgain); tried.After(good) && next.Before(again) {
		next = again
	}
	if next.Before(f.until) {
		next = f.until
	}
	return next, nil
}

// waitAfter waits after a temporary error, and returns any other.
func (f *follower) waitAfter(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if !f.passing(err) {
		return err
	}
	f.failed(err)
	select {
	case <-ctx.Done():
	case <-time.After(f.backoff()):
	}
	return nil
}

// backoff returns how long nothing is requested after a failure.
func (f *follower) backoff() time.Duration {
	return max(f.pace.Backoff(f.failures), f.until.Sub(f.Clock.Local()))
}

// failed counts a failure.
func (f *follower) failed(err error) {
	down, waits := errors.AsType[*api.ServiceDownError](err)
	if waits = waits && down.Wait > 0; waits {
		f.until = f.Clock.Local().Add(down.Wait)
	}
	if f.failures++; f.failures == 1 {
		f.failing = time.Now()
	}
	if f.failures == 1 || waits {
		f.log.Warn("cannot follow; retrying with growing pauses", "error", f.Secrets.Error(err))
	}
}

// passing reports whether an error may be temporary.
func (f *follower) passing(err error) bool {
	return serviceFails(err) || disk.IsNoSpace(err) || cli.Is[*disk.LockedError](err) && f.locked
}

// serviceFails reports whether an error means that the service is currently unusable.
func serviceFails(err error) bool {
	return cli.Is[*api.ServiceDownError](err) || cli.Is[*api.UnreachableError](err) || cli.Is[*api.CertificateError](err) ||
		cli.Is[*api.RequestError](err)
}

// worked records a success.
func (f *follower) worked() {
	if f.failures > 0 {
		f.log.Info("following again", "after", time.Since(f.failing).Round(time.Second), "failures", f.failures)
	}
	f.failures = 0
}

// publish writes the metrics.
func (f *follower) publish(started time.Time) {
	if f.metricsPath() != "" {
		n := &night{job: job{settings: f.settings, log: f.log}}
		n.write(&status.Metrics{Now: f.Now(), Profile: f.Profile, Secrets: f.Secrets, Started: started})
	}
}
