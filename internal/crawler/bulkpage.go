package crawler

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"

	"callhouse/internal/api"
	"callhouse/internal/calls"
	"callhouse/internal/schema"
)

// bulkPage is one page of v2: the calls that started between the newest and the oldest of some due calls.
type bulkPage struct {
	listPage
	due           []calls.Due // newest first
	limit         int
	comparesFirst bool            // no page was compared before it
	wanted        map[string]bool // the ids of due; false: the transcript is to be compared

	seen    map[string]bool // ids on the page; true: due
	outside bool            // it has calls that started outside the requested time
	lowest  int64           // start of the oldest call
	recs    []schema.Record // the transcripts to store
	sample  map[string]*calls.Call
}

// newBulkPage prepares a page of these calls, and selects the transcripts to compare.
func (b *bulkCrawl) newBulkPage(due []calls.Due, limit int) *bulkPage {
	uncompared := b.uncompared()
	p := &bulkPage{due: due, limit: limit, comparesFirst: uncompared > 0, wanted: map[string]bool{}, seen: map[string]bool{}, lowest: forever,
		sample: map[string]*calls.Call{}}
	for i, n := range rand.Perm(len(due)) {
		p.wanted[due[n].CallID] = i >= uncompared && rand.IntN(oneIn) > 0
	}
	return p
}

// request returns the page's request. Both thresholds are assumed to be inclusive, in ms.
func (p *bulkPage) request(stream *api.Stream) api.Request {
	started := map[string]int64{"upper_threshold": p.upper(), "lower_threshold": p.lower()}
	body, _ := json.Marshal(map[string]any{ // texts and numbers always encode
		"sort_order": "descending", "limit": p.limit, "filter_criteria": map[string]any{"start_timestamp": started},
	})
	return api.Request{
		Method: http.MethodPost, Path: bulkPath, Body: body, Kind: api.Bulk, Priority: api.Recent, Stream: stream, MaxBody: maxBulkPage,
	}
}

// upper and lower are the bounds of the starts of the newest and of the oldest due call, which may be
// later than they are shown.
func (p *bulkPage) upper() int64 { return after(p.due[0].StartAt.V) - 1 }
func (p *bulkPage) lower() int64 { return p.due[len(p.due)-1].StartAt.V }

// read takes the transcripts of due calls from a page, to be stored or compared. If one is incomplete,
// or its call cannot be decoded, the call's own record is fetched instead.
func (b *bulkCrawl) read(p *bulkPage) {
	r := b.reader()
	defer b.readers.Put(r)
	for _, item := range p.Items {
		if len(item) > api.MaxBody || r.decoder.Decode(item, schema.KindBulk, &r.call) != nil {
			continue
		}
		id, start := string(r.call.ID()), r.call.StartAt()
		if _, again := p.seen[id]; again {
			continue
		}
		if start.OK {
			p.lowest = min(p.lowest, start.V)
		}
		p.outside = p.outside || !start.OK || start.V > p.upper() || start.V < p.lower()
		keep, wanted := p.wanted[id]
		p.seen[id] = wanted
		if !wanted {
			continue
		}
		switch err := r.call.CheckTranscript(); {
		case err != nil:
			b.log.Debug("a v2 call cannot be used", "call", b.secrets.Clip(id, 80), "reason", err)
		case keep:
			p.recs = append(p.recs, schema.Record{Kind: schema.KindBulk, CallID: id, FetchedAt: p.At, Body: item})
		default:
			p.sample[id] = r.call.Clone()
		}
	}
}

// rest returns the part of a window that is still to be requested: the calls below the page, and
// those of the page's own part that did not fit on it.
func (p *bulkPage) rest(window []calls.Due) []calls.Due {
	var left []calls.Due
	found := false
	for _, due := range p.seen {
		found = found || due
	}
	if found && (p.Next != "" || len(p.seen) >= p.limit) {
		for _, d := range p.due {
			if !p.seen[d.CallID] && d.StartAt.V <= p.lowest {
				left = append(left, d)
			}
		}
	}
	return append(left, window[len(p.due):]...)
}
