// Package compare compares a warehouse with the service's current answers.
package compare

import (
	"bytes"
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"callhouse/internal/calls"
	"callhouse/internal/crawler"
	"callhouse/internal/crawler/resources"
	"callhouse/internal/layout"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/sink/snapshot"
)

// comparison reads two snapshots side by side: the warehouse's, and one of the service's answers.
// It holds in memory the calls without a start, and the ids of calls that only one side has at the
// current start.
type comparison struct {
	ours, heard *layout.Snapshot
	since       int64 // earlier calls are ignored
	now         int64 // ms
	sure        []schema.Span
	forgot      func(id string) bool
	report      Report

	here, there map[string]*calls.Call // found on one side only; without a start: whole calls
}

// Run compares a warehouse with a snapshot of its service's answers for calls since a time and for
// some resources. window is how far back calls may still appear there; asked reports how the
// resources were fetched.
func Run(ctx context.Context, ours, heard *layout.Snapshot, since time.Time, window time.Duration, now time.Time,
	of []*resource.Resource, asked []resources.Report,
) (*Report, error) {
	forgot, err := snapshot.Forgotten(ours)
	if err != nil {
		return nil, err
	}
	c := &comparison{ours: ours, heard: heard, now: now.UnixMilli(), forgot: forgot, here: map[string]*calls.Call{},
		there: map[string]*calls.Call{}}
	if !since.IsZero() {
		c.since = max(0, since.UnixMilli())
	}
	for _, span := range ours.Manifest.Coverage {
		if span.To = crawler.SureUntil(span, window, c.now); span.From < span.To {
			c.sure = append(c.sure, span)
		}
	}
	empty := func() named { return named{Calls: []namedCall{}} }
	c.report = Report{Gone: empty(), Emptied: empty(), Lacking: empty(), Different: empty(), Changed: empty(), Problems: []string{},
		Resources: []*Objects{}}
	if err := c.run(ctx); err != nil {
		return nil, err
	}
	for _, r := range of {
		found, err := c.objects(ctx, r, problemOf(r, asked))
		if err != nil {
			return nil, err
		}
		c.report.Resources = append(c.report.Resources, found)
	}
	return &c.report, nil
}

// run compares everything.
func (c *comparison) run(ctx context.Context) error {
	if err := c.join(ctx); err != nil {
		return err
	}
	for id, there := range c.there {
		here := c.here[id]
		if here == nil {
			c.only(there)
			continue
		}
		// Both have it with different starts: the start has changed, or one has none.
		delete(c.here, id)
		for _, side := range []struct {
			call *calls.Call
			of   *layout.Snapshot
		}{{here, c.ours}, {there, c.heard}} {
			if !side.call.StartAt().OK {
				continue
			}
			found, err := snapshot.Find(ctx, side.of, id)
			if err != nil {
				return err
			}
			*side.call = *found
		}
		c.both(here, there)
	}
	for _, here := range c.here {
		if c.listed(here) {
			c.report.Gone.add(here, nil)
		} else {
			c.report.Skipped++
		}
	}
	for _, n := range []*named{&c.report.Gone, &c.report.Emptied, &c.report.Lacking, &c.report.Different, &c.report.Changed} {
		slices.SortFunc(n.Calls, func(a, b namedCall) int { return strings.Compare(a.CallID, b.CallID) })
	}
	return nil
}

// join compares the calls with the same start on both sides. It leaves the others in here and
// there.
func (c *comparison) join(ctx context.Context) error {
	ours, stopOurs := iter.Pull2(snapshot.Calls(ctx, c.ours))
	defer stopOurs()
	heard, stopHeard := iter.Pull2(snapshot.Calls(ctx, c.heard))
	defer stopHeard()
	here, err := c.advance(ours, c.here)
	if err != nil {
		return err
	}
	there, err := c.advance(heard, c.there)
	if err != nil {
		return err
	}
	for here != nil || there != nil {
		order := compareCalls(here, there)
		switch {
		case order < 0:
			c.here[string(here.ID())] = here.Stub()
		case order > 0:
			c.there[string(there.ID())] = there.Stub()
		default:
			c.both(here, there)
		}
		if order <= 0 {
			if here, err = c.advance(ours, c.here); err != nil {
				return err
			}
		}
		if order >= 0 {
			if there, err = c.advance(heard, c.there); err != nil {
				return err
			}
		}
	}
	return nil
}

// advance returns the next call with a start, nil at the end, and sets those without one aside.
func (c *comparison) advance(next func() (*calls.Call, error, bool), aside map[string]*calls.Call) (*calls.Call, error) {
	for {
		call, err, ok := next()
		switch {
		case !ok || err != nil:
			return nil, err
		case !call.StartAt().OK:
			aside[string(call.ID())] = call.Clone()
		case call.StartAt().V >= c.since:
			return call, nil
		}
	}
}

// compareCalls orders calls by start and id; nil is last.
func compareCalls(a, b *calls.Call) int {
	switch {
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return cmp.Or(cmp.Compare(a.StartAt().V, b.StartAt().V), bytes.Compare(a.ID(), b.ID()))
}

// both reports the columns that a run would change if it fetched the call now.
func (c *comparison) both(here, there *calls.Call) {
	c.report.Calls++
	kind, told := schema.KindItem, there.TurnCount().OK
	var turns []schema.Difference
	if told {
		kind = schema.KindDetail
		c.report.Transcripts++
		turns = schema.Differences(&here.Transcript().Object, &there.Transcript().Object)
	}
	kept := told && there.Turns().Len() == 0 && here.Turns().Len() > 0
	unsettled, withheld := here.Unsettled(), there.OptedOut()
	calls.Merge(here, there, kind)
	there.Settle(c.now)
	found := schema.Differences(&here.Object, &there.Object)
	asked := slices.ContainsFunc(found, func(d schema.Difference) bool {
		return d.Field == "status" || d.Field == "start_at" || d.Field == "end_at" // its record is fetched again for that
	})
	switch {
	case kept && !withheld:
		c.report.Emptied.add(here, nil)
	case len(turns) > 0 && !withheld && !asked:
		c.report.Different.add(here, turns)
	case len(found) == 0:
	case unsettled:
		c.report.Moved++
	default:
		c.report.Changed.add(here, found)
	}
}

// only judges a call that only the service has.
func (c *comparison) only(there *calls.Call) {
	switch {
	case c.forgot(string(there.ID())):
	case there.StartAt().OK && slices.ContainsFunc(c.sure, func(s schema.Span) bool {
		return s.From <= there.StartAt().V && there.StartAt().V < s.To
	}):
		c.report.Lacking.add(there, nil)
	default:
		c.report.New++
	}
}

// listed reports whether the list just read would have included a call. A call without a start is
// among the newest.
func (c *comparison) listed(here *calls.Call) bool {
	spans := c.heard.Manifest.Coverage
	if !here.StartAt().OK {
		return len(spans) == 1 && spans[0].From <= c.since
	}
	return slices.ContainsFunc(spans, func(s schema.Span) bool { return s.From <= here.StartAt().V && here.StartAt().V < s.To })
}
