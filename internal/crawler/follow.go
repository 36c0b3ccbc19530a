package crawler

import (
	"context"
	"hash/maphash"
	"iter"
	"time"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/calls"
	"callhouse/internal/schema"
)

// A crawler that follows the service does not call Run. It repeatedly polls the newest part of the
// list and fetches the records that become due; its caller commits in between.

const (
	// maxFollowed is how many calls are remembered before those missing from the last polls are dropped.
	maxFollowed = 20_000
	// openFor is how long after its start a call in progress makes polls more frequent and longer.
	openFor = int64(30 * time.Minute / time.Millisecond)
	// overlap is how much of the list two polls have in common, in ms: calls appear in the list some
	// time after their start.
	overlap = int64(2 * time.Minute / time.Millisecond)
	// recordEvery is how often polls that found nothing are recorded, in ms.
	recordEvery = int64(time.Hour / time.Millisecond)
)

// following remembers the calls of the newest pages, so that a poll stores only changes. Times are ms
// since 1970 UTC.
type following struct {
	seed     maphash.Seed
	calls    map[string]followedCall
	polls    int64
	from     int64 // calls that started earlier are on record as listed
	recorded int64 // when a listed range was last recorded
	whole    bool  // a poll has listed everything down to from

	// Of the last poll:
	changes bool        // it found any
	found   bool        // it found calls that are new, or have ended
	due     []calls.Due // those of them whose record is due
}

// followedCall is the last seen state of a call.
type followedCall struct {
	sum   uint64
	poll  int64 // the last one that listed it
	start int64 // if unknown, when the call was first seen
	over  bool
}

// open reports whether a call is in progress and will likely end soon.
func (c *followedCall) open(now int64) bool { return !c.over && now-c.start < openFor }

// Poll stores what has changed in the newest part of the list, down to what is on record. The first
// poll begins with the page of Begin. busy reports that the next poll should be soon: some calls are
// new, have ended or are in progress, or not everything could be listed. The error is one of package
// api or of the store. If a page fails, it is the *api.RequestError.
func (c *Crawler) Poll(ctx context.Context) (busy bool, err error) {
	c.meter.update(func(p *Report) { p.Phase = Listing })
	top := c.top
	if c.top = nil; top == nil {
		if top, err = c.ask(ctx, query{bounds: bounds{Sorted: true, Before: forever}}); err != nil {
			return false, err
		}
	}
	if top.failure != nil {
		return false, top.failure
	}
	f, now := &c.following, c.nowMS()
	if f.calls == nil {
		f.seed, f.calls, f.from = maphash.MakeSeed(), map[string]followedCall{}, c.windowFrom()
		if spans := c.store.Coverage(); len(spans) > 0 {
			f.from = max(f.from, spans[len(spans)-1].To-overlap)
		}
	}
	l := c.newListing(f.begin(now), forever)
	l.top, l.poll = top, f
	if err := l.walk(ctx); err != nil {
		return false, err
	}
	f.whole = f.whole || l.done
	if l.done && f.recorded >= now {
		f.from = now - overlap
	}
	busy = f.found || !l.done
	for _, call := range f.calls {
		busy = busy || call.open(now)
	}
	return busy, nil
}

// begin begins a poll, and returns the start down to which it lists: from, or that of the earliest
// call in progress.
func (f *following) begin(now int64) (from int64) {
	f.polls++
	f.changes, f.found, f.due = false, false, nil
	from = f.from
	for id, call := range f.calls {
		if len(f.calls) > maxFollowed && call.poll < f.polls-2 {
			delete(f.calls, id)
		} else if call.open(now) {
			from = min(from, call.start)
		}
	}
	return from
}

// see remembers a decoded list item, and reports whether it differs from the last one of its call.
func (f *following) see(call *calls.Call, now int64) (changed bool) {
	id := string(call.ID())
	old, known := f.calls[id]
	if !known {
		old.start = now
	}
	is := followedCall{sum: f.sum(call), poll: f.polls, start: old.start, over: old.over || call.Over()}
	start := call.StartAt()
	if start.OK {
		is.start = start.V
	}
	f.calls[id] = is
	changed = !known || is.sum != old.sum
	f.changes = f.changes || changed
	if f.whole && (!known || is.over != old.over) {
		f.found = true
		call.Fetched(now, now, nil)
		call.Settle(now)
		asks := calls.Asking{Scope: calls.DueWaiting, Now: now}
		if due, ok := asks.Due(call); ok && start.OK && (known || start.V >= f.from) { // else the warehouse may have its record
			f.due = append(f.due, due)
		}
	}
	return changed
}

// sum returns a hash of a call's content. It ignores the query of signed links.
func (f *following) sum(call *calls.Call) uint64 {
	var h maphash.Hash
	h.SetSeed(f.seed)
	add := func(columns []schema.Column, row []parquet.Value) {
		for i := range columns {
			if c := &columns[i]; c.Compared() {
				v := c.Content(row[i])
				_ = h.WriteByte(byte(v.Kind() + 1))
				_, _ = h.Write(v.Bytes())
				_ = h.WriteByte(0)
			}
		}
	}
	add(call.Of.Table.Columns, call.Row)
	for i := range call.Lists {
		for n := range call.Lists[i].Len() {
			add(call.Of.Lists[i].Columns, call.Lists[i].At(n))
		}
	}
	return h.Sum64()
}

// records reports whether a poll records what it has listed. If not, a later page or poll records it.
func (f *following) records(now int64) bool {
	if !f.changes && now-f.recorded < recordEvery {
		return false
	}
	f.recorded = now
	return true
}

// FetchDue fetches the due records that were not requested before, those of the last poll first, and
// starts none after limit. Less urgent work is left to nightly runs: probes, and kinds of calls that
// turn out to have transcripts.
func (c *Crawler) FetchDue(ctx context.Context, limit time.Duration) error {
	if c.cfg.ListOnly {
		return nil
	}
	if c.skips.kinds == nil {
		if err := c.learn(ctx); err != nil {
			return err
		}
	}
	scope := c.scope()
	if scope == calls.DueTranscripts {
		scope = calls.DueWaiting
	}
	due := c.following.due
	c.following.due = nil
	if err := c.fetchAll(ctx, duesOf(due), limit); err != nil {
		return err
	}
	return c.fetchAll(ctx, c.store.Due(ctx, scope), limit)
}

// Fetch fetches the records of some calls, even if they are not due.
func (c *Crawler) Fetch(ctx context.Context, ids []string) error {
	due := make([]calls.Due, len(ids))
	for i, id := range ids {
		due[i] = calls.Due{CallID: id, AskAt: c.nowMS() + 1}
	}
	return c.fetchAll(ctx, duesOf(due), 0)
}

func duesOf(due []calls.Due) iter.Seq2[calls.Due, error] {
	return func(yield func(calls.Due, error) bool) {
		for _, d := range due {
			if !yield(d, nil) {
				return
			}
		}
	}
}

// Close ends a crawler, and closes its archive of recordings.
func (c *Crawler) Close() {
	c.api.Close()
	if c.cfg.Recordings != nil {
		c.cfg.Recordings.Close()
	}
}
