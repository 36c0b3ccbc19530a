package crawler

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"math"
	"sync"
	"time"

	"callhouse/internal/api"
	"callhouse/internal/calls"
	"callhouse/internal/recording"
	"callhouse/internal/schema"
)

const (
	// connections is the number of concurrent downloads.
	connections = 4
	// lookEvery is how soon recordings whose pause is over are tried again without a commit.
	lookEvery = 5 * time.Minute
	// lookAgain is the number of calls after which it checks for a commit with newer calls.
	lookAgain = 64
	// maxWasted ends the downloads of a run, because the host is down or slow: that much time lost on
	// failures and slow downloads, summed over all connections.
	maxWasted = 20 * time.Minute
	// For calls.ExpireAfter after a call's end, no answer about its recording is final. After that,
	// one that is not there is given up. From the attempt refusedAfter on, this also applies to one
	// whose new links are rejected, and from goneAfter on, if its call ended goneAge ago, to one that
	// has always failed.
	refusedAfter = 3
	goneAfter    = 10
	goneAge      = 30 * 24 * time.Hour
	// The pause between two attempts in the first days is the time since the call's end, within
	// these bounds.
	minPause = time.Minute
	maxPause = 12 * time.Hour
	// minValid is the time for which a link of this run is not doubted.
	minValid = 10 * time.Minute
)

// renewal is the service's answer for a call whose link has expired.
type renewal struct {
	Answered bool   // with the call's record or with 404
	Withheld bool   // the caller has opted out
	Link     string // empty: the record has none
}

// RecordingReport counts the results of archiving in a run.
type RecordingReport struct {
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

// recordingCrawl archives the recordings of one run.
type recordingCrawl struct {
	*Crawler
	// renew requests a call's record; nil: no links are renewed.
	renew      func(ctx context.Context, id string) (renewal, error)
	maxRenewed int64 // maximum number of renewed links; 0: no limit
	// again also tries recordings that failed recently. Otherwise the time between
	// attempts grows.
	again bool
	look  time.Duration // the interval of checks for a new commit
	seed  maphash.Seed

	mu       sync.Mutex
	begun    int64
	tried    map[uint64]attempt // of this run, by a hash of the call's id
	report   RecordingReport
	renewals int64 // number of renewals
	wasted   time.Duration
}

// attempt is the last attempt of this run at a recording: when it ended, and when the next one is
// due, in ms since 1970 UTC.
type attempt struct{ at, next int64 }

const never = math.MaxInt64

// renewals is the share of a night's requests that may renew links to recordings: a warehouse whose
// archive is enabled late has an expired link for each of its calls.
const renewals = 0.1

// newRecordings prepares the archiving of recordings; nil: they are not archived.
func (c *Crawler) newRecordings() *recordingCrawl {
	if c.cfg.Recordings == nil {
		return nil
	}
	r := &recordingCrawl{Crawler: c, seed: maphash.MakeSeed(), tried: map[uint64]attempt{}, begun: c.nowMS(), look: time.Second,
		again: c.cfg.RecordingsAgain || c.cfg.Full}
	if !c.cfg.ListOnly {
		r.renew = c.renewLink
	}
	if c.cfg.MaxDuration == 0 && !c.cfg.RecordingsAgain {
		r.maxRenewed = max(1, int64(renewals*float64(c.Within(8*time.Hour))))
	}
	return r
}

// ArchiveRecordings archives the recordings that are due. It does nothing else, and is for a crawler
// whose Run is not called.
func (c *Crawler) ArchiveRecordings(ctx context.Context) error {
	c.meter.update(func(p *Report) { p.Phase = Archiving })
	c.listed.Fire()     // it does not wait for a list
	over := newSignal() // no commit makes more of them due
	over.Fire()
	return c.recordings.run(ctx, over)
}

// renewLink requests a call's record for its link, and stores it like any other record.
func (c *Crawler) renewLink(ctx context.Context, id string) (out renewal, err error) {
	s := c.stream("links to recordings", linksAllowance)
	if ctx.Err() != nil {
		return out, nil
	}
	out.Answered, err = c.fetchRecord(ctx, &calls.Due{CallID: id}, api.Spare, s, func(call *calls.Call, rec schema.Record) error {
		if out.Withheld = call.OptedOut(); !out.Withheld {
			out.Link = string(call.Text("recording_url"))
		}
		return c.put(ctx, rec)
	})
	return out, err
}

// result returns the result so far.
func (c *recordingCrawl) result() RecordingReport {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.report
}

// run archives the due recordings after each commit, and every lookEvery, until listed fires, after
// which no further commit makes any due. Then it archives the rest, each once. It returns only errors
// that end the run, and nil if ctx is done.
func (c *recordingCrawl) run(ctx context.Context, listed signal) error {
	c.mu.Lock()
	c.begun = c.nowMS()
	c.mu.Unlock()
	looked := int64(0) // ms
	for last, final := int64(-1), false; ctx.Err() == nil; {
		if !final {
			final = listed.Fired()
		}
		at := c.store.Committed()
		if at != last || final || c.nowMS()-looked >= lookEvery.Milliseconds() {
			looked = c.nowMS()
			more, err := c.round(ctx, c.store.RecordingsDue(ctx), at, final)
			if err != nil || c.over() {
				return err
			}
			if last = at; more {
				continue
			}
			if final && at == c.store.Committed() {
				return nil
			}
		}
		listed.Await(ctx, c.look)
	}
	return nil
}

// round archives recordings as of a commit. It stops early, with more set, if there is a newer commit,
// whose calls come first.
func (c *recordingCrawl) round(ctx context.Context, recordings iter.Seq2[calls.Recording, error], at int64, final bool,
) (more bool, err error) {
	workers := c.workers(ctx, connections)
	seen := 0
	for due, err := range recordings {
		if err != nil {
			if ctx.Err() == nil {
				workers.Go(func(context.Context) error { return &StoreError{"read recordings", err} })
			}
			break
		}
		if seen++; seen%lookAgain == 0 && c.store.Committed() != at {
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
			return c.offerCheckpoint(ctx)
		})
	}
	return more, workers.Wait()
}

// wants decides whether to try a recording now. If so, it marks it as tried.
func (c *recordingCrawl) wants(due *calls.Recording, final bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := maphash.String(c.seed, due.CallID)
	last, tried := c.tried[key]
	now := c.nowMS()
	switch {
	case tried && (final || due.LinkedAt <= last.at && now < last.next):
		return false
	case !tried && now < c.pausedUntil(due):
		return false
	case due.LinkedAt < c.begun && c.renew != nil && c.outOfRenewals(): // the link may have expired
		return false
	case due.LinkedAt < c.begun && !c.Crawler.listed.Fired(): // the list may bring a new link
		return false
	case !final && due.RecordDue && due.LinkedAt < c.begun: // its record will bring a new link
		return false
	}
	c.tried[key] = attempt{now, never}
	return true
}

// done notes the end of an attempt. If the recording is due, it is tried again after a pause, which its
// host may extend.
func (c *recordingCrawl) done(due *calls.Recording, failure *recording.Error, isDue bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := attempt{c.nowMS(), never}
	if isDue && c.young(due, last.at) {
		last.next = last.at + pause(due, last.at)
		if failure != nil {
			last.next = max(last.next, last.at+failure.After.Milliseconds())
		}
	}
	c.tried[maphash.String(c.seed, due.CallID)] = last
}

// outOfRenewals reports whether no more links may be renewed.
func (c *recordingCrawl) outOfRenewals() bool {
	return c.renew == nil || c.maxRenewed > 0 && c.renewals >= c.maxRenewed
}

// renews takes one renewal from the allowance, and reports whether there was one.
func (c *recordingCrawl) renews() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.outOfRenewals() {
		return false
	}
	c.renewals++
	return true
}

// pausedUntil returns when a recording that an earlier run has tried is due again, in ms since 1970
// UTC: after a pause or, if its call has changed since, at once.
func (c *recordingCrawl) pausedUntil(due *calls.Recording) int64 {
	k := &due.Known
	changed := due.LinkedAt > k.FetchedAt && k.Attempts < calls.RecordingAttempts
	switch {
	case c.again, changed, k.Attempts <= 1:
		return 0
	case c.young(due, k.FetchedAt):
		return k.FetchedAt + pause(due, k.FetchedAt)
	}
	return k.FetchedAt + rest(k.Attempts).Milliseconds()
}

// young reports whether a call's end is so recent that no answer about its recording is final.
func (c *recordingCrawl) young(due *calls.Recording, at int64) bool {
	return at < due.Since+calls.ExpireAfter.Milliseconds()
}

// pause returns the pause after an attempt at a time in the first days after a call's end, in ms.
func pause(due *calls.Recording, at int64) int64 {
	return min(max(at-due.Since, minPause.Milliseconds()), maxPause.Milliseconds())
}

// rest returns the pause after a number of failed attempts: a recording that failed once is tried
// the next night.
func rest(attempts int32) time.Duration {
	return max(0, time.Duration(min(attempts-1, 6))*24*time.Hour-slack)
}

// over reports whether the downloads were given up.
func (c *recordingCrawl) over() bool { return c.result().Problem != "" }

// one archives one recording, and stores the result.
func (c *recordingCrawl) one(ctx context.Context, due *calls.Recording) error {
	begun, state := time.Now(), schema.RecordingDue
	stored, failure, err := c.fetch(ctx, due)
	defer func() { c.done(due, failure, state == schema.RecordingDue) }()
	if err != nil || ctx.Err() != nil && failure != nil {
		return err
	}
	young := c.young(due, c.nowMS())
	r := schema.Recording{FetchedAt: c.nowMS(), Attempts: due.Known.Attempts + 1}
	switch {
	case failure == nil:
		state, r.Path, r.Bytes, r.SHA256 = schema.RecordingStored, stored.Path, stored.Bytes, stored.SHA256
		r.Format, r.Reason = string(stored.Format), stored.Remark
	case failure.Problem == recording.Here:
		c.end(failure.Error(), failure)
		return nil
	case failure.Problem == unanswered:
		c.count(func(p *RecordingReport) { p.Waiting++ })
		return nil
	default:
		state = c.stateOf(due, failure.Problem, r.Attempts)
	}
	r.State = state
	if failure != nil {
		r.Reason = c.secrets.Clip(failure.Error(), 300)
		c.log.Debug("recording not stored", "call", c.secrets.Clip(due.CallID, 200), "state", r.State, "reason", r.Reason)
	}
	rec, err := due.Record(r, r.FetchedAt)
	if err == nil {
		err = c.put(ctx, rec)
	}
	if err == nil {
		c.note(&r, failure, young, time.Since(begun))
	}
	return err
}

// stateOf returns the state of a recording that was not stored.
func (c *recordingCrawl) stateOf(due *calls.Recording, problem recording.Problem, attempts int32) string {
	old := c.nowMS() >= due.Since+goneAge.Milliseconds()
	switch {
	case problem == recording.Refused:
		return schema.RecordingRefused
	case c.young(due, c.nowMS()):
		return schema.RecordingDue
	case problem == recording.NotAudio:
		return schema.RecordingRefused
	case problem == recording.Gone, problem == recording.Expired && attempts >= refusedAfter, attempts >= goneAfter && old:
		return schema.RecordingGone
	}
	return schema.RecordingDue
}

// unanswered stands for an expired link for which the service sent no new one: the state of the
// recording is unknown.
const unanswered recording.Problem = -1

// fetch stores a recording. If its link has expired, it requests a new one, once.
func (c *recordingCrawl) fetch(ctx context.Context, due *calls.Recording) (recording.Stored, *recording.Error, error) {
	call := recording.Call{ID: due.CallID, Link: due.Link}
	if due.StartAt.OK {
		call.Start = time.UnixMilli(due.StartAt.V)
		call.Lasts = time.UnixMilli(due.Since).Sub(call.Start)
	}
	stored, failure := c.download(ctx, call)
	if failure == nil {
		return stored, nil, nil
	}
	ofRun := due.LinkedAt >= c.begun
	fresh := ofRun && c.nowMS() < due.LinkedAt+minValid.Milliseconds()
	listed := ofRun || !c.again && c.young(due, c.nowMS()) // the list shows another link, if there is one
	stale := !fresh && failure.Problem == recording.Expired ||
		!listed && (failure.Problem == recording.Gone || failure.Problem == recording.NotAudio)
	if !stale {
		return recording.Stored{}, failure, nil
	}
	silent := &recording.Error{Problem: unanswered}
	if failure.Problem == recording.NotAudio { // perhaps a page about a link that is too old
		silent = failure
	}
	if !c.renews() {
		return recording.Stored{}, silent, nil
	}
	now, err := c.renew(ctx, due.CallID)
	if now.Answered {
		c.count(func(p *RecordingReport) { p.Requests++ })
	}
	switch {
	case err != nil:
		return recording.Stored{}, nil, err
	case !now.Answered, now.Withheld:
		return recording.Stored{}, silent, nil
	case now.Link == "":
		return recording.Stored{}, &recording.Error{Problem: recording.Gone, Reason: "the service no longer has a link to it"}, nil
	case now.Link == due.Link:
		return recording.Stored{}, failure, nil
	default:
		call.Link = now.Link
		stored, failure := c.download(ctx, call)
		return stored, failure, nil
	}
}

// download stores a recording from its link. A host that needs more than a quarter of the time that
// it has is slow: it may hold up a run no longer than a failing one, unless recordings are all that was asked for.
func (c *recordingCrawl) download(ctx context.Context, call recording.Call) (recording.Stored, *recording.Error) {
	begun, e := time.Now(), (*recording.Error)(nil)
	stored, err := c.cfg.Recordings.Fetch(ctx, call)
	if took := time.Since(begun); err == nil && took > call.Limit()/4 && !c.again {
		c.waste(took, "downloads are slow")
	}
	if err != nil && !errors.As(err, &e) {
		e = &recording.Error{Problem: recording.Failed, Reason: err.Error(), Err: err}
	}
	return stored, e
}

// waste counts lost time, and gives up the downloads after too much of it.
func (c *recordingCrawl) waste(took time.Duration, why string) {
	c.mu.Lock()
	c.wasted += took
	over := c.wasted > maxWasted
	c.mu.Unlock()
	if over {
		c.end(fmt.Sprintf("given up after %v of failures and slow downloads: %s", maxWasted, why), nil)
	}
}

func (c *recordingCrawl) count(f func(*RecordingReport)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.report)
}

// note counts the result of a recording, and the time lost by a host that fails: that is not reached, or
// answers with errors, or rejects the links of earlier days. A recording that is not there yet, an
// answer that is no recording, and a barred link say nothing about the host.
func (c *recordingCrawl) note(r *schema.Recording, failure *recording.Error, young bool, took time.Duration) {
	c.count(func(p *RecordingReport) {
		switch r.State {
		case schema.RecordingStored:
			p.Stored++
			p.Bytes += r.Bytes
		case schema.RecordingGone:
			p.Gone++
		case schema.RecordingRefused:
			p.Refused++
		default:
			p.Failed++
			p.Reason = r.Reason
		}
	})
	if r.State == schema.RecordingDue && (failure.Problem == recording.Failed || failure.Problem == recording.Expired && !young) {
		c.waste(took, r.Reason)
	}
}

// end gives up the downloads of this run. The first reason is kept.
func (c *recordingCrawl) end(problem string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.report.Problem == "" {
		c.report.Problem, c.report.Err = c.secrets.Clip(problem, 300), err
		c.log.Warn("recordings are left to the next run", "reason", c.report.Problem)
	}
}
