package extractcmd

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"sync"
	"time"

	"callhouse/internal/calls"
	"callhouse/internal/crawler"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
)

// followStore is a session's store: it accepts only changed records, and treats calls as due as soon
// as it accepts their list items, before the commit.
type followStore struct {
	*sink.Warehouse
	memory *crawler.Memory
	now    func() time.Time

	mu      sync.Mutex           // recordings are put concurrently with calls
	covered *schema.Span         // listed without changes; nil: none
	since   time.Time            // when covered was first set
	fresh   map[string]calls.Due // due but not committed
	unsure  map[string]bool      // calls of fresh whose record an earlier process may have stored
}

func newFollowStore(w *sink.Warehouse, m *crawler.Memory, now func() time.Time) *followStore {
	return &followStore{Warehouse: w, memory: m, now: now, fresh: map[string]calls.Due{}, unsure: map[string]bool{}}
}

// Put implements crawler.Store. Listed ranges are held back until the next change.
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
	return s.Warehouse.Put(ctx, append(out, s.listed()...)...)
}

// take reports whether a call's record must be stored.
func (s *followStore) take(r *schema.Record) (bool, error) {
	now := s.now().UnixMilli()
	switch r.Kind {
	case schema.KindItem, schema.KindDetail:
		var d calls.Decoder
		var c calls.Call
		if err := d.Decode(r.Body, r.Kind, &c); err != nil {
			return false, err
		}
		if r.Kind == schema.KindItem {
			changed := s.memory.Changed(&c, now)
			if changed {
				s.freshen(&c, now)
			}
			return changed, nil
		}
		c.Fetched(now, r.FetchedAt, nil)
		calls.Merge(nil, &c, r.Kind)
		c.Settle(now)
		s.memory.Fetched(&c, now)
	case schema.KindMissing:
		s.memory.Missed(r.CallID, now)
	case schema.KindSkipped:
		s.memory.Told(r.CallID)
	}
	return true, nil
}

// freshen adds a call with a changed list item to the due calls, if it is due.
func (s *followStore) freshen(c *calls.Call, now int64) {
	c.Fetched(now, now, nil)
	c.Settle(now)
	asks := calls.Asking{Scope: calls.DueWaiting, Now: now}
	due, ok := asks.Due(c)
	wants, again := s.memory.Wants(due.CallID)
	if !ok || !wants || !due.StartAt.OK {
		return
	}
	if again {
		due.AskAt = now
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fresh[due.CallID], s.unsure[due.CallID] = due, !again
}

// Due implements crawler.Store: the calls that became due since the last commit, then those due in
// the committed snapshot.
func (s *followStore) Due(ctx context.Context, scope calls.DueScope) iter.Seq2[calls.Due, error] {
	return func(yield func(calls.Due, error) bool) {
		fresh, err := s.certain(ctx)
		if err != nil {
			yield(calls.Due{}, err)
			return
		}
		now := s.now().UnixMilli()
		for _, due := range fresh {
			if s.memory.Ripe(due.CallID, now) && !yield(due, nil) {
				return
			}
		}
		for due, err := range s.Warehouse.Due(ctx, scope) {
			if (err != nil || s.memory.Ripe(due.CallID, now)) && !yield(due, err) {
				return
			}
		}
	}
}

// certain returns the calls that became due since the last commit, except those whose record an
// earlier process has stored.
func (s *followStore) certain(ctx context.Context) (map[string]calls.Due, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := map[string]bool{}
	from, to := int64(0), int64(0)
	for id, unsure := range s.unsure {
		if at := s.fresh[id].StartAt.V; unsure {
			if len(left) == 0 {
				from, to = at, at
			}
			left[id], from, to = true, min(from, at), max(to, at)
		}
	}
	if len(left) > 0 {
		if err := s.Unasked(ctx, from, to, left); err != nil {
			return nil, err
		}
	}
	for id, unsure := range s.unsure {
		if unsure && !left[id] {
			delete(s.fresh, id)
			s.memory.Told(id)
		}
	}
	clear(s.unsure)
	return maps.Clone(s.fresh), nil
}

// committed clears the calls that became due before the last commit: the snapshot now returns them.
func (s *followStore) committed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.fresh)
	clear(s.unsure)
}

// cover merges a listed range with the previous ones.
func (s *followStore) cover(r *schema.Record) error {
	var span schema.Span
	if err := json.Unmarshal(r.Body, &span); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.covered == nil {
		s.since = s.now()
		s.covered = &span
		return nil
	}
	if span.From > s.covered.To { // a gap: nightly runs list the earlier range again
		s.covered = &span
		return nil
	}
	s.covered.From, s.covered.To = min(s.covered.From, span.From), max(s.covered.To, span.To)
	return nil
}

// listed takes the record of the listed range, if there is one.
func (s *followStore) listed() []schema.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.covered == nil {
		return nil
	}
	body, err := json.Marshal(s.covered)
	if err != nil {
		return nil // integers always encode
	}
	r := schema.Record{Kind: schema.KindCovered, FetchedAt: s.covered.ListedAt, Body: body}
	s.covered = nil
	return []schema.Record{r}
}

// release stores the listed range if nothing has changed for coverageEvery.
func (s *followStore) release(ctx context.Context, now time.Time) error {
	s.mu.Lock()
	early := s.covered == nil || now.Sub(s.since) < coverageEvery
	s.mu.Unlock()
	if early {
		return nil
	}
	return s.Warehouse.Put(ctx, s.listed()...)
}
