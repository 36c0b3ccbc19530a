package crawler

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"callhouse/internal/api"
	"callhouse/internal/schema"
)

// slack is how much an operation may be repeated early, relative to whole days: a run may begin
// slightly earlier than the previous one.
const slack = 12 * time.Hour

// The allowances of operations.
var (
	// listAllowance is the allowance of a resource's lists, and of its records.
	listAllowance = api.Allowance{Failures: 12, Time: 2 * time.Minute, Slow: 10 * time.Second}
	// bulkAllowance is the allowance of pages of v2. They may be slower, since one saves hundreds of
	// requests.
	bulkAllowance = api.Allowance{Failures: 6, Time: 3 * time.Minute, Slow: 45 * time.Second}
	// relistAllowance is the allowance for listing old parts of the list again.
	relistAllowance = api.Allowance{Failures: 12, Time: 3 * time.Minute, Slow: 30 * time.Second}
	// linksAllowance is the allowance for records requested for new links to recordings.
	linksAllowance = api.Allowance{Failures: 12, Time: 3 * time.Minute, Slow: 30 * time.Second}
)

// streamSet is the set of streams of one run. Those given up are skipped for some nights, so that these do
// not waste the same resources again. It is safe for concurrent use.
type streamSet struct {
	*Crawler
	mu  sync.Mutex
	all map[string]*optionalStream
}

// optionalStream is one operation of a run.
type optionalStream struct {
	*api.Stream
	backoff schema.Backoff // from earlier runs, or because this one has given it up
	skipped bool           // this run skips it
	noted   bool
}

// of returns the stream of an operation.
func (s *streamSet) of(name string, a api.Allowance) *optionalStream {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.all[name]
	if of == nil {
		of = &optionalStream{Stream: api.NewStream(a), backoff: s.store.Backoff(name)}
		of.skipped = !s.cfg.Full && s.nowMS() < of.backoff.Until
		s.all[name] = of
	}
	return of
}

// idle returns why a run skips the operation; empty if it does not.
func (s *optionalStream) idle() string {
	if !s.skipped {
		return ""
	}
	return s.until() + ": " + s.backoff.Why
}

// ended returns until when the operation is skipped because this run has given it up; empty if it
// has not.
func (s *optionalStream) ended() string {
	if s.skipped || s.Over() == nil {
		return ""
	}
	return s.until()
}

func (s *optionalStream) until() string {
	return "not requested before " + time.UnixMilli(s.backoff.Until).UTC().Format("2006-01-02 15:04") + " UTC, unless with --full"
}

// remember stores which operations this run has given up, and which work again.
func (s *streamSet) remember(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var recs []schema.Record
	for _, name := range slices.Sorted(maps.Keys(s.all)) {
		of := s.all[name]
		over := of.Over()
		switch {
		case of.skipped, of.noted:
			continue
		case over != nil:
			of.backoff, of.noted = of.backoff.Again(s.nowMS(), slack, s.secrets.Clip(over.Class(), 200)), true
		case of.Used() && of.backoff.Times > 0:
			of.backoff = schema.Backoff{Of: name, At: s.nowMS()}
		default:
			continue
		}
		body, _ := json.Marshal(of.backoff) // texts and numbers always encode
		recs = append(recs, schema.Record{Kind: schema.KindBackoff, FetchedAt: s.nowMS(), Body: body})
	}
	return s.put(ctx, recs...)
}
