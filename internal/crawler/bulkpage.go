package crawler

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"

	"callhouse/internal/api"
	"callhouse/internal/calls"
	"callhouse/internal/schema"
)

// bulkPage is one page of v2: the calls that started between the newest and the oldest of some due
// calls. It is read as a stream, so its size does not matter.
type bulkPage struct {
	*bulkCrawl
	pageStream
	ctx   context.Context
	due   []calls.Due // newest first
	limit int
	// proves is set if no page was compared before it.
	proves bool

	wanted map[string]bool // the ids of due; false: the transcript is to be compared
	told   map[string]bool // ids of due calls that were on the page
	others map[string]bool // other ids on the page; true: started between the due calls
	sample map[string]*calls.Call

	calls   int64
	kept    int64 // number of stored transcripts
	outside int64 // number of calls that started outside the requested time
	lowest  int64 // start of the oldest call
	recs    []schema.Record
	size    int   // of recs, in bytes
	failed  error // error of the store
}

// newBulkPage prepares a page of these calls, and selects the transcripts to compare.
func (b *bulkCrawl) newBulkPage(ctx context.Context, due []calls.Due, limit int) *bulkPage {
	unproven := b.unproven()
	p := &bulkPage{bulkCrawl: b, ctx: ctx, due: due, limit: limit, proves: unproven > 0, wanted: map[string]bool{}}
	for i, n := range rand.Perm(len(due)) {
		p.wanted[due[n].CallID] = i >= unproven && rand.IntN(oneIn) > 0
	}
	return p
}

// request returns the page's request. Both thresholds are assumed to be inclusive, in ms.
func (p *bulkPage) request() api.Request {
	body := map[string]any{"sort_order": "descending", "limit": p.limit}
	if len(p.due) > 0 {
		body["filter_criteria"] = map[string]any{"start_timestamp": map[string]int64{"upper_threshold": p.upper(), "lower_threshold": p.lower()}}
	}
	text, _ := json.Marshal(body) // texts and numbers always encode
	return api.Request{
		Method: http.MethodPost, Path: bulkPath, Body: text, Kind: api.Bulk, Priority: api.Recent, Stream: p.stream().Stream, Read: p.read,
	}
}

// upper and lower are the bounds of the starts of the newest and of the oldest due call, which may be
// later than they are shown.
func (p *bulkPage) upper() int64 { return after(p.due[0].StartAt.V) - 1 }
func (p *bulkPage) lower() int64 { return p.due[len(p.due)-1].StartAt.V }

// read reads the body of an answer, and stores the transcripts of due calls.
func (p *bulkPage) read(body io.Reader) error {
	p.told, p.others, p.sample = map[string]bool{}, map[string]bool{}, map[string]*calls.Call{}
	p.calls, p.outside, p.lowest, p.pageStream = 0, 0, forever, pageStream{}
	err := p.pageStream.Read(body, "calls", api.MaxBody, func(item []byte) error {
		p.failed = p.item(item)
		return p.failed
	})
	if p.failed = p.flush(); p.failed != nil {
		return nil // fetch handles this
	}
	return err
}

// item reads one call of the page. An error is the store's.
func (p *bulkPage) item(body []byte) error {
	r := p.readers.Get().(*reader)
	defer p.readers.Put(r)
	if r.decoder.Decode(body, schema.KindBulk, &r.call) != nil {
		return nil // the call's own record is fetched instead
	}
	id, start := string(r.call.ID()), r.call.StartAt()
	if _, again := p.others[id]; again || p.told[id] {
		return nil
	}
	p.calls++
	if start.OK {
		p.lowest = min(p.lowest, start.V)
	}
	inside := len(p.due) > 0 && start.OK && start.V <= p.upper() && start.V >= p.lower()
	if !inside {
		p.outside++
	}
	keep, wanted := p.wanted[id]
	if !wanted {
		p.others[id] = inside
		return nil
	}
	p.told[id] = true
	return p.transcript(&r.call, body, keep)
}

// transcript stores the transcript of a due call, or keeps it for the comparison. If it is
// incomplete, the call's own record is fetched instead.
func (p *bulkPage) transcript(call *calls.Call, body []byte, keep bool) error {
	id := string(call.ID())
	if err := call.TellsTranscript(); err != nil {
		p.log.Debug("a v2 call cannot be used", "call", p.secrets.Clip(id, 80), "reason", err)
		return nil
	}
	if !keep {
		p.sample[id] = call.Clone()
		return nil
	}
	p.recs = append(p.recs, schema.Record{Kind: schema.KindBulk, CallID: id, FetchedAt: p.nowMS(), Body: bytes.Clone(body)})
	if p.size += len(body); p.size < bulkBatch {
		return nil
	}
	return p.flush()
}

// flush stores the batch.
func (p *bulkPage) flush() error {
	recs := p.recs
	p.recs, p.size = nil, 0
	if p.failed != nil {
		return p.failed
	}
	if err := p.put(p.ctx, recs...); err != nil {
		return err
	}
	p.kept += int64(len(recs))
	return nil
}

// rest returns the part of a window that is still to be requested: the calls below the page, and
// those of the page's own part that did not fit on it.
func (p *bulkPage) rest(window []calls.Due) []calls.Due {
	var left []calls.Due
	if len(p.told) > 0 && (p.More || p.calls >= int64(p.limit)) {
		for _, d := range p.due {
			if !p.told[d.CallID] && d.StartAt.V <= p.lowest {
				left = append(left, d)
			}
		}
	}
	return append(left, window[len(p.due):]...)
}

// unlisted counts the calls on the page that v3 has not listed.
func (p *bulkPage) unlisted(ctx context.Context) (int64, error) {
	to := p.due[len(p.due)-1]
	if len(p.others) == 0 || p.calls <= to.Rank-p.due[0].Rank+1 {
		return 0, nil // the others started between the due calls
	}
	others := maps.Clone(p.others)
	maps.DeleteFunc(others, func(_ string, inside bool) bool { return !inside })
	if err := p.store.Unlisted(ctx, min(p.lowest, p.lower()), p.upper(), others); err != nil {
		return 0, &StoreError{"look for calls that v3 does not list", err}
	}
	return int64(len(others)), nil
}
