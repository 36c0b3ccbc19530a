package crawler

import (
	"maps"
	"slices"
	"sync"
	"time"

	"callhouse/internal/api"
	"callhouse/internal/wire"
	"callhouse/internal/words"
)

// Phase is what a run is currently doing.
type Phase uint8

const (
	Starting  Phase = iota
	Listing         // pages of the list
	Bulk            // pages of v2, for transcripts
	Details         // calls' own records
	Archiving       // recordings alone
	Finishing       // the last commit
	Done
)

var phaseWords = [...]string{"starting", "listing", "bulk", "details", "recordings", "finishing", "done"}

// String returns the phase's word.
func (p Phase) String() string { return phaseWords[p] }

// Counts are the running counts of a run.
type Counts struct {
	api.Counts

	Pages          int64 // good ones
	CallsListed    int64 // items on pages, including repeated ones
	ItemsStored    int64 // items accepted by the store
	ItemsRepeated  int64 // unchanged since an earlier page of the same listing
	ItemsBefore    int64 // started before Since
	ItemsAside     int64 // set aside
	DetailsFetched int64
	Missing        int64 // calls whose own record does not exist
	Skipped        int64 // calls whose own record was not requested because of their kind
	SetAside       int64 // calls and items that failed repeatedly
	Bulk           BulkCounts
	Drift          int64 // places where payloads differ from the columns' expectations
	Withheld       int64 // values sent for callers who opted out of storage, which are not stored
}

// DetailsDone returns the number of calls that no longer need their own record.
func (c *Counts) DetailsDone() int64 { return c.DetailsFetched + c.Missing + c.Skipped }

// Progress is a run's state at one moment.
type Progress struct {
	Counts
	Phase Phase
	// WaitingUntil is when the wait that the service asked for ends; zero if there is none.
	WaitingUntil time.Time
	// Failing is for how long all requests have failed, and FailedStatus the status of the last; 0: no response.
	Failing      time.Duration
	FailedStatus int

	TotalCount   int64 // calls of the organisation, as last reported by the service; -1: unknown
	PagesTotal   int64 // pages of this run, estimated; -1: unknown
	DetailsTotal int64 // due details; -1: unknown
	Recorded     int64 // recordings stored

	LastMinute int           // requests that the budget holds now
	Allowed    int           // how many it may hold: the limit, or less while others use it
	Elapsed    time.Duration // since Run began
	TimeLeft   time.Duration // of this phase, estimated; -1: unknown
	// BudgetUsed is the used part of the budget in this time, in percent.
	BudgetUsed float64
}

// Aside is a call, or an item of a page, that is left to the next run.
type Aside struct {
	CallID string // empty if the service's answer does not contain it
	Reason string
}

// Limits on what a report lists; everything is counted.
const (
	maxAside    = 100
	maxProblems = 20
)

// Report is the result of a run.
type Report struct {
	Progress
	Started, Ended time.Time

	Aside       []Aside          // the first of those set aside
	DriftFields wire.DriftCounts // Drift by place and kind
	// Resources reports the resources besides calls, in the order of their requests.
	Resources []ResourceReport
	// Recordings reports the archiving; nil: nothing was due.
	Recordings *RecordingReport
	// BulkOff is why pages of v2 were given up; empty if they were not.
	BulkOff string
	// Problems lists why parts of the list were not listed completely.
	Problems []string

	Interrupted bool // the context was cancelled
	DeadlineHit bool // MaxDuration was exceeded
	Failed      bool // Run returned an error
}

// Complete reports whether the run fetched everything it set out to fetch.
func (r *Report) Complete() bool {
	return r.SetAside == 0 && len(r.Problems) == 0 && r.Unaccounted() == 0 && !r.Failed && !r.Interrupted && !r.DeadlineHit
}

// Unaccounted returns the number of listed items that are neither stored, nor left out for a known
// reason, nor set aside. Anything but 0 is a defect of the program. A run that ended with an error,
// such as that of a full disk, may have left items between page and store: for it, it is 0.
func (r *Report) Unaccounted() int64 {
	if r.Failed {
		return 0
	}
	return r.CallsListed - r.ItemsStored - r.ItemsRepeated - r.ItemsBefore - r.ItemsAside
}

// meter keeps the counts of a run.
type meter struct {
	secrets *words.Secrets
	mu      sync.Mutex
	start   time.Time // monotonic
	r       Report
}

func newMeter(secrets *words.Secrets) *meter {
	return &meter{secrets: secrets, r: Report{Progress: Progress{TotalCount: -1, PagesTotal: -1, DetailsTotal: -1, TimeLeft: -1},
		DriftFields: wire.DriftCounts{}}}
}

// update changes the counts.
func (m *meter) update(f func(r *Report)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f(&m.r)
}

func (m *meter) setAside(id, reason string) {
	m.update(func(r *Report) {
		if r.SetAside++; len(r.Aside) < maxAside {
			r.Aside = append(r.Aside, Aside{m.secrets.Clip(id, 200), m.secrets.Clip(reason, 300)})
		}
	})
}

func (m *meter) problem(text string) {
	m.update(func(r *Report) {
		if len(r.Problems) < maxProblems {
			r.Problems = append(r.Problems, text)
		}
	})
}

func (m *meter) gaveUpBulk(why string) {
	m.update(func(r *Report) { r.BulkOff = m.secrets.Clip(why, 300) })
}

func (m *meter) drifted(ds []wire.Drift) {
	if len(ds) == 0 {
		return
	}
	m.update(func(r *Report) {
		for _, d := range ds {
			if d.Kind == wire.DriftWithheld {
				r.Withheld += int64(d.Count)
			}
		}
		r.Drift += r.DriftFields.Add(ds)
	})
}

// now returns the current state.
func (m *meter) now(client *api.Client, second, minute int) Progress {
	held, allowed, closed := client.Use()
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.r.Progress
	p.Counts.Counts = client.Counts()
	p.LastMinute, p.Allowed = held, allowed
	p.Failing, p.FailedStatus = client.Failing()
	if closed > 0 {
		p.WaitingUntil = time.Now().Add(closed)
	}
	if m.start.IsZero() {
		return p
	}
	p.Elapsed = time.Since(m.start)
	// The budget allows this many requests in that time. The first second and the first minute may be spent at once.
	t := p.Elapsed.Seconds()
	could := min(float64(second)*max(t, 1), float64(minute)*max(t/60, 1))
	p.BudgetUsed = min(100, 100*float64(p.Requests)/could)
	p.TimeLeft = timeLeft(&p, second, allowed)
	return p
}

// timeLeft returns how long the remaining requests take at the allowed rate.
func timeLeft(p *Progress, second, allowed int) time.Duration {
	left, known := int64(0), true
	add := func(total, done int64) {
		known = known && total >= 0
		left += max(0, total-done)
	}
	switch p.Phase {
	case Listing:
		add(p.PagesTotal, p.Pages)
	case Bulk:
		if p.Bulk.Transcripts == 0 { // how fast they come depends on the size of the pages
			return -1
		}
		return time.Since(p.Bulk.Begun) / time.Duration(p.Bulk.Transcripts) * time.Duration(max(0, p.Bulk.Due-p.Bulk.Transcripts))
	case Details:
		add(p.DetailsTotal, p.DetailsDone())
	case Finishing, Done:
		return 0
	case Archiving:
		return -1
	default:
		known = false
	}
	if !known {
		return -1
	}
	rate := min(float64(second), float64(allowed)/60)
	return time.Duration(float64(left) / rate * float64(time.Second))
}

// report returns the result of a run.
func (m *meter) report(p Progress) Report {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.r
	r.Progress, r.DriftFields, r.Aside, r.Problems = p, maps.Clone(r.DriftFields), slices.Clone(r.Aside), slices.Clone(r.Problems)
	return r
}
