package crawler

import (
	"context"
	"hash/maphash"
	"sync"
	"time"

	"callhouse/internal/calls"
	"callhouse/internal/schema"
)

// skips decides which calls' records are not worth a request: see [calls.Kinds]. It uses the
// store's counts and those of this run.
type skips struct {
	seed      maphash.Seed
	requested map[uint64]int64 // time of this run's last request of a call's record, in ms, by a hash of its id
	mu        sync.Mutex
	kinds     calls.Kinds
	wrong     bool     // a record of a skipped kind has a transcript
	ids       []string // skipped calls that are not stored yet

	// Changed records that were due since changesSince, ms, and how many of them are fetched.
	changes, changesSince, maxChanges int64
}

// passBatch is how many skipped calls are stored at a time.
const passBatch = 1000

// learn loads the store's counts.
func (c *Crawler) learn(ctx context.Context) error {
	kinds, err := c.store.Kinds(ctx)
	switch {
	case err == nil:
	case ctx.Err() == nil:
		return &StoreError{"read the kinds of calls with transcripts", err}
	default:
		kinds = calls.Kinds{}
	}
	c.skips.mu.Lock()
	defer c.skips.mu.Unlock()
	c.skips.kinds, c.skips.wrong = kinds, false
	return nil
}

// decision is a run's decision about a due call.
type decision uint8

const (
	leave decision = iota // nothing
	skip                  // record that its record is not requested
	fetch
)

// decide returns a run's decision about a due call. A plan uses the same decisions.
func (c *Crawler) decide(due *calls.Due) decision {
	last, was := c.skips.requested[maphash.String(c.skips.seed, due.CallID)]
	switch {
	case due.StartAt.OK && due.StartAt.V < c.since && c.since > 0, was && due.AskAt <= last:
		return leave
	case due.Changed:
		return c.decideChanged()
	case c.passes(due) && due.Again: // what is stored of it stays
		return leave
	case c.passes(due):
		return skip
	}
	return fetch
}

// A run, or a day of following, fetches minChanged changed records, or one in changedShare of those
// that are due if that is more. If more list items differ at once, the cause is not the calls: the
// list and the records spell a value differently, or a setting removes more from both. The other
// calls keep their transcripts.
const (
	changedShare = 40
	minChanged   = 100
	changedFor   = 20 * time.Hour
)

// decideChanged returns the decision about a call whose transcript is known, but whose list item has
// changed.
func (c *Crawler) decideChanged() decision {
	if now := c.nowMS(); now-c.skips.changesSince > changedFor.Milliseconds() {
		c.skips.changes, c.skips.changesSince = 0, now
		c.skips.maxChanges = max(minChanged, c.store.DueCount(calls.DueTranscripts)/changedShare)
	}
	if c.skips.changes++; c.skips.changes <= c.skips.maxChanges {
		return fetch
	}
	if c.skips.changes == c.skips.maxChanges+1 {
		c.log.Warn("more list items have changed than single calls explain: the other records are not fetched again (extract run --call-id does)",
			"fetched", c.skips.maxChanges)
	}
	return skip
}

// once records that this run requests a call's record: it does so once, and again when a late
// transcript is due. It stores a hash: the chance that two of 200,000 calls are confused is 1 in
// 10^9.
func (s *skips) once(id string, now int64) {
	if s.requested == nil {
		s.requested = map[uint64]int64{}
	}
	s.requested[maphash.String(s.seed, id)] = now
}

// passes reports whether a call is skipped. If the list has neither analyses nor costs, no call is
// skipped, since records then have more than a transcript.
func (c *Crawler) passes(due *calls.Due) bool {
	if c.listIsBrief() {
		return false
	}
	c.skips.mu.Lock()
	defer c.skips.mu.Unlock()
	return c.skips.kinds.Skips(due)
}

// note counts a call's own record, which was just fetched.
func (s *skips) note(call *calls.Call, now int64) {
	call.Fetched(0, now, nil)
	calls.Merge(nil, call, schema.KindDetail) // determines whether a transcript may still come
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrong = s.wrong || call.Turns().Len() > 0 && s.kinds.NoTranscripts(call.Kind())
	s.kinds.Add(call)
}

// turned reports whether calls were skipped that should be requested.
func (s *skips) turned() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wrong
}

// passOver stores which calls are skipped, many at a time; without ids, it stores the remaining
// ones.
func (c *Crawler) passOver(ctx context.Context, ids ...string) error {
	c.skips.ids = append(c.skips.ids, ids...)
	if n := len(c.skips.ids); n == 0 || n < passBatch && len(ids) > 0 {
		return nil
	}
	recs := make([]schema.Record, len(c.skips.ids))
	for i, id := range c.skips.ids {
		recs[i] = schema.Record{Kind: schema.KindSkipped, CallID: id, FetchedAt: c.nowMS()}
	}
	c.skips.ids = c.skips.ids[:0]
	c.meter.update(func(p *Report) { p.Skipped += int64(len(recs)) })
	return c.put(ctx, recs...)
}
