// Package intake connects the crawler to the warehouse: it removes what must not be stored, keeps
// calls of other organisations out, and decides when to commit.
package intake

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/sourcegraph/conc/pool"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/wire/mask"
)

// A long run commits in the background, so that fetched calls can be queried meanwhile: after
// someRecords, or after commitAge if there are fewer. Between commits it pauses for commitRest and
// for restTimes the duration of the last one, so that commits take about one percent of the run.
// commitRecords and commitBytes limit the size of a commit regardless. If records arrive faster
// than they are committed, Put blocks at mostRecords.
const (
	someRecords   = 500
	commitAge     = 5 * time.Minute
	commitRest    = time.Minute
	restTimes     = 100
	commitRecords = 10_000
	mostRecords   = 2 * commitRecords
	commitBytes   = 256 << 20
	// OfferEvery is how often a run considers a commit.
	OfferEvery = time.Second
)

// Store is the crawler's store over a warehouse.
type Store struct {
	*sink.Warehouse
	Gate *Gate                              // nil: no check
	Row  func(sink.Stats, int64) schema.Run // returns the run's current row
	Over func() bool                        // reports whether the crawl is over; then the run makes the commit
	now  func() time.Time

	rooms sync.Pool // of *[]byte

	mu     sync.Mutex
	last   time.Time     // end of the last commit
	took   time.Duration // its duration
	wrote  int64         // bytes of its new files
	busy   chan struct{} // closed when the current commit is over; nil: none
	failed error         // error of a background commit
}

// New returns the store of a new run.
func New(w *sink.Warehouse, now func() time.Time) *Store {
	return &Store{Warehouse: w, now: now, last: now()}
}

// Put implements crawler.Store.
func (s *Store) Put(ctx context.Context, recs ...schema.Record) error {
	room, _ := s.rooms.Get().(*[]byte)
	if room == nil {
		room = new([]byte)
	}
	recs, err := s.clean(ctx, recs, room)
	defer func() {
		if *room = (*room)[:0]; cap(*room) <= mostRoom {
			s.rooms.Put(room)
		}
	}()
	if err != nil {
		return err
	}
	if err := s.Gate.admit(recs); err != nil || len(recs) == 0 {
		return err
	}
	if records, _ := s.Uncommitted(); records > mostRecords {
		if err := s.Settle(); err != nil {
			return err
		}
	}
	return s.Warehouse.Put(ctx, recs...)
}

// mostAsking is how many calls of a page are cleaned concurrently if cleaning sends requests.
const mostAsking = 4

// mostRoom is the size of the largest buffer that is reused.
const mostRoom = 4 << 20

// clean cleans the calls among records, using room as the buffer, which may be reused once they are
// put. If a call's texts could not be checked, its item is kept without them and its record is
// dropped, so the call remains due.
func (s *Store) clean(ctx context.Context, recs []schema.Record, room *[]byte) ([]schema.Record, error) {
	if !s.Asks() {
		recs = slices.Clone(recs) // the caller's records must not refer to room
		if s.Redacts() {
			size := 0
			for i := range recs {
				size += len(recs[i].Body) + mask.Room
			}
			*room = slices.Grow(*room, size)
		}
		for i := range recs {
			if _, err := s.cleanOne(&recs[i], room); err != nil {
				return nil, err
			}
		}
		return recs, nil
	}
	jobs := pool.New().WithContext(ctx).WithFirstError().WithMaxGoroutines(mostAsking)
	kept := make([]bool, len(recs))
	for i := range recs {
		jobs.Go(func(context.Context) (err error) {
			kept[i], err = s.cleanOne(&recs[i], new([]byte))
			return err
		})
	}
	if err := jobs.Wait(); err != nil {
		return nil, err
	}
	out := recs[:0]
	for i := range recs {
		if kept[i] {
			out = append(out, recs[i])
		}
	}
	return out, nil
}

// cleanOne cleans a record of a call, leaves others unchanged, and reports whether to keep the
// record.
func (s *Store) cleanOne(r *schema.Record, room *[]byte) (kept bool, err error) {
	if r.Resource != "" || !r.Kind.OfCall() {
		return true, nil
	}
	clean, _, err := s.Clean(room, r.Body)
	if unchecked := (*mask.UncheckedError)(nil); errors.As(err, &unchecked) {
		r.Body = unchecked.Rest
		return r.Kind == schema.KindItem, nil
	}
	r.Body = clean
	return true, err
}

// Checkpoint implements crawler.Store.
func (s *Store) Checkpoint(ctx context.Context, wait bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for wait && s.busy != nil {
		s.await()
	}
	records, bytes := s.Uncommitted()
	switch {
	case s.failed != nil:
		return s.failed
	case s.busy != nil, records == 0, wait && s.Over(), !wait && !s.due(records, bytes):
		return nil
	}
	busy := make(chan struct{})
	s.busy = busy
	var err error
	if !wait {
		ctx = context.WithoutCancel(ctx)
	}
	go func() { // the run continues to send requests
		err = s.commit(ctx)
		s.mu.Lock()
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
func (s *Store) await() {
	busy := s.busy
	s.mu.Unlock()
	<-busy
	s.mu.Lock()
}

// due reports whether enough is pending for a commit.
func (s *Store) due(records, bytes int64) bool {
	since := s.now().Sub(s.last)
	return records >= commitRecords || bytes >= commitBytes ||
		since >= max(commitRest, restTimes*s.took) && (records >= someRecords || since >= commitAge)
}

// followTimes replaces restTimes in a process that follows the service: calls wait for its commits,
// so they may take a thirtieth of the time.
const followTimes = 30

// writeRate is the maximum write rate of a process that follows the service, in bytes per second:
// every commit rewrites the files of the changed days, and each of these files stays for a day.
const writeRate = 64 << 10

// Rested reports whether a process that follows the service may start its next commit.
func (s *Store) Rested() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	written := time.Duration(s.wrote) * time.Second / writeRate
	return s.now().Sub(s.last.Add(-s.took)) >= max(commitRest, followTimes*s.took, written)
}

// Pause returns the pause that the last commit's duration requires.
func (s *Store) Pause() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return followTimes * s.took
}

// Resume sets the time of the last commit, made by an earlier process.
func (s *Store) Resume(last time.Time) { s.last = last }

// Settle waits for a background commit.
func (s *Store) Settle() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy != nil {
		s.await()
	}
	return s.failed
}

func (s *Store) commit(ctx context.Context) error {
	begun, before := s.now(), s.Snapshot()
	err := s.Commit(ctx, s.Row)
	wrote := newBytes(before, s.Snapshot())
	s.mu.Lock()
	s.last = s.now()
	s.took, s.wrote = s.last.Sub(begun), wrote
	s.mu.Unlock()
	return err
}

// newBytes returns the total size of the files in after that before lacks.
func newBytes(before, after *layout.Snapshot) (bytes int64) {
	if before == nil || after == nil {
		return 0
	}
	old := map[string]bool{}
	for i := range before.Manifest.Files {
		old[before.Manifest.Files[i].Path] = true
	}
	for i := range after.Manifest.Files {
		if f := &after.Manifest.Files[i]; !old[f.Path] {
			bytes += f.Bytes
		}
	}
	return bytes
}
