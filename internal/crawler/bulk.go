package crawler

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/bits"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/sourcegraph/conc/pool"

	"callhouse/internal/api"
	"callhouse/internal/calls"
	"callhouse/internal/crawler/forecast"
	"callhouse/internal/crawler/streams"
	"callhouse/internal/schema"
)

// Transcripts selects the source of transcripts.
type Transcripts uint8

const (
	// FromV3 fetches each call's own record.
	FromV3 Transcripts = iota
	// Auto uses pages of v2 if that takes fewer requests, the service has them, and they have
	// proved equal to v3.
	Auto
	// FromV2 uses them also if few calls are due, and tries again if they were found absent or
	// wrong. They must still prove themselves.
	FromV2
)

// bulkPath is the path of v2's list of whole calls.
const bulkPath = "/v2/calls/list"

const (
	// bulkLeast is the number of due calls from which a page of v2 is worth its request.
	bulkLeast = 5
	// bulkFirst and bulkMost are the initial and the maximum page size.
	bulkFirst, bulkMost = 100, 500
	// The page size doubles while pages exceed neither this size nor this time.
	bulkSmall, bulkQuick = 8 << 20, 10 * time.Second
	// Transcripts of a run that are compared with v3: bulkSample of the first page, and one in
	// bulkOneIn of the others.
	bulkSample, bulkOneIn = 20, 500
	// bulkAgain is the time after which pages that a service did not have are requested again.
	bulkAgain = 7 * 24 * time.Hour
	// bulkPatience is how many consecutive pages may fail, or have too few of the due calls, before
	// a run stops using them.
	bulkPatience = 3
	// bulkWorkers is the number of pages read concurrently.
	bulkWorkers = 4
	// bulkPut is the approximate size of a batch of records.
	bulkPut = 1 << 20
)

// BulkCounts are the running numbers of pages of v2.
type BulkCounts struct {
	schema.BulkCounts
	Pages int64 // good ones
	Total int64 // pages that the run will request, estimated
}

// bulk fetches transcripts of due calls on pages of v2.
//
// All other data comes from v3. A page only supplies the transcripts of calls that v3 has listed
// and that wait for their own record; the calls that a page lacks are fetched one by one. A sample
// of the transcripts is compared with the records; if one differs, pages are never used again.
type bulk struct {
	*Crawler
	store  BulkStore
	stream *streams.Stream

	mu    sync.Mutex
	size  int
	most  int    // maximum of size
	falls int    // number of failed pages
	bad   int    // consecutive pages that failed, or had too few of the due calls
	off   string // why no more pages are requested; empty if they are
	state schema.Bulk
	taken int64 // transcripts
	// number compared with v3
	compared int
	differs  sync.Once
}

// fetchBulk fetches transcripts of due calls on pages of v2 if that is allowed and saves requests.
// It reports whether it did.
func (c *Crawler) fetchBulk(ctx context.Context) (used bool, err error) {
	b := c.newBulk(ctx)
	if b == nil {
		return false, nil
	}
	if err := c.learn(ctx); err != nil {
		return false, err
	}
	pages, covered, err := b.forecast(ctx, bulkMost)
	if err != nil || !c.saves(pages, covered) {
		return false, err
	}
	c.log.Info("fetching transcripts from v2 pages", "calls", covered, "pages", pages)
	c.meter.update(func(p *Progress) { p.Phase, p.Bulk.Total = Bulk, p.Bulk.Pages+pages })

	workers := pool.New().WithMaxGoroutines(bulkWorkers).WithContext(ctx).WithCancelOnError().WithFirstError()
	err = b.windows(ctx, func(window []calls.Due) error {
		if b.unproven() > 0 { // before others are requested
			return b.fetch(ctx, window)
		}
		workers.Go(func(ctx context.Context) error { return b.fetch(ctx, window) })
		return c.offerCheckpoint(ctx)
	})
	if werr := workers.Wait(); werr != nil {
		err = werr
	}
	if err != nil || b.taken == 0 && b.state.State != schema.BulkRefuted || ctx.Err() != nil {
		return !b.over(), err
	}
	return true, c.committed(ctx) // the rest is fetched one by one
}

// newBulk returns nil if no page of v2 is to be requested.
func (c *Crawler) newBulk(ctx context.Context) *bulk {
	store, ok := c.store.(BulkStore)
	if !ok || c.cfg.Transcripts == FromV3 || ctx.Err() != nil || c.briefList() {
		return nil
	}
	if c.bulk != nil { // of an earlier round
		if c.bulk.taken = 0; c.bulk.over() {
			return nil
		}
		return c.bulk
	}
	b := &bulk{Crawler: c, store: store, stream: c.streams.Of("pages of v2", streams.Bulk), size: bulkFirst, most: bulkMost,
		state: store.Bulk()}
	since := time.Duration(c.nowMS()-b.state.At) * time.Millisecond
	switch known := b.state.State; {
	case c.cfg.Transcripts == FromV2 && known != schema.BulkTrusted:
		b.state = schema.Bulk{} // they must prove themselves again
	case known == schema.BulkRefuted, known == schema.BulkAbsent && since < bulkAgain-streams.Slack:
		return nil
	}
	if why := b.stream.Idle(); why != "" && c.cfg.Transcripts != FromV2 {
		c.meter.gaveUpBulk(why)
		return nil
	}
	c.bulk = b
	return b
}

// v2 describes the use of pages to a forecast.
func (c *Crawler) v2() forecast.V2 {
	return forecast.V2{First: bulkFirst, Last: bulkMost, Sample: bulkSample, OneIn: bulkOneIn, Alone: bulkLeast - 1,
		Always: c.cfg.Transcripts == FromV2}
}

// saves reports whether a number of pages is to be requested for the transcripts of a number of
// calls.
func (c *Crawler) saves(pages, calls int64) bool {
	v := c.v2()
	return v.Saves(pages, calls)
}

// planBulk forecasts transcripts on pages of v2.
func (c *Crawler) planBulk(ctx context.Context, p *forecast.Run) (err error) {
	b := c.newBulk(ctx)
	if b == nil {
		return nil
	}
	v := c.v2()
	if v.Pages.Least, v.Covered.Most, err = b.forecast(ctx, bulkMost); err != nil {
		return err
	}
	if v.Pages.Most, v.Covered.Least, err = b.forecast(ctx, bulkFirst); err != nil {
		return err
	}
	v.Rounds = 2 + int64(bits.Len64(uint64(p.List.Least/int64(c.minute))))
	t := v.Transcripts(&p.Calls)
	if t.Fallback != 0 && b.state.State != schema.BulkTrusted {
		page := &bulkPage{bulk: b, ctx: ctx, limit: 1}
		if f, err := b.api.Do(ctx, page.request(), nil); f != nil || err != nil {
			return err
		}
	}
	p.Transcripts = t
	return nil
}

// forecast returns the number of pages to request, and the number of due calls that they cover, if
// pages have a size.
func (b *bulk) forecast(ctx context.Context, of int) (pages, covered int64, err error) {
	size := b.size
	b.size = of
	err = b.windows(ctx, func(window []calls.Due) error {
		pages, covered = pages+1, covered+int64(len(window))
		return nil
	})
	b.size = size
	return pages, covered, err
}

// windows yields the due calls, newest first, in groups that fit on one page each. Isolated calls
// are left out.
func (b *bulk) windows(ctx context.Context, yield func(window []calls.Due) error) error {
	var window []calls.Due
	gaps := gapsOf(b.store.Coverage())
	part := 0 // of the list, above which gaps[part:] are
	flush := func() error {
		full := window
		if window = nil; !b.worth(full) {
			return nil
		}
		return yield(full)
	}
	for due, err := range b.store.Due(ctx, calls.DueTranscripts) {
		switch {
		case ctx.Err() != nil || b.over():
			return nil
		case err != nil:
			return &StoreError{"read the calls that are due", err}
		case due.Probe || b.decide(&due) != fetch || !due.StartAt.OK || due.StartAt.V < earliest:
			continue
		}
		// Between parts there may be any number of calls that are not listed yet.
		if n, _ := slices.BinarySearch(gaps, due.StartAt.V); n != part {
			if part = n; len(window) > 0 {
				if err := flush(); err != nil {
					return err
				}
			}
		}
		for len(window) > 0 && due.Rank-window[0].Rank >= int64(b.pageSize()) {
			if b.worth(window) {
				if err := flush(); err != nil {
					return err
				}
			} else {
				window = window[1:]
			}
		}
		window = append(window, due)
	}
	return flush()
}

// gapsOf returns where the listed parts of the list end that another part does not continue.
func gapsOf(coverage []schema.Span) (gaps []int64) {
	for i, s := range coverage {
		if i+1 < len(coverage) && s.To < coverage[i+1].From {
			gaps = append(gaps, s.To)
		}
	}
	return gaps
}

func (b *bulk) worth(window []calls.Due) bool {
	return len(window) >= bulkLeast || b.cfg.Transcripts == FromV2 && len(window) > 0
}

func (b *bulk) pageSize() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.size
}

func (b *bulk) over() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.off != ""
}

// unproven returns how many transcripts still have to be compared before pages are relied on.
func (b *bulk) unproven() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(0, bulkSample-b.compared)
}

// fetch requests the calls of a window, in smaller pages if a large one fails.
func (b *bulk) fetch(ctx context.Context, window []calls.Due) error {
	for b.worth(window) && !b.over() && ctx.Err() == nil {
		n := b.pageSize()
		end := slices.IndexFunc(window, func(d calls.Due) bool { return d.Rank-window[0].Rank >= int64(n) })
		if end < 0 {
			end = len(window)
		}
		p := b.newPage(ctx, window[:end], n)
		began := time.Now()
		f, err := b.api.Do(ctx, p.request(), nil)
		switch {
		case err != nil:
			return err
		case p.failed != nil:
			return p.failed
		case f != nil && f.Canceled():
			return nil
		case f != nil:
			if err := b.refused(ctx, f, p); err != nil {
				return err
			}
			continue
		}
		if err := b.took(ctx, p, time.Since(began)); err != nil {
			return err
		}
		if err := b.compare(ctx, p); err != nil {
			return err
		}
		window = p.rest(window)
	}
	return nil
}

// refused handles a failed page: the next one is smaller, or there is none any more.
func (b *bulk) refused(ctx context.Context, f *api.RequestError, p *bulkPage) error {
	switch f.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone,
		http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusNotImplemented:
		return b.note(ctx, schema.BulkAbsent, f.Class(), f.Error())
	case http.StatusTooManyRequests:
		if b.stream.Over() != nil && !b.stream.Used() {
			return b.note(ctx, schema.BulkAbsent, f.Class(), f.Error())
		}
	case http.StatusOK:
		if p.NoList {
			return b.note(ctx, schema.BulkAbsent, f.Class(), f.Error())
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if over := b.stream.Over(); over != nil {
		b.stop("v2 pages fail: " + over.Error())
		return nil
	}
	smaller := max(1, p.limit/2)
	if b.falls++; b.falls > 1 { // a first failure may be chance
		b.most = min(b.most, smaller)
	}
	b.size = min(b.size, smaller)
	if b.bad++; b.bad >= bulkPatience && b.size < bulkFirst/4 {
		b.stream.End(f)
		b.stop("v2 pages fail: " + f.Error())
	}
	return nil
}

// stop ends the use of pages in this run. b.mu is held.
func (b *bulk) stop(why string) {
	if b.off == "" {
		b.off = why
		b.meter.gaveUpBulk(why)
		b.log.Warn("v2 pages abandoned: transcripts are fetched one by one", "reason", why)
	}
}

// note stores the state of the pages. Unless they are trusted, no more are requested. kept is
// repeated in every later snapshot, so it must not name a call or quote an answer; said is for the
// log and the report of this run.
func (b *bulk) note(ctx context.Context, state schema.BulkState, kept, said string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state.State == schema.BulkRefuted || b.off != "" && state != schema.BulkRefuted {
		return nil // another page has found the same, or worse
	}
	b.state = schema.Bulk{State: state, At: b.nowMS(), Why: kept}
	if state != schema.BulkTrusted {
		b.stop(said)
	}
	body, err := json.Marshal(b.state)
	if err != nil {
		return fmt.Errorf("encode the state of v2: %w", err)
	}
	return b.put(ctx, schema.Record{Kind: schema.KindBulkState, FetchedAt: b.state.At, Body: body})
}

// took counts a good page, and sets the size of the next.
func (b *bulk) took(ctx context.Context, p *bulkPage, took time.Duration) error {
	unlisted, err := p.unlisted(ctx)
	if err != nil {
		return err
	}
	b.meter.update(func(pr *Progress) {
		pr.Bulk.Pages++
		pr.Bulk.Transcripts += p.put
		pr.Bulk.Unlisted += unlisted
	})
	useful := p.put + int64(len(p.sample))
	if p.proves && useful == 0 {
		const why = "its calls have no transcripts that can replace those of v3"
		return b.note(ctx, schema.BulkAbsent, why, why)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.taken += p.put
	if took <= bulkQuick && p.Bytes <= bulkSmall {
		b.size = min(b.most, 2*b.size)
	}
	fit := int64(len(p.due))
	if p.More && p.calls > 0 && p.calls < int64(p.limit) { // the service has a smaller maximum
		b.most, fit = int(p.calls), min(fit, p.calls)
		b.size = min(b.size, b.most)
	}
	b.bad++
	switch {
	case 2*useful >= fit:
		b.bad = 0
	case p.outside > 0:
		b.stop("v2 pages ignore the requested time")
	case b.bad >= bulkPatience:
		b.stop("v2 pages lack the due transcripts")
	}
	return nil
}

// compare fetches the own records of a sample, and compares their transcripts with the page's.
func (b *bulk) compare(ctx context.Context, p *bulkPage) error {
	priority := api.Spare
	if p.proves {
		priority = api.Recent // other pages wait for it
	}
	workers := pool.New().WithMaxGoroutines(b.cfg.Workers).WithContext(ctx).WithCancelOnError().WithFirstError()
	for _, id := range slices.Sorted(maps.Keys(p.sample)) {
		workers.Go(func(ctx context.Context) error { return b.compareOne(ctx, id, p.sample[id], priority) })
	}
	if err := workers.Wait(); err != nil {
		return err
	}
	if p.proves && b.unproven() == 0 && b.state.State != schema.BulkTrusted {
		return b.note(ctx, schema.BulkTrusted, "", "")
	}
	return nil
}

// compareOne fetches the own record of a call, and compares its transcript with that of v2.
func (b *bulk) compareOne(ctx context.Context, id string, v2 *calls.Call, priority api.Priority) error {
	if b.over() || ctx.Err() != nil {
		return nil
	}
	compared := false
	var field, difference string
	err := b.fetchDetail(ctx, id, priority, func(v3 *calls.Call) {
		found := schema.Differences(&v2.Transcript().Object, &v3.Transcript().Object)
		// A transcript may take a while to be made.
		compared = len(found) == 0 || v3.EndAt().V+calls.TranscriptGrace.Milliseconds() <= b.nowMS()
		if len(found) > 0 {
			field, difference = found[0].Field, found[0].String()
		}
	})
	if err != nil || !compared {
		return err
	}
	b.mu.Lock()
	b.compared++
	b.mu.Unlock()
	b.meter.update(func(pr *Progress) {
		if pr.Bulk.Compared++; difference != "" {
			pr.Bulk.Differing++
		}
	})
	if difference == "" {
		return nil
	}
	b.differs.Do(func() {
		b.meter.problem(fmt.Sprintf("the v2 transcript of call %s differs from v3 (%s): transcripts from v2 pages "+
			"are fetched again, one by one",
			b.secrets.Clip(id, 80), difference))
	})
	return b.note(ctx, schema.BulkRefuted, field+" differs", "call "+id+": "+difference)
}
