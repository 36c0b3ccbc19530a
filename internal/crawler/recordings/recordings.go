// Package recordings archives the recordings of calls in parallel to the rest of a run. It decides
// which recordings to archive, their order and link, and how to handle failures. The archive
// downloads and stores them; the service is only queried for new links when old ones have expired.
package recordings

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"log/slog"
	"sync"
	"time"

	"github.com/sourcegraph/conc/pool"

	"callhouse/internal/calls"
	"callhouse/internal/crawler/forecast"
	"callhouse/internal/crawler/streams"
	"callhouse/internal/recording"
	"callhouse/internal/schema"
	"callhouse/internal/words"
)

const (
	// connections is the number of concurrent downloads.
	connections = 4
	// look is the interval of checks for a new commit, whose calls may have recordings.
	look = time.Second
	// lookAgain is the number of calls after which it checks for a commit with newer calls.
	lookAgain = 64
	// onPage is the number of calls on a list page.
	onPage = 100
	// mostFailures and mostWasted end the downloads of a run, because the host is down: that many
	// consecutive failures of recordings that never failed before, or that much time lost on
	// failures, summed over all connections.
	mostFailures = 12
	mostWasted   = 20 * time.Minute
	// From the attempt refusedAfter on, a recording whose new links are rejected counts as gone, and from goneAfter
	// on, one that has always failed.
	refusedAfter = 3
	goneAfter    = 10
)

// Store is the store of the calls.
type Store interface {
	// RecordingsDue yields the calls whose recording is due as of the last commit, newest period
	// first.
	RecordingsDue(ctx context.Context) iter.Seq2[calls.Recording, error]
	// Committed identifies the last commit.
	Committed() int64
}

// Renewal is the service's answer for a call whose link has expired.
type Renewal struct {
	Answered bool   // with the call's record or with 404
	Withheld bool   // the caller has opted out
	Link     string // empty: the record has none
}

// Config configures the archiving of a run.
type Config struct {
	Archive *recording.Archive
	Store   Store
	// Renew requests a call's record; nil: no links are renewed.
	Renew func(ctx context.Context, id string) (Renewal, error)
	// Listed fires when the list was read and committed. Before that, only links of this run are
	// used.
	Listed streams.Signal
	// Renewals is the maximum number of renewed links; 0: no limit.
	Renewals int64
	// Again also tries recordings that failed recently. Otherwise the time between attempts grows.
	Again bool
	Put   func(context.Context, ...schema.Record) error
	Offer func(context.Context) error // offers the store a commit
	// Failed returns the error of a failing store.
	Failed  func(what string, err error) error
	Now     func() int64 // ms since 1970 UTC
	Log     *slog.Logger
	Secrets *words.Secrets
}

// Report counts the results of archiving in a run.
type Report struct {
	Stored, Bytes int64
	Gone          int64 // the service no longer has them
	Refused       int64 // the link's content is not a recording to store
	Failed        int64 // later runs try again
	Waiting       int64 // their link has expired, and the service sent no new one
	Requests      int64 // for new links
	// Problem is why the downloads were given up; empty if they were not. Reason is the last
	// failure.
	Problem, Reason string
	// Err is set if the archive failed rather than the host.
	Err error
}

// Crawl archives the recordings of one run.
type Crawl struct {
	Config
	seed maphash.Seed

	mu     sync.Mutex
	begun  int64
	tried  map[uint64]bool // calls of this run, by a hash of their id
	report Report
	asked  int64 // number of renewals
	row    int   // consecutive failures
	wasted time.Duration
}

// New prepares the archiving.
func New(cfg Config) *Crawl {
	return &Crawl{Config: cfg, seed: maphash.MakeSeed(), tried: map[uint64]bool{}, begun: cfg.Now()}
}

// Report returns the result so far.
func (c *Crawl) Report() Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.report
}

// Run archives the due recordings after each commit until listed fires, after which no further
// commit makes any due, and then the rest. It returns only errors that end the run, and nil if ctx
// is done.
func (c *Crawl) Run(ctx context.Context, listed streams.Signal) error {
	c.mu.Lock()
	c.begun = c.Now()
	c.mu.Unlock()
	for last, final := int64(-1), false; ctx.Err() == nil; {
		if !final {
			final = listed.Fired()
		}
		at := c.Store.Committed()
		if at != last || final {
			more, err := c.round(ctx, at, final)
			if err != nil || c.over() {
				return err
			}
			if last = at; more {
				continue
			}
			if final && at == c.Store.Committed() {
				return nil
			}
		}
		listed.Await(ctx, look)
	}
	return nil
}

// round archives the recordings due as of a commit. It stops early, with more set, if there is a
// newer commit, whose calls come first.
func (c *Crawl) round(ctx context.Context, at int64, final bool) (more bool, err error) {
	workers := pool.New().WithMaxGoroutines(connections).WithContext(ctx).WithCancelOnError().WithFirstError()
	seen := 0
	for due, err := range c.Store.RecordingsDue(ctx) {
		if err != nil {
			if ctx.Err() == nil {
				workers.Go(func(context.Context) error { return c.Failed("read the recordings that are due", err) })
			}
			break
		}
		if seen++; seen%lookAgain == 0 && c.Store.Committed() != at {
			more = true
			break
		}
		if ctx.Err() != nil || c.over() {
			break
		}
		if !c.wants(&due, final) {
			continue
		}
		workers.Go(func(ctx context.Context) error {
			if c.over() {
				return nil
			}
			if err := c.one(ctx, &due); err != nil {
				return err
			}
			return c.Offer(ctx)
		})
	}
	return more, workers.Wait()
}

// wants decides whether to try a recording now. If so, it marks it as tried.
func (c *Crawl) wants(due *calls.Recording, final bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := maphash.String(c.seed, due.CallID)
	switch {
	case c.tried[key]:
		return false
	case c.rests(due):
		return false
	case due.LinkedAt < c.begun && c.spent() && !c.valid(due.Link): // the link has probably expired
		return false
	case due.LinkedAt < c.begun && !c.Listed.Fired(): // the list may bring a new link
		return false
	case !final && due.RecordDue && c.expired(due.Link): // its record will bring a new link
		return false
	}
	c.tried[key] = true
	return true
}

// Forecast returns how many links a run has to renew. Calls that started at listed or later get new
// links from the list.
func (c *Crawl) Forecast(ctx context.Context, listed int64) (out forecast.Range, err error) {
	if c.Renew == nil {
		return out, nil
	}
	for due, err := range c.Store.RecordingsDue(ctx) {
		if err != nil {
			return out, c.Failed("read the recordings that are due", err)
		}
		if due.RecordDue || due.StartAt.V >= listed || c.rests(&due) {
			continue
		}
		until, known := recording.Expiry(due.Link)
		switch {
		case !known:
			out.Most++
		case until.UnixMilli() <= c.Now():
			out.Least++
			out.Most++
		}
	}
	if c.Renewals > 0 {
		out.Least, out.Most = min(out.Least, c.Renewals), min(out.Most, c.Renewals)
	}
	out.Least = max(0, out.Least-onPage) // the last page also has earlier calls
	return out, nil
}

// spent reports whether no more links may be renewed.
func (c *Crawl) spent() bool { return c.Renew == nil || c.Renewals > 0 && c.asked >= c.Renewals }

// renews takes one renewal from the allowance, and reports whether there was one.
func (c *Crawl) renews() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.spent() {
		return false
	}
	c.asked++
	return true
}

// rests reports whether a recording failed too recently to be tried.
func (c *Crawl) rests(due *calls.Recording) bool {
	return !c.Again && c.Now() < due.Known.FetchedAt+rest(due.Known.Attempts).Milliseconds()
}

// rest returns the pause after a number of failed attempts: a recording that failed once is tried
// the next night.
func rest(attempts int32) time.Duration {
	return max(0, time.Duration(min(attempts-1, 6))*24*time.Hour-streams.Slack)
}

// valid reports whether a link shows that it has not expired.
func (c *Crawl) valid(link string) bool {
	until, ok := recording.Expiry(link)
	return ok && until.UnixMilli() > c.Now()
}

// expired reports whether a link shows that it has expired.
func (c *Crawl) expired(link string) bool {
	until, ok := recording.Expiry(link)
	return ok && until.UnixMilli() <= c.Now()
}

// over reports whether the downloads were given up.
func (c *Crawl) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.report.Problem != ""
}

// one archives one recording, and stores the result.
func (c *Crawl) one(ctx context.Context, due *calls.Recording) error {
	begun := time.Now()
	stored, failure, err := c.fetch(ctx, due)
	if err != nil || ctx.Err() != nil && failure != nil {
		return err
	}
	if failure != nil && failure.Problem == recording.Gone { // a run may have been killed, or a commit rolled back
		if had, ok, err := c.Archive.Find(ctx, callOf(due)); err != nil {
			failure = problemOf(err)
		} else if ok {
			stored, failure = had, nil
		}
	}
	r := schema.Recording{FetchedAt: c.Now(), Attempts: due.Known.Attempts + 1}
	switch {
	case failure == nil:
		r.State, r.Path, r.Bytes, r.SHA256 = schema.RecordingStored, stored.Path, stored.Bytes, stored.SHA256
		r.Format, r.DurationMS, r.Channels = string(stored.Format), stored.Duration.Milliseconds(), int32(stored.Channels)
		r.Reason = stored.Remark
	case failure.Problem == recording.Here:
		c.end(failure.Error(), failure)
		return nil
	case failure.Problem == unanswered:
		c.count(func(p *Report) { p.Waiting++ })
		return nil
	case failure.Problem == recording.Refused, failure.Problem == recording.NotAudio:
		r.State = schema.RecordingRefused
	case failure.Problem == recording.Gone,
		failure.Problem == recording.Expired && r.Attempts >= refusedAfter, r.Attempts >= goneAfter:
		r.State = schema.RecordingGone
	default:
		r.State = schema.RecordingDue
	}
	if failure != nil {
		r.Reason = c.Secrets.Clip(failure.Error(), 300)
		c.Log.Debug("recording not stored", "call", c.Secrets.Clip(due.CallID, 200), "state", r.State, "reason", r.Reason)
	}
	rec, err := due.Record(r, r.FetchedAt)
	if err == nil {
		err = c.Put(ctx, rec)
	}
	if err == nil {
		c.note(&r, failure, time.Since(begun))
	}
	return err
}

// callOf describes a call for the archive.
func callOf(due *calls.Recording) recording.Call {
	call := recording.Call{ID: due.CallID, Link: due.Link}
	if due.StartAt.OK {
		call.Start = time.UnixMilli(due.StartAt.V)
	}
	return call
}

// unanswered stands for an expired link for which the service sent no new one: the state of the
// recording is unknown.
const unanswered recording.Problem = -1

// fetch stores a recording. If its link has expired, it requests a new one, once.
func (c *Crawl) fetch(ctx context.Context, due *calls.Recording) (recording.Stored, *recording.Error, error) {
	call := callOf(due)
	failure := &recording.Error{Problem: recording.Expired, Reason: "its link has expired"}
	if !c.expired(due.Link) {
		stored, err := c.Archive.Fetch(ctx, call)
		if failure = problemOf(err); failure == nil {
			return stored, nil, nil
		}
		stale := failure.Problem == recording.Expired || failure.Problem == recording.Gone
		if !stale || due.LinkedAt >= c.begun {
			return recording.Stored{}, failure, nil
		}
	}
	if !c.renews() {
		return recording.Stored{}, &recording.Error{Problem: unanswered}, nil
	}
	now, err := c.Renew(ctx, due.CallID)
	if now.Answered {
		c.count(func(p *Report) { p.Requests++ })
	}
	switch {
	case err != nil:
		return recording.Stored{}, nil, err
	case !now.Answered, now.Withheld:
		return recording.Stored{}, &recording.Error{Problem: unanswered}, nil
	case now.Link == "":
		return recording.Stored{}, &recording.Error{Problem: recording.Gone, Reason: "the service no longer has a link to it"}, nil
	case now.Link == due.Link:
		return recording.Stored{}, failure, nil
	default:
		call.Link = now.Link
		stored, err := c.Archive.Fetch(ctx, call)
		return stored, problemOf(err), nil
	}
}

// problemOf returns the error of an archive.
func problemOf(err error) *recording.Error {
	e := (*recording.Error)(nil)
	if err != nil && !errors.As(err, &e) {
		e = &recording.Error{Problem: recording.Failed, Reason: err.Error(), Err: err}
	}
	return e
}

func (c *Crawl) count(f func(*Report)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.report)
}

// note counts the result of a recording, and gives up a host that only fails. A barred link says
// nothing about its host.
func (c *Crawl) note(r *schema.Recording, failure *recording.Error, took time.Duration) {
	c.mu.Lock()
	failures, wasted := 0, c.wasted
	switch p := &c.report; r.State {
	case schema.RecordingStored:
		p.Stored++
		p.Bytes += r.Bytes
		c.row = 0
	case schema.RecordingGone:
		p.Gone++
	case schema.RecordingRefused:
		p.Refused++
	default:
		p.Failed++
		p.Reason = r.Reason
		c.wasted += took
		if wasted = c.wasted; r.Attempts == 1 && failure.Problem != recording.Barred {
			c.row++
			failures = c.row
		}
	}
	c.mu.Unlock()
	switch {
	case failures == mostFailures: // those in progress may fail, too
		c.end(fmt.Sprintf("given up after %d failures in a row: %s", failures, r.Reason), nil)
	case wasted > mostWasted:
		c.end(fmt.Sprintf("given up after %v of failures: %s", mostWasted, r.Reason), nil)
	}
}

// end gives up the downloads of this run. The first reason is kept.
func (c *Crawl) end(problem string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.report.Problem == "" {
		c.report.Problem, c.report.Err = c.Secrets.Clip(problem, 300), err
		c.Log.Warn("recordings are left to the next run", "reason", c.report.Problem)
	}
}
