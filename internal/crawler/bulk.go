package crawler

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"callhouse/internal/api"
	"callhouse/internal/calls"
	"callhouse/internal/schema"
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

// bulkPath is the path of v2's list of whole calls.
const bulkPath = "/v2/calls/list"

const (
	// minDue is the minimum number of due calls for which a page of v2 is worth its request.
	minDue = 5
	// firstBulk and maxBulk are the initial and the maximum page size. It doubles with each page, and
	// halves when one fails.
	firstBulk, maxBulk = 100, 500
	// Transcripts of a run that are compared with v3: sampled of the first page, and one in
	// oneIn of the others.
	sampled, oneIn = 20, 500
	// retryBulk is the time after which pages that a service did not have are requested again.
	retryBulk = 7 * 24 * time.Hour
	// maxBad is how many consecutive pages may fail, or have too few of the due calls, before
	// a run stops using them.
	maxBad = 3
	// maxBulkPage is the maximum size of a page in bytes.
	maxBulkPage = 16 << 20
)

// BulkCounts are the running numbers of pages of v2.
type BulkCounts struct {
	schema.BulkCounts
	Pages int64     // good ones
	Due   int64     // calls whose transcripts are to come on pages
	Begun time.Time // when the first page was requested
	Asked time.Time // when the page that is awaited was requested; zero: none is
}

// bulkCrawl fetches transcripts of due calls on pages of v2.
//
// All other data comes from v3. A page only supplies the transcripts of calls that v3 has listed
// and that wait for their own record; the calls that a page lacks are fetched one by one. If a
// comparison shows that v2 is wrong, pages are never used again. Since a page is worth hundreds of
// requests, they are requested one after the other.
type bulkCrawl struct {
	*Crawler
	used     bool // decided to request pages
	size     int
	maxSize  int    // maximum of size
	falls    int    // number of failed pages
	bad      int    // consecutive pages that failed, or had too few of the due calls
	off      string // why no more pages are requested; empty while they are
	state    schema.Bulk
	taken    int64 // transcripts stored in this round
	compared int   // number of transcripts compared with v3 on arrival
}

// wants reports whether the record of a due call is worth a request.
func (b *bulkCrawl) wants(due *calls.Due) bool {
	return b.decide(due) == fetch && due.StartAt.OK && due.StartAt.V >= earliest
}

// counts changes the counts of the run.
func (b *bulkCrawl) counts(f func(*BulkCounts)) { b.meter.update(func(p *Report) { f(&p.Bulk) }) }

func (b *bulkCrawl) stream() *api.Stream { return b.Crawler.stream("bulk requests", bulkAllowance) }

// transcripts fetches transcripts of due calls on pages of v2 if that is allowed and saves requests. It
// reports whether it did.
func (b *bulkCrawl) transcripts(ctx context.Context) (used bool, err error) {
	if !b.ready(ctx) {
		return false, nil
	}
	if err := b.learn(ctx); err != nil {
		return false, err
	}
	var pages, covered int64
	size := maxBulk
	err = b.windows(ctx, &size, func(window []calls.Due) error {
		pages, covered = pages+1, covered+int64(len(window))
		return nil
	})
	if err != nil || !b.saves(pages, covered) {
		return false, err
	}
	b.log.Info("fetching transcripts in bulk", "calls", covered, "pages", pages)
	b.meter.update(func(p *Report) { p.Phase, p.Bulk.Due, p.Bulk.Begun = Bulk, p.Bulk.Transcripts+covered, time.Now() })

	err = b.windows(ctx, &b.size, func(window []calls.Due) error {
		if err := b.fetch(ctx, window); err != nil {
			return err
		}
		return b.offerCheckpoint(ctx)
	})
	if err != nil || b.taken == 0 || ctx.Err() != nil {
		return !b.over(), err
	}
	return true, b.committed(ctx) // the rest is fetched one by one
}

// refuted reports whether v2 was found wrong, so that its transcripts are fetched again.
func (b *bulkCrawl) refuted() bool {
	return b.state.State == schema.BulkRefuted || b.store.Bulk().State == schema.BulkRefuted
}

// ready reports whether to request pages of v2.
func (b *bulkCrawl) ready(ctx context.Context) bool {
	if b.cfg.Transcripts == FromV3 || ctx.Err() != nil {
		return false
	}
	if b.used { // in an earlier round
		b.taken = 0
		return !b.over()
	}
	b.state = b.store.Bulk()
	since := time.Duration(b.nowMS()-b.state.At) * time.Millisecond
	switch known := b.state.State; {
	case b.cfg.Transcripts == FromV2 && known != schema.BulkTrusted:
		b.state = schema.Bulk{} // pages must prove themselves again
	case known == schema.BulkRefuted, known == schema.BulkAbsent && since < retryBulk-slack:
		return false
	}
	b.used = true
	return true
}

// saves reports whether to request a number of pages for the transcripts of a number of calls.
func (b *bulkCrawl) saves(pages, calls int64) bool {
	compared := min(calls, sampled+calls/oneIn) // with v3, about
	return calls > 0 && (b.cfg.Transcripts == FromV2 || pages+compared < calls/2)
}

// windows yields the due calls, newest first, in groups that fit on one page each. Isolated calls
// are left out.
func (b *bulkCrawl) windows(ctx context.Context, size *int, yield func(window []calls.Due) error) error {
	var window []calls.Due
	gaps := gapsOf(b.store.Coverage())
	part := 0 // of the list; gaps[part:] are below it
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
		case due.Again || due.Changed || !b.wants(&due):
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
		for len(window) > 0 && due.Rank-window[0].Rank >= int64(*size) {
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

func (b *bulkCrawl) worth(window []calls.Due) bool {
	return len(window) >= minDue || b.cfg.Transcripts == FromV2 && len(window) > 0
}

func (b *bulkCrawl) over() bool { return b.off != "" }

// uncompared returns how many transcripts still have to be compared before pages are relied on.
func (b *bulkCrawl) uncompared() int { return max(0, sampled-b.compared) }

// fetch requests the calls of a window, in smaller pages if a large one fails.
func (b *bulkCrawl) fetch(ctx context.Context, window []calls.Due) error {
	for b.worth(window) && !b.over() && ctx.Err() == nil {
		n := b.size
		end := slices.IndexFunc(window, func(d calls.Due) bool { return d.Rank-window[0].Rank >= int64(n) })
		if end < 0 {
			end = len(window)
		}
		p := b.newBulkPage(window[:end], n)
		b.counts(func(n *BulkCounts) { n.Asked = time.Now() })
		f, err := b.api.Do(ctx, p.request(b.stream()), func(a *api.Answer) (err error) {
			p.listPage, err = parsePage("calls", a.Body)
			p.At = a.At.UnixMilli()
			return err
		})
		b.counts(func(n *BulkCounts) { n.Asked = time.Time{} })
		switch {
		case err != nil:
			return err
		case f != nil && f.Canceled():
			return nil
		case f != nil:
			if err := b.refused(ctx, f, p); err != nil {
				return err
			}
			continue
		}
		b.read(p)
		if err = b.put(ctx, p.recs...); err == nil {
			err = b.took(ctx, p)
		}
		if err == nil {
			err = b.compare(ctx, p)
		}
		if err != nil {
			return err
		}
		window = p.rest(window)
	}
	return nil
}

// refused handles a failed page: the next one is smaller, or pages are given up.
func (b *bulkCrawl) refused(ctx context.Context, f *api.RequestError, p *bulkPage) error {
	switch f.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone,
		http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusNotImplemented:
		return b.note(ctx, schema.BulkAbsent, f.Class(), f.Error())
	case http.StatusTooManyRequests:
		if b.stream().Over() != nil && !b.stream().Used() {
			return b.note(ctx, schema.BulkAbsent, f.Class(), f.Error())
		}
	case http.StatusOK:
		if errors.Is(f, errNoList) {
			return b.note(ctx, schema.BulkAbsent, f.Class(), f.Error())
		}
	}
	if over := b.stream().Over(); over != nil {
		b.stop("they fail: " + over.Error())
		return nil
	}
	smaller := max(1, p.limit/2)
	if b.falls++; b.falls > 1 { // a first failure may be chance
		b.maxSize = min(b.maxSize, smaller)
	}
	b.size = min(b.size, smaller)
	if b.bad++; b.bad >= maxBad && b.size < firstBulk/4 {
		b.stream().End(f)
		b.stop("they fail: " + f.Error())
	}
	return nil
}

// stop ends the use of pages in this run.
func (b *bulkCrawl) stop(why string) {
	if b.off == "" {
		b.off = why
		b.meter.gaveUpBulk(why)
		b.log.Warn("bulk requests abandoned: transcripts are fetched one by one", "reason", why)
	}
}

// note stores the state of the pages.
func (b *bulkCrawl) note(ctx context.Context, state schema.BulkState, stored, said string) error {
	return b.put(ctx, b.mark(state, stored, said)...)
}

// mark returns the record of the state of the pages. Unless they are trusted, no more are requested.
// stored is repeated in every later snapshot, so it must not name a call or quote an answer; said is
// for the log and the report of this run.
func (b *bulkCrawl) mark(state schema.BulkState, stored, said string) []schema.Record {
	if b.state.State == schema.BulkRefuted || b.off != "" && state != schema.BulkRefuted {
		return nil // the same or a worse state is known
	}
	b.state = schema.Bulk{State: state, At: b.nowMS(), Why: stored}
	if state != schema.BulkTrusted {
		b.stop(said)
	}
	body, _ := json.Marshal(b.state) // texts and numbers always encode
	return []schema.Record{{Kind: schema.KindBulkState, FetchedAt: b.state.At, Body: body}}
}

// took counts a good page, and sets the size of the next.
func (b *bulkCrawl) took(ctx context.Context, p *bulkPage) error {
	transcripts := int64(len(p.recs))
	b.counts(func(n *BulkCounts) {
		n.Pages++
		n.Transcripts += transcripts
	})
	useful := transcripts + int64(len(p.sample))
	if p.comparesFirst && useful == 0 {
		const why = "its calls have no transcripts that can replace those of their records"
		return b.note(ctx, schema.BulkAbsent, why, why)
	}
	b.taken += transcripts
	b.size = min(b.maxSize, 2*b.size)
	fit, all := int64(len(p.due)), len(p.seen)
	if p.Next != "" && all > 0 && all < p.limit { // the service has a smaller maximum
		b.maxSize, fit = all, min(fit, int64(all))
		b.size = min(b.size, b.maxSize)
	}
	b.bad++
	switch {
	case 2*useful >= fit:
		b.bad = 0
	case p.outside:
		b.stop("they ignore the requested time")
	case b.bad >= maxBad:
		b.stop("they lack the due transcripts")
	}
	return nil
}
