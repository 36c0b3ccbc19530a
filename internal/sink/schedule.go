package sink

import (
	"context"
	"sync"
	"time"

	"callhouse/internal/schema"
)

// A long run commits in the background, so that fetched calls can be queried meanwhile: after
// someRecords, or after commitAge if there are fewer. Between commits it pauses for commitPause and
// for pauseTimes the duration of the last one, so that commits take about one percent of the run.
// commitRecords and commitBytes limit the size of a commit regardless. If records arrive faster
// than they are committed, Put blocks at maxRecords.
const (
	someRecords   = 500
	commitAge     = 5 * time.Minute
	commitPause   = time.Minute
	pauseTimes    = 100
	commitRecords = 10_000
	maxRecords    = 2 * commitRecords
	commitBytes   = 256 << 20
	// OfferEvery is how often a run considers a commit.
	OfferEvery = time.Second
)

// schedule is when a run commits.
type schedule struct {
	row  func(Stats, int64) schema.Run // returns the run's current row
	over func() bool                   // reports whether the crawl is over; then the run makes the commit

	mu     sync.Mutex
	last   time.Time     // end of the last commit
	took   time.Duration // its duration
	wrote  int64         // bytes of its new files
	busy   chan struct{} // closed when the current commit is over; nil: none
	failed error         // error of a background commit
}

// Schedule begins the schedule of a run's commits. row returns the run's current row; over reports
// whether the crawl is over, so that the run makes the commit itself. In a process that follows the
// service, the last commit may be an earlier process's.
func (w *Warehouse) Schedule(row func(Stats, int64) schema.Run, over func() bool) {
	s := &w.schedule
	s.row, s.over, s.last = row, over, w.opts.Now()
	if now := w.Snapshot(); now != nil && w.opts.Follow != nil {
		s.last = now.Manifest.CommittedAt
	}
}

// Checkpoint commits if enough is pending, in the background. With wait it commits in any case,
// unless the crawl is over, and returns when everything put before is committed.
func (w *Warehouse) Checkpoint(ctx context.Context, wait bool) error {
	s := &w.schedule
	s.mu.Lock()
	defer s.mu.Unlock()
	for wait && s.busy != nil {
		s.await()
	}
	records, bytes := w.Uncommitted()
	switch {
	case s.failed != nil:
		return s.failed
	case s.busy != nil, records == 0, wait && s.over(), !wait && !s.due(w.opts.Now(), records, bytes):
		return nil
	}
	busy := make(chan struct{})
	s.busy = busy
	var err error
	if !wait {
		ctx = context.WithoutCancel(ctx)
	}
	go func() { // the run continues to send requests
		begun := w.opts.Now()
		before, _ := w.Totals()
		err = w.Commit(ctx, s.row)
		after, _ := w.Totals()
		s.mu.Lock()
		s.last, s.wrote = w.opts.Now(), after.Bytes-before.Bytes
		s.took = s.last.Sub(begun)
		if s.busy = nil; !wait {
			s.failed = err
		}
		s.mu.Unlock()
		close(busy)
	}()
	if wait {
		s.await()
		return err
	}
	return nil
}

// await waits for the end of the current commit. It requires s.mu, which it releases while waiting.
func (s *schedule) await() {
	busy := s.busy
	s.mu.Unlock()
	<-busy
	s.mu.Lock()
}

// due reports whether enough is pending for a commit.
func (s *schedule) due(now time.Time, records, bytes int64) bool {
	since := now.Sub(s.last)
	return records >= commitRecords || bytes >= commitBytes ||
		since >= max(commitPause, pauseTimes*s.took) && (records >= someRecords || since >= commitAge)
}

// Settle waits for a background commit.
func (w *Warehouse) Settle() error {
	s := &w.schedule
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy != nil {
		s.await()
	}
	return s.failed
}

// followTimes replaces pauseTimes in a process that follows the service: calls wait for its commits,
// so they may take a thirtieth of the time.
const followTimes = 30

// writeRate is the maximum write rate of a process that follows the service, in bytes per second:
// every commit rewrites the files of the changed days, and each of these files stays for a day.
const writeRate = 64 << 10

// MayCommit reports whether a process that follows the service may start its next commit.
func (w *Warehouse) MayCommit() bool {
	s := &w.schedule
	s.mu.Lock()
	defer s.mu.Unlock()
	written := time.Duration(s.wrote) * time.Second / writeRate
	return w.opts.Now().Sub(s.last.Add(-s.took)) >= max(commitPause, followTimes*s.took, written)
}

// Pause returns the pause that the last commit's duration requires.
func (w *Warehouse) Pause() time.Duration {
	w.schedule.mu.Lock()
	defer w.schedule.mu.Unlock()
	return followTimes * w.schedule.took
}
