// Package bulk fetches transcripts of due calls on pages of v2, and compares them with those of v3,
// which replace them: a sample at once, the others in the following nights.
package bulk

import (
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/sourcegraph/conc/pool"

	"callhouse/internal/api"
	"callhouse/internal/calls"
	"callhouse/internal/crawler/streams"
	"callhouse/internal/schema"
	"callhouse/internal/words"
)

// Source selects the source of transcripts.
type Source uint8

const (
	// FromV3 fetches each call's own record.
	FromV3 Source = iota
	// Auto uses pages of v2 if that takes fewer requests, the service has them, and they have
	// proved equal to v3.
	Auto
	// FromV2 also uses them if few calls are due, and tries again if they were found absent or
	// wrong. They must still prove themselves.
	FromV2
)

// path is the path of v2's list of whole calls.
const path = "/v2/calls/list"

const (
	// least is the minimum number of due calls for which a page of v2 is worth its request.
	least = 5
	// firstSize and mostSize are the initial and the maximum page size.
	firstSize, mostSize = 100, 500
	// The page size doubles while pages exceed neither this size nor this time.
	small, quick = 8 << 20, 10 * time.Second
	// Transcripts of a run that are compared with v3: sampled of the first page, and one in
	// oneIn of the others.
	sampled, oneIn = 20, 500
	// retryAfter is the time after which pages that a service did not have are requested again.
	retryAfter = 7 * 24 * time.Hour
	// patience is how many consecutive pages may fail, or have too few of the due calls, before
	// a run stops using them.
	patience = 3
	// readers is the number of pages read concurrently.
	readers = 4
	// batch is the approximate size of a batch of records.
	batch = 1 << 20
)

// Counts are the running numbers of pages of v2.
type Counts struct {
	schema.BulkCounts
	Pages int64 // good ones
	Total int64 // pages that the run will request, estimated
}

// Store is the part of a store that pages of v2 use.
type Store interface {
	// Due and Coverage are those of the crawler's store.
	Due(ctx context.Context, scope calls.DueScope) iter.Seq2[calls.Due, error]
	Coverage() []schema.Span

	// Bulk returns the state of the pages of v2 as of the last commit.
	Bulk() schema.Bulk

	// Unlisted removes from ids all calls that a list of v3 has named: those that started from from
	// to to, both inclusive, as of the last commit, and the forgotten ones.
	Unlisted(ctx context.Context, from, to int64, ids map[string]bool) error

	// FromBulk yields the calls whose transcript came from v2 and was not replaced by v3's, as of
	// the last commit, newest period first.
	FromBulk(ctx context.Context) iter.Seq2[calls.Due, error]
}

// Config is the part of a run that pages of v2 use.
type Config struct {
	Source  Source
	Workers int

	API     *api.Client
	Streams *streams.Set
	Store   Store
	Log     *slog.Logger
	Secrets *words.Secrets
	Now     func() int64                      // ms since 1970 UTC
	Failed  func(what string, of error) error // returns the store's error
	Put     func(context.Context, ...schema.Record) error
	Commit  func(context.Context) error
	Offer   func(context.Context) error // offers the store a commit
	// Learn prepares Wants, which reports whether the record of a due call is worth a request.
	Learn func(context.Context) error
	Wants func(*calls.Due) bool
	// Fetch requests a call's own record; take stores it.
	Fetch  func(ctx context.Context, id string, p api.Priority, s *api.Stream, take func(*calls.Call, schema.Record) error) error
	Decode func(body []byte, kind schema.Kind, look func(*calls.Call)) error

	// Functions that receive results: counts, the number of the next pages, why pages were given up,
	// and problems.
	Count           func(func(*Counts))
	Pages           func(n int64)
	GaveUp, Problem func(why string)
}

// Crawl fetches transcripts of due calls on pages of v2.
//
// All other data comes from v3. A page only supplies the transcripts of calls that v3 has listed
// and that wait for their own record; the calls that a page lacks are fetched one by one. If a
// comparison shows that v2 is wrong, pages are never used again.
type Crawl struct {
	Config
	used bool // decided to request pages

	mu       sync.Mutex
	size     int
	most     int    // maximum of size
	falls    int    // number of failed pages
	bad      int    // consecutive pages that failed, or had too few of the due calls
	off      string // why no more pages are requested; empty while they are
	state    schema.Bulk
	taken    int64 // transcripts stored in this round
	compared int   // number of transcripts compared with v3 on arrival
}

// New prepares the pages of a run.
func New(cfg Config) *Crawl {
	return &Crawl{Config: cfg, size: firstSize, most: mostSize}
}

func (b *Crawl) stream() *streams.Stream { return b.Streams.Of("pages of v2", streams.Bulk) }

// Transcripts fetches transcripts of due calls on pages of v2 if that is allowed and saves requests. It
// reports whether it did.
func (b *Crawl) Transcripts(ctx context.Context) (used bool, err error) {
	if !b.ready(ctx) {
		return false, nil
	}
	if err := b.Learn(ctx); err != nil {
		return false, err
	}
	pages, covered, err := b.forecast(ctx, mostSize)
	if err != nil || !b.saves(pages, covered) {
		return false, err
	}
	b.Log.Info("fetching transcripts from v2 pages", "calls", covered, "pages", pages)
	b.Pages(pages)

	workers := pool.New().WithMaxGoroutines(readers).WithContext(ctx).WithCancelOnError().WithFirstError()
	err = b.windows(ctx, func(window []calls.Due) error {
		if b.unproven() > 0 { // before others are requested
			return b.fetch(ctx, window)
		}
		workers.Go(func(ctx context.Context) error { return b.fetch(ctx, window) })
		return b.Offer(ctx)
	})
	if werr := workers.Wait(); werr != nil {
		err = werr
	}
	if err != nil || b.taken == 0 || ctx.Err() != nil {
		return !b.over(), err
	}
	return true, b.Commit(ctx) // the rest is fetched one by one
}

// Refuted reports whether v2 was found wrong, so that its transcripts are fetched again.
func (b *Crawl) Refuted() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state.State == schema.BulkRefuted || b.Store.Bulk().State == schema.BulkRefuted
}

// ready reports whether to request pages of v2.
func (b *Crawl) ready(ctx context.Context) bool {
	if b.Source == FromV3 || ctx.Err() != nil {
		return false
	}
	if b.used { // in an earlier round
		b.taken = 0
		return !b.over()
	}
	b.state = b.Store.Bulk()
	since := time.Duration(b.Now()-b.state.At) * time.Millisecond
	switch known := b.state.State; {
	case b.Source == FromV2 && known != schema.BulkTrusted:
		b.state = schema.Bulk{} // pages must prove themselves again
	case known == schema.BulkRefuted, known == schema.BulkAbsent && since < retryAfter-streams.Slack:
		return false
	}
	if why := b.stream().Idle(); why != "" && b.Source != FromV2 {
		b.GaveUp(why)
		return false
	}
	b.used = true
	return true
}

// saves reports whether to request a number of pages for the transcripts of a number of calls.
func (b *Crawl) saves(pages, calls int64) bool {
	return calls > 0 && (b.Source == FromV2 || pages+compared(calls) < calls/2)
}

// compared returns about how many transcripts are compared with v3.
func compared(calls int64) int64 { return min(calls, sampled+calls/oneIn) }

// Plan returns the fewest requests for the transcripts of a number of calls.
func (b *Crawl) Plan(ctx context.Context, calls int64) int64 {
	if !b.ready(ctx) {
		return calls
	}
	return Requests(calls)
}

// Requests returns the fewest requests for the transcripts of a number of calls if pages of v2 can be
// used.
func Requests(calls int64) int64 {
	return min(calls, (calls+mostSize-1)/mostSize+compared(calls))
}

// forecast returns the number of pages to request, and the number of due calls that they cover, if
// pages have a size.
func (b *Crawl) forecast(ctx context.Context, of int) (pages, covered int64, err error) {
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
func (b *Crawl) windows(ctx context.Context, yield func(window []calls.Due) error) error {
	var window []calls.Due
	gaps := gapsOf(b.Store.Coverage())
	part := 0 // of the list; gaps[part:] are below it
	flush := func() error {
		full := window
		if window = nil; !b.worth(full) {
			return nil
		}
		return yield(full)
	}
	for due, err := range b.Store.Due(ctx, calls.DueTranscripts) {
		switch {
		case ctx.Err() != nil || b.over():
			return nil
		case err != nil:
			return b.Failed("read the calls that are due", err)
		case due.Again || due.Changed || !b.Wants(&due):
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

// gapsOf returns the lower bounds of the listed parts that no other part continues.
func gapsOf(coverage []schema.Span) (gaps []int64) {
	for i, s := range coverage {
		if i+1 < len(coverage) && s.To < coverage[i+1].From {
			gaps = append(gaps, s.To)
		}
	}
	return gaps
}

func (b *Crawl) worth(window []calls.Due) bool {
	return len(window) >= least || b.Source == FromV2 && len(window) > 0
}

func (b *Crawl) pageSize() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.size
}

func (b *Crawl) over() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.off != ""
}

// unproven returns how many transcripts still have to be compared before pages are relied on.
func (b *Crawl) unproven() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(0, sampled-b.compared)
}

// fetch requests the calls of a window, in smaller pages if a large one fails.
func (b *Crawl) fetch(ctx context.Context, window []calls.Due) error {
	for b.worth(window) && !b.over() && ctx.Err() == nil {
		n := b.pageSize()
		end := slices.IndexFunc(window, func(d calls.Due) bool { return d.Rank-window[0].Rank >= int64(n) })
		if end < 0 {
			end = len(window)
		}
		p := b.newPage(ctx, window[:end], n)
		began := time.Now()
		f, err := b.API.Do(ctx, p.request(), nil)
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

// refused handles a failed page: the next one is smaller, or pages are given up.
func (b *Crawl) refused(ctx context.Context, f *api.RequestError, p *page) error {
	switch f.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone,
		http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusNotImplemented:
		return b.note(ctx, schema.BulkAbsent, f.Class(), f.Error())
	case http.StatusTooManyRequests:
		if b.stream().Over() != nil && !b.stream().Used() {
			return b.note(ctx, schema.BulkAbsent, f.Class(), f.Error())
		}
	case http.StatusOK:
		if p.NoList {
			return b.note(ctx, schema.BulkAbsent, f.Class(), f.Error())
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if over := b.stream().Over(); over != nil {
		b.stop("v2 pages fail: " + over.Error())
		return nil
	}
	smaller := max(1, p.limit/2)
	if b.falls++; b.falls > 1 { // a first failure may be chance
		b.most = min(b.most, smaller)
	}
	b.size = min(b.size, smaller)
	if b.bad++; b.bad >= patience && b.size < firstSize/4 {
		b.stream().End(f)
		b.stop("v2 pages fail: " + f.Error())
	}
	return nil
}

// stop ends the use of pages in this run. It requires b.mu.
func (b *Crawl) stop(why string) {
	if b.off == "" {
		b.off = why
		b.GaveUp(why)
		b.Log.Warn("v2 pages abandoned: transcripts are fetched one by one", "reason", why)
	}
}

// note stores the state of the pages.
func (b *Crawl) note(ctx context.Context, state schema.BulkState, kept, said string) error {
	return b.Put(ctx, b.mark(state, kept, said)...)
}

// mark returns the record of the state of the pages. Unless they are trusted, no more are requested.
// kept is repeated in every later snapshot, so it must not name a call or quote an answer; said is
// for the log and the report of this run.
func (b *Crawl) mark(state schema.BulkState, kept, said string) []schema.Record {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state.State == schema.BulkRefuted || b.off != "" && state != schema.BulkRefuted {
		return nil // another page has found the same or a worse state
	}
	b.state = schema.Bulk{State: state, At: b.Now(), Why: kept}
	if state != schema.BulkTrusted {
		b.stop(said)
	}
	body, _ := json.Marshal(b.state) // texts and numbers always encode
	return []schema.Record{{Kind: schema.KindBulkState, FetchedAt: b.state.At, Body: body}}
}

// took counts a good page, and sets the size of the next.
func (b *Crawl) took(ctx context.Context, p *page, took time.Duration) error {
	unlisted, err := p.unlisted(ctx)
	if err != nil {
		return err
	}
	b.Count(func(n *Counts) {
		n.Pages++
		n.Transcripts += p.put
		n.Unlisted += unlisted
	})
	useful := p.put + int64(len(p.sample))
	if p.proves && useful == 0 {
		const why = "its calls have no transcripts that can replace those of v3"
		return b.note(ctx, schema.BulkAbsent, why, why)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.taken += p.put
	if took <= quick && p.Bytes <= small {
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
	case b.bad >= patience:
		b.stop("v2 pages lack the due transcripts")
	}
	return nil
}
