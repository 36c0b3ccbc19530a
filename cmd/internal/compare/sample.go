package compare

import (
	"cmp"
	"context"
	"iter"
	"math/rand/v2"
	"slices"
	"time"

	"callhouse/cmd/internal/intake"
	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/sink/snapshot"
)

// choose draws a random sample of the calls whose records are fetched, newest first.
func choose(ctx context.Context, s *layout.Snapshot, since int64, n int) (out []calls.Due, err error) {
	if n <= 0 {
		return nil, nil
	}
	var seen int64
	for call, err := range snapshot.CallRows(ctx, s) {
		if err != nil {
			return nil, err
		}
		if !comparable(call, since) {
			continue
		}
		seen++
		at := len(out)
		if at == n {
			if at = int(rand.Int64N(seen)); at >= n {
				continue
			}
		} else {
			out = append(out, calls.Due{})
		}
		out[at] = calls.Due{CallID: string(call.ID()), StartAt: call.StartAt()}
	}
	slices.SortFunc(out, func(a, b calls.Due) int { return cmp.Compare(b.StartAt.V, a.StartAt.V) })
	return out, nil
}

// comparable reports whether the warehouse has a call's own record.
func comparable(c *calls.Call, since int64) bool {
	known := c.TurnCount().OK && (c.TranscriptState() == calls.Present || c.TranscriptState() == calls.Empty)
	return known && (!c.StartAt().OK || c.StartAt().V >= since)
}

// Listener is a store whose due calls are the sample.
type Listener struct {
	*intake.Store
	asked  *layout.Snapshot
	since  int64
	all    bool
	sample []calls.Due

	records int // per resource; Everything for all
	objects []*resource.Resource
}

// Everything means all records instead of a number.
const Everything = -1

// Listen returns the store of a crawl that fetches the records of a sample of a snapshot's calls
// and of each resource's objects.
func Listen(ctx context.Context, st *intake.Store, asked *layout.Snapshot, since time.Time, n int,
	of []*resource.Resource) (*Listener, error) {
	l := &Listener{Store: st, asked: asked, since: since.UnixMilli(), all: n == Everything, records: n, objects: of}
	var err error
	l.sample, err = choose(ctx, asked, l.since, n)
	return l, err
}

// Due implements crawler.Store.
func (l *Listener) Due(ctx context.Context, _ calls.DueScope) iter.Seq2[calls.Due, error] {
	return func(yield func(calls.Due, error) bool) {
		for _, d := range l.sample {
			if !yield(d, nil) {
				return
			}
		}
		if !l.all {
			return
		}
		for call, err := range snapshot.CallRows(ctx, l.asked) {
			if err != nil {
				yield(calls.Due{}, err)
				return
			}
			if comparable(call, l.since) && !yield(calls.Due{CallID: string(call.ID()), StartAt: call.StartAt()}, nil) {
				return
			}
		}
	}
}

// DueCount returns the maximum number of due calls, for the progress display.
func (l *Listener) DueCount(calls.DueScope) int64 {
	if l.all {
		return l.asked.Manifest.Rows(schema.Calls.Name)
	}
	return int64(len(l.sample))
}

// Coverage implements crawler.Store. It is empty, so that everything is listed.
func (l *Listener) Coverage() []schema.Span { return nil }
