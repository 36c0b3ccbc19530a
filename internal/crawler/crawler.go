// Package crawler decides what to request from the service, and when.
//
// It lists calls page by page, newest first, until it has covered the sweep window and every span
// of time not yet listed completely. Then it fetches the due details; transcripts may come from pages
// of v2 (bulk.go). Optional work, with an allowance of failures and time (streams.go), are the other
// resources, relisting and recordings. It passes each record to a
// [Store], which also supplies the due calls and the spans listed before.
//
// Package api sends the requests, within the budget, and decides what follows from a failure.
//
// The package writes no file, prints nothing, and keeps no state beyond a run. It does not depend
// on the warehouse or the commands. docs/design/crawler.md describes the rules of paging.
package crawler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"callhouse/internal/api"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/words"
)

// commitTimeout bounds the last commit of an interrupted run.
const commitTimeout = 15 * time.Minute

// Crawler is one run. Run is called once; Progress at any time.
type Crawler struct {
	cfg     Config
	store   Store
	log     *slog.Logger
	api     *api.Client
	meter   *meter
	secrets *words.Secrets // omitted from reports and messages

	second, minute int   // our part of the limits
	since          int64 // ms; 0: no bound
	filters        filters
	streamsMu      sync.Mutex
	streams        map[string]*api.Stream
	resources      *resourceCrawl
	readers        sync.Pool // of *reader
	skips          skips
	following      following // of a crawler that does not Run
	// Items listed with and without call_analysis or call_cost.
	itemsWith, itemsWithout atomic.Int64

	// Events in a run: see crawl.
	begun, newest, listed signal
	bulk                  *bulkCrawl
	recordings            *recordingCrawl // nil: they are not archived

	started time.Time   // by the local clock
	top     *pageResult // the first page; nil: not requested, or taken
	refused error       // why there is none

	offered   time.Time // when the store was last offered a commit
	offeredMu sync.Mutex
}

// New prepares a run. It sends no request.
func New(cfg Config, store Store) (*Crawler, error) {
	cfg.SetDefaults()
	cfg.CheckpointEvery = cmp.Or(cfg.CheckpointEvery, 2*time.Minute)
	cfg.Probe = api.Request{Path: callsPath, Query: url.Values{"limit": {"1"}}}
	client, err := api.New(cfg.Config)
	if err != nil {
		return nil, fmt.Errorf("crawler: %w", err)
	}
	c := &Crawler{
		cfg:     cfg,
		store:   store,
		log:     cfg.Logger,
		api:     client,
		secrets: words.NewSecrets(string(cfg.Key)),
	}
	c.meter = newMeter(c.secrets)
	c.second, c.minute = cfg.Limits()
	c.skips.seed = maphash.MakeSeed()
	c.begun, c.newest, c.listed = newSignal(), newSignal(), newSignal()
	c.streams = map[string]*api.Stream{}
	c.resources = &resourceCrawl{Crawler: c, reports: map[*resource.Resource]*ResourceReport{}}
	c.bulk = &bulkCrawl{Crawler: c, size: firstBulk, maxSize: maxBulk}
	c.recordings = c.newRecordings()
	c.SetSince(cfg.Since)
	return c, nil
}

var errDeadline = errors.New("the run's time limit is reached")

// Begin sends the first request of a run, for the newest page of the list. Afterwards the service's
// clock is known, and the store was not used. Its error, one of package api, is also that of Run.
func (c *Crawler) Begin(ctx context.Context) error {
	c.started, c.offered = c.cfg.Clock.Local(), time.Now()
	c.meter.update(func(*Report) { c.meter.start = time.Now() })
	ctx, cancel := c.limited(ctx)
	defer cancel()
	if c.top, c.refused = c.ask(ctx, query{bounds: bounds{Sorted: true, Before: forever}}); c.refused != nil {
		return c.refused
	}
	if f := c.top.failure; f != nil && f.Canceled() {
		return f
	}
	return nil
}

// limited returns a context that ends with the run's time limit.
func (c *Crawler) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.cfg.MaxDuration == 0 {
		return ctx, func() {}
	}
	return context.WithDeadlineCause(ctx, c.meter.start.Add(c.cfg.MaxDuration), errDeadline)
}

// Run lists, fetches and commits, once. It begins with Begin, unless that was called. A run that ctx
// or MaxDuration ends early commits what has arrived and returns no error; the report records it
// (Interrupted, DeadlineHit). The report also lists the calls and pages that could not be fetched
// (SetAside, Problems); see [Report.Complete].
//
// An error is one of package api, or of the store (normally a [*StoreError]), perhaps joined with
// another. Data fetched before the error is committed, too.
func (c *Crawler) Run(ctx context.Context) (Report, error) {
	defer c.api.Close()
	if c.started.IsZero() {
		_ = c.Begin(ctx) // refused
	}
	rctx, cancel := c.limited(ctx)
	defer cancel()
	err := c.refused
	if err == nil {
		err = c.crawl(rctx)
	}
	c.meter.update(func(p *Report) { p.Phase = Finishing })
	if clock := (*api.ClockError)(nil); errors.As(err, &clock) {
		return c.Report(), err // there is nothing to commit
	}
	cctx, done := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer done()
	err = errors.Join(err, c.checkpoint(cctx, true))
	c.meter.update(func(p *Report) { p.Phase = Done })

	r := c.Report()
	r.Started, r.Ended, r.Failed = c.cfg.Clock.At(c.started), c.cfg.Now(), err != nil
	if n := r.Unaccounted(); n != 0 {
		c.log.Error("listed calls are neither stored nor set aside", "calls", n)
	}
	if rctx.Err() != nil {
		r.DeadlineHit = ctx.Err() == nil
		r.Interrupted = !r.DeadlineHit
	}
	return r, err
}

// Report returns the result so far.
func (c *Crawler) Report() Report {
	r := c.meter.report(c.Progress())
	r.Resources = c.resources.results()
	if c.recordings != nil {
		recorded := c.recordings.result()
		r.Recordings = &recorded
	}
	return r
}

// SetSince replaces Config.Since, which may depend on the clock, before Run.
func (c *Crawler) SetSince(since time.Time) {
	if c.since = 0; !since.IsZero() {
		c.since = max(0, since.UnixMilli())
	}
}

// Progress returns the run's current state. It may be called at any time, from any goroutine.
func (c *Crawler) Progress() Progress {
	p := c.meter.now(c.api, c.second, c.minute)
	if c.recordings != nil {
		p.Recorded = c.recordings.result().Stored
	}
	return p
}

// put stores records. It stores what has arrived even if the run is being stopped.
func (c *Crawler) put(ctx context.Context, recs ...schema.Record) error {
	if len(recs) == 0 {
		return nil
	}
	if err := c.store.Put(context.WithoutCancel(ctx), recs...); err != nil {
		return &StoreError{"store fetched data", err}
	}
	return nil
}

func (c *Crawler) checkpoint(ctx context.Context, wait bool) error {
	if err := c.store.Checkpoint(ctx, wait); err != nil {
		return &StoreError{"commit fetched data", err}
	}
	return nil
}

// offerCheckpoint offers the store a commit, once in CheckpointEvery.
func (c *Crawler) offerCheckpoint(ctx context.Context) error {
	c.offeredMu.Lock()
	now := time.Now()
	offer := now.Sub(c.offered) >= c.cfg.CheckpointEvery
	if offer {
		c.offered = now
	}
	c.offeredMu.Unlock()
	if !offer || ctx.Err() != nil {
		return nil
	}
	return c.checkpoint(ctx, false)
}

// listIsBrief reports whether the items of the list have neither analyses nor costs, so that calls
// are settled by their own records.
func (c *Crawler) listIsBrief() bool { return c.itemsWithout.Load() > 0 && c.itemsWith.Load() == 0 }

func (c *Crawler) nowMS() int64 { return c.cfg.Now().UnixMilli() }
