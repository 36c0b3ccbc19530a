package extractcmd

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/extractcmd/settings"
	"callhouse/cmd/internal/intake"
	"callhouse/cmd/internal/runreport"
	"callhouse/internal/calls"
	"callhouse/internal/crawler"
	"callhouse/internal/follow"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/sink/disk"
)

const (
	// coverageEvery is how often a commit records that polls found nothing.
	coverageEvery = time.Hour
	// overlap is how much of the list a poll lists again: calls show some time after their start.
	overlap = 2 * time.Minute
	// hintRecords is how many records are fetched for hints at a time.
	hintRecords = 30
	// hintedFor is how far back a call may have started that a hint names.
	hintedFor = 30 * 24 * time.Hour
)

// session holds the warehouse from one sweep to the next.
type session struct {
	*follower
	*settings.Settings
	id      string
	started time.Time
	w       *sink.Warehouse
	store   *followStore
	c       *crawler.Crawler
	memory  *follow.Memory
	from    int64     // what started before is listed, ms
	pollAt  time.Time // the next poll
	beat    time.Time // when metrics were last written
	state   disk.Follow
	late    []string // hinted calls whose records wait
}

// session follows until the next sweep, or until ctx is done.
func (f *follower) session(ctx context.Context, sweep time.Time) (err error) {
	s := &session{follower: f, Settings: f.anew()}
	s.started = s.Now()
	s.id = settings.RunID(s.started)
	s.state.Sweep = sweep.UnixMilli()
	opts := s.Options(s.id)
	opts.Records, opts.Follow = true, &s.state
	opts.ProblemOf = func(err error) string { return string(settings.ProblemOf(err)) }
	if s.w, err = sink.Open(opts); err != nil {
		return settings.Explain(err)
	}
	f.locked = true
	defer func() {
		if cerr := s.w.Close(); cerr != nil && err == nil {
			err = settings.Explain(cerr)
		}
	}()
	if err = s.prepare(); err == nil {
		err = s.loop(ctx, sweep)
		s.c.Close()
	}
	return s.end(err)
}

// prepare makes the crawler.
func (s *session) prepare() error {
	if err := s.StartMask(s.w, s.w); err != nil {
		return err
	}
	cfg, err := s.Crawl(s.started)
	if err != nil {
		return err
	}
	settings.Remember(&cfg, s.w, s.log)
	cfg.Resources, cfg.Transcripts, cfg.MaxDuration, cfg.Verify = nil, crawler.FromV3, 0, 0 // sweeps do the rest
	cfg.Logger = slog.New(warnings{s.log.Handler()})
	cfg.Now, cfg.AnyClock = s.Now, s.Yes
	cfg.Ready = func(ctx context.Context) error {
		since, err := s.ListFrom(s.Now())
		if err != nil {
			return err
		}
		s.c.SetSince(since)
		_, err = s.w.Recover(ctx)
		return err
	}
	s.memory = follow.NewMemory(s.Now().UnixMilli())
	if s.hints != nil {
		s.hints.Known = s.memory.Knows
	}
	st := intake.New(s.w, s.Now)
	st.Gate = intake.NewGate(s.w, intake.OriginOf(&cfg), s.Adopt)
	st.Over = func() bool { return false }
	st.Row = func(did sink.Stats, commits int64) schema.Run {
		return s.row(schema.OutcomeFollowing, nil, did, commits)
	}
	s.store = &followStore{Store: st, memory: s.memory, now: s.Now}
	if s.c, err = crawler.New(cfg, s.store); err != nil {
		return cli.Usage("", "%w", err)
	}
	s.from = s.started.Add(-s.Window).UnixMilli()
	if spans := s.w.Coverage(); len(spans) > 0 {
		s.from = max(s.from, spans[len(spans)-1].To-overlap.Milliseconds())
	}
	return nil
}

// warnings is a log without what is not worth a line in a process that goes on for ever.
type warnings struct{ slog.Handler }

func (w warnings) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && w.Handler.Enabled(ctx, l)
}

// loop polls, fetches and commits.
func (s *session) loop(ctx context.Context, sweep time.Time) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for ctx.Err() == nil && s.Clock.Local().Before(sweep) {
		var err error
		if !time.Now().Before(s.pollAt) {
			err = s.poll(ctx)
		}
		if err == nil {
			err = s.heed(ctx)
		}
		if err == nil {
			err = s.commit(ctx)
		}
		switch {
		case err != nil && ctx.Err() != nil && errors.Is(err, context.Canceled):
			return nil // stopped in the middle of a poll or a commit: end commits
		case err != nil:
			return settings.Explain(err)
		}
		if time.Since(s.beat) >= pulseEvery {
			s.beat = time.Now()
			s.publish(s.started)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	return nil
}

// poll lists what is new, and decides when to do so again.
func (s *session) poll(ctx context.Context) error {
	now := s.Now().UnixMilli()
	s.memory.Poll()
	reached, err := s.c.Poll(ctx, s.memory.Down(s.from, now))
	if err != nil || ctx.Err() != nil {
		return err
	}
	s.worked()
	if reached {
		s.from = now - overlap.Milliseconds()
	}
	news, open := s.memory.News(now)
	if s.hints != nil && s.hints.Came() {
		open = false // a hint tells of their end
	}
	s.pollAt = time.Now().Add(s.pace.Next(news > 0 || !reached, open))
	s.state.Polled = now
	return s.tell()
}

// tell stores how the session goes, for status and metrics.
func (s *session) tell() error {
	s.state.CallLag, s.state.TranscriptLag = s.memory.Lag()
	s.state.Requests = s.c.Progress().Requests
	return s.w.SetFollow(s.state)
}

// commit commits if that is worth it and the last commit is long enough ago, and fetches the records
// that are due then.
func (s *session) commit(ctx context.Context) error {
	if err := s.store.release(ctx, s.Now()); err != nil {
		return err
	}
	if records, _ := s.w.Uncommitted(); records == 0 || !s.store.Rested() {
		return nil
	}
	if err := s.store.Checkpoint(ctx, true); err != nil {
		return err
	}
	s.memory.Committed(s.Now().UnixMilli())
	if err := s.tell(); err != nil || ctx.Err() != nil {
		return err
	}
	return s.c.FetchDue(ctx)
}

// heed acts on hints: a poll for the calls that are new or on the newest pages, and the records of
// others. A call that nobody knows and that the poll does not find costs no more.
func (s *session) heed(ctx context.Context) error {
	if s.hints == nil || s.state.Polled == 0 {
		return nil
	}
	if len(s.late) >= hintRecords { // the rest waits in the queue, which is bounded
		return s.fetchLate(ctx)
	}
	ids, poll := s.hints.Take(s.pace.Least)
	unknown := map[string]bool{}
	for _, id := range ids {
		switch known, listed := s.memory.Hinted(id); {
		case !known:
			unknown[id] = true
		case listed:
			poll = true
		default:
			s.late = append(s.late, id)
		}
	}
	if len(unknown) > 0 {
		asked := make([]string, 0, len(unknown))
		for id := range unknown {
			asked = append(asked, id)
		}
		now := s.Now()
		if err := s.w.Unlisted(ctx, now.Add(-hintedFor).UnixMilli(), now.UnixMilli(), unknown); err != nil {
			return err
		}
		for _, id := range asked {
			if !unknown[id] {
				s.late = append(s.late, id)
			}
		}
		for id := range unknown {
			poll = true
			s.memory.Expect(id, now.UnixMilli())
		}
	}
	if poll {
		s.pollAt = time.Now()
	}
	return s.fetchLate(ctx)
}

// fetchLate fetches records of hinted calls, a few at a time.
func (s *session) fetchLate(ctx context.Context) error {
	for n := 0; len(s.late) > 0 && n < hintRecords && ctx.Err() == nil; n++ {
		id := s.late[0]
		s.late = s.late[1:]
		if err := s.c.Fetch(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// row returns the session's row of the table runs.
func (s *session) row(outcome string, err error, did sink.Stats, commits int64) schema.Run {
	p := s.c.Progress()
	row := runreport.Row(s.id, cli.Version(), s.started, &p, nil, did, commits, s.Secrets)
	if row.Outcome = outcome; outcome != schema.OutcomeFollowing {
		row.EndedAt = schema.Some(max(s.Now().UnixMilli(), row.StartedAt))
	}
	if err != nil {
		row.Error, row.Problem = s.Secrets.Error(err), string(settings.ProblemOf(err))
	}
	return row
}

// end commits what is left. A session that committed nothing has no row.
func (s *session) end(err error) error {
	records, _ := s.w.Uncommitted()
	_, commits := s.w.Totals()
	if s.c == nil || records == 0 && commits == 0 {
		s.w.Unrecorded()
		return err
	}
	outcome := schema.OutcomeFollowed
	if err != nil && !s.passing(err) {
		outcome = schema.OutcomeFailed
	}
	if serr := s.store.Settle(); serr != nil {
		return errors.Join(err, settings.Explain(serr))
	}
	grace, cancel := context.WithTimeout(context.Background(), settings.CommitGrace)
	defer cancel()
	cerr := s.w.Commit(grace, func(did sink.Stats, commits int64) schema.Run { return s.row(outcome, err, did, commits) })
	if cerr != nil {
		return errors.Join(err, settings.Explain(cerr))
	}
	return err
}

// followStore is the store of a session: it takes only what has changed.
type followStore struct {
	*intake.Store
	memory *follow.Memory
	now    func() time.Time

	covered *schema.Span // listed, with nothing new; nil: there is none
	since   time.Time    // since when
}

// Put implements crawler.Store. Ranges that were listed are stored with the next change.
func (s *followStore) Put(ctx context.Context, recs ...schema.Record) error {
	var out, covered []schema.Record
	for _, r := range recs {
		keep, err := s.take(&r)
		switch {
		case err != nil:
			return err
		case r.Resource == "" && r.Kind == schema.KindCovered:
			covered = append(covered, r)
		case keep:
			out = append(out, r)
		}
	}
	for _, r := range covered {
		if err := s.cover(&r); err != nil {
			return err
		}
	}
	if len(out) == 0 {
		return nil
	}
	return s.Store.Put(ctx, append(out, s.listed()...)...)
}

// take reports whether a record of a call is new.
func (s *followStore) take(r *schema.Record) (bool, error) {
	switch r.Kind {
	case schema.KindItem, schema.KindDetail:
		var d calls.Decoder
		var c calls.Call
		if err := d.Decode(r.Body, r.Kind, &c); err != nil {
			return false, err
		}
		if r.Kind == schema.KindItem {
			return s.memory.Changed(&c, s.now().UnixMilli()), nil
		}
		s.memory.Fetched(&c)
	case schema.KindMissing:
		return s.memory.Knows(r.CallID), nil
	}
	return true, nil
}

// cover joins a range with those before.
func (s *followStore) cover(r *schema.Record) error {
	var span schema.Span
	if err := json.Unmarshal(r.Body, &span); err != nil {
		return err
	}
	if s.covered == nil {
		s.since = s.now()
		s.covered = &span
		return nil
	}
	if span.From > s.covered.To { // a gap: the earlier one is for nightly runs
		s.covered = &span
		return nil
	}
	s.covered.From, s.covered.To = min(s.covered.From, span.From), max(s.covered.To, span.To)
	return nil
}

// listed returns the record of the listed range, if there is one.
func (s *followStore) listed() []schema.Record {
	if s.covered == nil {
		return nil
	}
	body, err := json.Marshal(s.covered)
	if err != nil {
		return nil // numbers cannot fail
	}
	r := schema.Record{Kind: schema.KindCovered, FetchedAt: s.covered.ListedAt, Body: body}
	s.covered = nil
	return []schema.Record{r}
}

// release stores a range that was listed with nothing new for long.
func (s *followStore) release(ctx context.Context, now time.Time) error {
	if s.covered == nil || now.Sub(s.since) < coverageEvery {
		return nil
	}
	return s.Store.Put(ctx, s.listed()...)
}
