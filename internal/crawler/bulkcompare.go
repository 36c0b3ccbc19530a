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

// compare fetches the records of the sample of a page from v3, which replace the transcripts of v2, and
// compares them.
func (b *bulkCrawl) compare(ctx context.Context, p *bulkPage) error {
	priority := api.Spare
	if p.comparesFirst {
		priority = api.Recent // other pages wait for it
	}
	for _, id := range slices.Sorted(maps.Keys(p.sample)) {
		if b.over() {
			return nil
		}
		_, err := b.fetchRecord(ctx, &calls.Due{CallID: id}, priority, nil, func(v3 *calls.Call, rec schema.Record) error {
			return b.judge(ctx, p.sample[id], v3, rec)
		})
		if err != nil {
			return err
		}
	}
	if p.comparesFirst && b.uncompared() == 0 && b.state.State != schema.BulkTrusted {
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
		b.compared++
		b.counts(func(n *BulkCounts) {
			n.Compared++
			n.Differing += int64(min(1, len(found)))
		})
		if len(found) > 0 {
			recs = append(b.refute(string(v2.ID()), found[0]), rec)
		}
	}
	return b.put(ctx, recs...)
}

// refute reports that v2 is wrong because of a call.
func (b *bulkCrawl) refute(id, field string) []schema.Record {
	recs := b.mark(schema.BulkRefuted, field+" differs", "call "+id+": "+field+" differs")
	if recs != nil {
		b.meter.problem(fmt.Sprintf("the transcript of call %s that was fetched in bulk differs from its own record (%s): "+
			"all that were are fetched again, one by one", b.secrets.Clip(id, 80), field))
	}
	return recs
}
