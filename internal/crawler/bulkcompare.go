package crawler

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"callhouse/internal/api"
	"callhouse/internal/calls"
	"callhouse/internal/schema"
)

// compare compares the sample of a page with v3.
func (b *bulkCrawl) compare(ctx context.Context, p *bulkPage) error {
	priority := api.Spare
	if p.proves {
		priority = api.Recent // other pages wait for it
	}
	workers := b.workers(ctx, b.cfg.Workers)
	for _, id := range slices.Sorted(maps.Keys(p.sample)) {
		workers.Go(func(ctx context.Context) error {
			if b.over() || ctx.Err() != nil {
				return nil
			}
			_, err := b.fetchRecord(ctx, &calls.Due{CallID: id}, priority, nil, func(v3 *calls.Call, rec schema.Record) error {
				return b.judge(ctx, p.sample[id], v3, rec) // the record replaces the transcript of v2
			})
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

// judge compares a transcript of v2 with v3's record, and stores that.
func (b *bulkCrawl) judge(ctx context.Context, v2, v3 *calls.Call, rec schema.Record) error {
	found := schema.Differences(&v2.Transcript().Object, &v3.Transcript().Object)
	settled := v3.EndAt().V+calls.TranscriptGrace.Milliseconds() <= b.nowMS() // a transcript may take a while to be complete
	recs := []schema.Record{rec}
	if len(found) == 0 || settled && !v3.OptedOut() {
		b.count(len(found) > 0)
		if len(found) > 0 {
			recs = append(b.refute(string(v2.ID()), found[0]), rec)
		}
	}
	return b.put(ctx, recs...)
}

// count counts a comparison.
func (b *bulkCrawl) count(differs bool) {
	b.mu.Lock()
	b.compared++
	b.mu.Unlock()
	b.counts(func(n *BulkCounts) {
		n.Compared++
		if differs {
			n.Differing++
		}
	})
}

// refute reports that v2 is wrong because of a call.
func (b *bulkCrawl) refute(id string, d schema.Difference) []schema.Record {
	recs := b.mark(schema.BulkRefuted, d.Field+" differs", "call "+id+": "+d.String())
	if recs != nil {
		b.meter.problem(fmt.Sprintf("the v2 transcript of call %s differs from v3 (%s): transcripts from v2 pages "+
			"are fetched again, one by one", b.secrets.Clip(id, 80), d))
	}
	return recs
}
