// Package streams gives each optional operation of a run its allowance of requests and time, and
// remembers which of them were given up, so that the next nights do not waste the same resources
// again.
package streams

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"callhouse/internal/api"
	"callhouse/internal/schema"
	"callhouse/internal/words"
)

// Slack is how much an operation may be repeated early, relative to whole days: a run may begin
// slightly earlier than the previous one.
const Slack = 12 * time.Hour

// The allowances of operations.
var (
	// list is the allowance of a resource's lists, and of its records.
	list = api.Allowance{Failures: 12, Time: 2 * time.Minute, Slow: 10 * time.Second}
	// Bulk is the allowance of pages of v2. They may be slower, since one saves hundreds of
	// requests.
	Bulk = api.Allowance{Failures: 6, Time: 3 * time.Minute, Slow: 45 * time.Second}
	// Relist is the allowance for listing old parts of the list again.
	Relist = api.Allowance{Failures: 12, Time: 3 * time.Minute, Slow: 30 * time.Second}
	// Links is the allowance for records requested for new links to recordings.
	Links = api.Allowance{Failures: 12, Time: 3 * time.Minute, Slow: 30 * time.Second}
	// lists is the common allowance of all lists and records of resources.
	lists = api.Allowance{Time: 6 * time.Minute}
)

// Config configures how streams are remembered.
type Config struct {
	Rest    func(of string) schema.Rest // as of the last commit; nil: nothing is remembered
	Anyway  bool                        // request operations even if they rest
	Now     func() int64                // ms since 1970 UTC
	Secrets *words.Secrets
	Put     func(context.Context, ...schema.Record) error
}

// Set is the set of streams of one run. It is safe for concurrent use.
type Set struct {
	Config
	lists *api.Stream

	mu  sync.Mutex
	all map[string]*Stream
}

// Stream is one operation of a run.
type Stream struct {
	*api.Stream
	Rest  schema.Rest // from earlier runs, or because this one has given it up
	idle  bool        // this run skips it
	noted bool
}

// New prepares the streams of a run.
func New(cfg Config) *Set {
	return &Set{Config: cfg, lists: api.NewStream(lists, nil), all: map[string]*Stream{}}
}

// List returns the stream of a resource's lists, or of its records.
func (s *Set) List(name string) *Stream { return s.of(name, list, s.lists) }

// Of returns the stream of another operation, with its own allowance.
func (s *Set) Of(name string, a api.Allowance) *Stream { return s.of(name, a, nil) }

func (s *Set) of(name string, a api.Allowance, group *api.Stream) *Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.all[name]
	if of == nil {
		of = &Stream{Stream: api.NewStream(a, group), Rest: schema.Rest{Of: name}}
		if s.Rest != nil {
			of.Rest = s.Rest(name)
		}
		of.idle = !s.Anyway && s.Now() < of.Rest.Until
		s.all[name] = of
	}
	return of
}

// Idle returns why a run skips the operation; empty if it does not.
func (s *Stream) Idle() string {
	if !s.idle {
		return ""
	}
	return s.until() + ": " + s.Rest.Why
}

// Ended returns until when the operation is skipped because this run has given it up; empty if it
// has not.
func (s *Stream) Ended() string {
	if s.idle || s.Over() == nil {
		return ""
	}
	return s.until()
}

func (s *Stream) until() string {
	return "not requested before " + time.UnixMilli(s.Rest.Until).UTC().Format("2006-01-02 15:04") + " UTC, unless with --full"
}

// Remember stores which operations this run has given up, and which work again.
func (s *Set) Remember(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var recs []schema.Record
	for _, name := range slices.Sorted(maps.Keys(s.all)) {
		of := s.all[name]
		over := of.Over()
		switch {
		case of.idle, of.noted:
			continue
		case over != nil:
			of.Rest, of.noted = of.Rest.Again(s.Now(), Slack, s.Secrets.Clip(over.Class(), 200)), true
		case of.Used() && of.Rest.Times > 0:
			of.Rest = schema.Rest{Of: name, At: s.Now()}
		default:
			continue
		}
		body, _ := json.Marshal(of.Rest) // texts and numbers always encode
		recs = append(recs, schema.Record{Kind: schema.KindRest, FetchedAt: s.Now(), Body: body})
	}
	return s.Put(ctx, recs...)
}
