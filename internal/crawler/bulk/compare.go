package bulk

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/sourcegraph/conc/pool"

	"callhouse/internal/api"
	"callhouse/internal/calls"
	"callhouse/internal/schema"
)

// compare compares the sample of a page with v3.
func (b *Crawl) compare(ctx context.Context, p *page) error {
	priority := api.Spare
	if p.proves {
		priority = api.Recent // other pages wait for it
	}
	workers := b.workers(ctx)
	for _, id := range slices.Sorted(maps.Keys(p.sample)) {
		workers.Go(func(ctx context.Context) error {
			if b.over() || ctx.Err() != nil {
				return nil
			}
			_, err := b.compareOne(ctx, p.sample[id], false, priority, nil)
			return err
		})
	}
	if err := workers.Wait(); err != nil {
		return err
	}
	if p.proves && b.unproven() == 0 && b.state.State != schema.BulkTrusted {
		return b.note(ctx, schema.BulkTrusted, "", "")
	}
	return nil
}

// compareStored compares n stored transcripts. It stops at the first one that shows that v2 is
// wrong, unless that is already known, and reports it.
func (b *Crawl) compareStored(ctx context.Context, stored iter.Seq2[*calls.Call, error], n int64, p api.Priority, s *api.Stream,
	known bool) (refuted bool, err error) {
	var wrong, failed atomic.Bool
	workers := b.workers(ctx)
	for call, serr := range stored {
		if serr != nil && ctx.Err() == nil {
			err = b.Failed("read the transcripts from v2", serr)
		}
		if serr != nil || n <= 0 || ctx.Err() != nil || failed.Load() || wrong.Load() && !known || s != nil && s.Over() != nil {
			break
		}
		n--
		call = call.Clone()
		workers.Go(func(ctx context.Context) error {
			blamed, err := b.compareOne(ctx, call, true, p, s)
			if blamed {
				wrong.Store(true)
			}
			if err != nil {
				failed.Store(true) // the loop's own context does not show it
			}
			return err
		})
		if err = b.Offer(ctx); err != nil {
			break
		}
	}
	if werr := workers.Wait(); werr != nil {
		err = werr
	}
	return wrong.Load(), err
}

func (b *Crawl) workers(ctx context.Context) *pool.ContextPool {
	return pool.New().WithMaxGoroutines(b.Workers).WithContext(ctx).WithCancelOnError().WithFirstError()
}

// compareOne fetches a call's own record, which replaces the transcript of v2, and reports whether
// they differ because v2 is wrong. stored: the transcript was not just fetched.
func (b *Crawl) compareOne(ctx context.Context, v2 *calls.Call, stored bool, p api.Priority, s *api.Stream) (blamed bool, err error) {
	var found []schema.Difference
	var v3 *calls.Call // set if it differs
	var rec schema.Record
	err = b.Fetch(ctx, string(v2.ID()), p, s, func(now *calls.Call, r schema.Record) error {
		diffs, compared, err := b.differences(v2, now, r, stored)
		if err != nil {
			return err
		}
		if len(diffs) > 0 && compared {
			found, v3, rec = diffs, now.Clone(), r
			return nil
		}
		if err = b.Put(ctx, r); err == nil && compared {
			b.count(stored, false)
		}
		return err
	})
	if err != nil || v3 == nil {
		return false, err
	}
	if stored && !incomplete(v2, v3, found) {
		again, err := b.again(ctx, v2)
		if err != nil || ctx.Err() != nil {
			return false, err // left to another run
		}
		if again != nil && len(transcripts(again, v3)) == 0 { // the call has changed in between
			b.count(stored, true)
			return false, b.Put(ctx, rec)
		}
	}
	b.count(stored, true)
	return true, b.Put(ctx, append(b.refute(string(v2.ID()), found[0]), rec)...)
}

func transcripts(a, b *calls.Call) []schema.Difference {
	return schema.Differences(&a.Transcript().Object, &b.Transcript().Object)
}

// differences compares a transcript of v2 with v3's record. compared is false if v2 cannot be blamed
// for a difference.
func (b *Crawl) differences(v2, v3 *calls.Call, r schema.Record, stored bool) (found []schema.Difference, compared bool, err error) {
	settled := v3.EndAt().V+calls.TranscriptGrace.Milliseconds() <= b.Now() // a transcript may take a while to be complete
	optedOut := v3.OptedOut()
	if clean, ok := b.Store.(Cleaner); ok && stored {
		body, _, err := clean.Clean(new([]byte), r.Body)
		if err == nil {
			err = b.Decode(body, r.Kind, func(call *calls.Call) { v3 = call.Clone() })
		}
		if err != nil {
			return nil, false, err
		}
	}
	gone := v3.Turns().Len() == 0 && v2.Turns().Len() > 0
	found = transcripts(v2, v3)
	return found, len(found) == 0 || settled && !optedOut && (!stored || !gone), nil
}

// incomplete reports whether a stored transcript lacks only turns at the end of v3's, though it was
// fetched when they had to be there.
func incomplete(v2, v3 *calls.Call, diffs []schema.Difference) bool {
	return v2.Turns().Len() < v3.Turns().Len() && v2.FirstSeenAt() >= v3.EndAt().V+calls.TranscriptGrace.Milliseconds() &&
		!slices.ContainsFunc(diffs, func(d schema.Difference) bool { return d.Field != "turn_count" && d.Field != schema.Turns.Name })
}

// again requests v2's current transcript of a call; nil if v2 has none.
func (b *Crawl) again(ctx context.Context, of *calls.Call) (*calls.Call, error) {
	if b.Source == FromV3 || !of.StartAt().OK {
		return nil, nil
	}
	id := string(of.ID())
	p := b.newPage(ctx, []calls.Due{{CallID: id, StartAt: of.StartAt()}}, firstSize)
	p.wanted[id] = false
	if f, err := b.API.Do(ctx, p.request(), nil); f != nil || err != nil {
		return nil, err
	}
	return p.sample[id], nil
}

// count counts a comparison.
func (b *Crawl) count(stored, differs bool) {
	if !stored {
		b.mu.Lock()
		b.compared++
		b.mu.Unlock()
	}
	b.Count(func(n *Counts) {
		if stored {
			n.Verified++
		} else {
			n.Compared++
		}
		if differs {
			n.Differing++
		}
	})
}

// refute reports that v2 is wrong because of a call.
func (b *Crawl) refute(id string, d schema.Difference) []schema.Record {
	recs := b.mark(schema.BulkRefuted, d.Field+" differs", "call "+id+": "+d.String())
	if recs != nil {
		b.Problem(fmt.Sprintf("the v2 transcript of call %s differs from v3 (%s): transcripts from v2 pages "+
			"are fetched again, one by one", b.Secrets.Clip(id, 80), d))
	}
	return recs
}
