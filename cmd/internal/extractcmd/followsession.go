package extractcmd

import (
	"cmp"
	"context"
	"errors"
	"time"

	"callhouse/internal/crawler"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/sink/disk"
)

const (
	// fetchFor is the maximum time spent fetching records before the next poll or commit.
	fetchFor = time.Minute
	// downAfter is how long a request is retried while the service fails. It is short because polls
	// are repeated anyway.
	downAfter = 30 * time.Second
)

// session holds the warehouse from one sweep to the next.
type session struct {
	job
	f       *follower
	ready   bool      // the service has answered, and records of killed runs are committed
	polled  time.Time // when the last poll began
	pollAt  time.Time // the next poll
	fetched time.Time // when due records were last fetched
	beat    time.Time // when metrics were last written
	state   disk.Follow
}

// session follows until the next sweep, or until ctx is done.
func (f *follower) session(ctx context.Context, sweep time.Time) error {
	s := &session{f: f, job: job{settings: f.anew(), running: schema.OutcomeFollowing, log: newLogger(f.stderr, true)}}
	s.begun, s.started = s.Clock.Local(), s.Now()
	s.id = runID(s.started)
	s.state.Sweep = sweep.UnixMilli()
	opts := s.options(s.id)
	opts.Follow = &s.state
	return s.open(opts, func() error {
		f.locked = true
		err := s.prepare(ctx)
		if err == nil {
			err = s.loop(ctx, sweep)
			s.crawler.Close()
		}
		return s.end(err)
	})
}

// prepare creates the crawler.
func (s *session) prepare(ctx context.Context) (err error) {
	s.NoDelay = true
	if s.cfg, err = s.crawlConfig(s.started); err == nil {
		err = s.startMask(s.w)
	}
	if err != nil {
		return err
	}
	s.cfg.Resources, s.cfg.Transcripts, s.cfg.MaxDuration, s.Recordings = nil, crawler.FromV3, 0, recordingsOff // left to sweeps
	s.cfg.DownAfter = downAfter
	return s.connect(func() bool { return false })
}

// loop polls, fetches and commits. While the service fails, it backs off.
func (s *session) loop(ctx context.Context, sweep time.Time) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for ctx.Err() == nil && s.Clock.Local().Before(sweep) {
		err := s.step(ctx)
		switch {
		case err == nil:
		case ctx.Err() != nil && errors.Is(err, context.Canceled):
			return nil // interrupted during a poll or a commit: end commits
		case serviceFails(err):
			err = s.fails(err)
		}
		if err != nil {
			return explain(err)
		}
		if time.Since(s.beat) >= heartbeatEvery {
			s.beat = time.Now()
			s.f.publish(s.started)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	return nil
}

// step performs the work that is due. Records are fetched before the commit of the calls that made
// them due, so that one commit contains both.
func (s *session) step(ctx context.Context) error {
	now := time.Now()
	if s.f.failures > 0 && now.Before(s.pollAt) {
		return s.commit(ctx) // backing off
	}
	polls := !now.Before(s.pollAt)
	if polls {
		if err := s.poll(ctx); err != nil {
			return err
		}
	}
	if polls || now.Sub(s.fetched) >= s.f.pace.Min {
		s.fetched = now
		if err := s.crawler.FetchDue(ctx, fetchFor); err != nil {
			return err
		}
	}
	return s.commit(ctx)
}

// poll lists new calls, and schedules the next poll.
func (s *session) poll(ctx context.Context) error {
	s.polled = time.Now()
	now := s.Now().UnixMilli()
	if !s.ready {
		if down, err := s.begin(ctx); err != nil || down != nil {
			return cmp.Or(err, down)
		}
		s.ready = true
	}
	busy, err := s.crawler.Poll(ctx)
	if err != nil || ctx.Err() != nil {
		return err
	}
	s.f.worked()
	s.pollAt = s.polled.Add(max(s.f.pace.Next(busy), s.w.Pause()))
	s.state.Polled, s.state.Failing, s.state.Error = now, 0, ""
	return s.storeState()
}

// fails records a failure of the service and backs off.
func (s *session) fails(err error) error {
	if s.f.failed(err); s.state.Failing == 0 {
		s.state.Failing = s.Now().UnixMilli()
	}
	s.pollAt = time.Now().Add(s.f.backoff())
	s.state.Error = s.Secrets.Error(err)
	return s.storeState()
}

// storeState stores the session's state for status and metrics.
func (s *session) storeState() error {
	s.state.Requests = s.crawler.Progress().Requests
	return s.w.SetFollow(s.state)
}

// commit commits if there are uncommitted records and the last commit is long enough ago.
func (s *session) commit(ctx context.Context) error {
	if s.state.Polled == 0 {
		return nil
	}
	if records, _ := s.w.Uncommitted(); records == 0 || !s.w.MayCommit() {
		return nil
	}
	if err := s.w.Checkpoint(ctx, true); err != nil {
		return err
	}
	if err := s.storeState(); err != nil {
		return err
	}
	alert(ctx, s.settings, s.log, followTimeout)
	return nil
}

// end commits the remaining records. A session without commits has no row.
func (s *session) end(err error) error {
	records, _ := s.w.Uncommitted()
	_, commits := s.w.Totals()
	if s.crawler == nil || records == 0 && commits == 0 {
		s.w.Unrecorded()
		return err
	}
	outcome := schema.OutcomeFollowed
	if err != nil && !s.f.passing(err) {
		outcome = schema.OutcomeFailed
	}
	if serr := s.w.Settle(); serr != nil {
		return errors.Join(err, explain(serr))
	}
	grace, cancel := context.WithTimeout(context.Background(), commitGrace)
	defer cancel()
	cerr := s.w.Commit(grace, func(did sink.Stats, commits int64) schema.Run { return s.rowOf(outcome, err, did, commits) })
	if cerr != nil {
		return errors.Join(err, explain(cerr))
	}
	return err
}
