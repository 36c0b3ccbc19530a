// Package resources fetches the service's data besides calls, as package resource declares it: the
// lists, then the records and lists of the objects that changed.
//
// All of it is optional for a run: a failure is reported once, and the rest is left to another
// night. The package does not depend on calls or the warehouse; it passes records to the functions
// of [Config].
package resources

import (
	"cmp"
	"context"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"callhouse/internal/api"
	"callhouse/internal/crawler/streams"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/wire"
	"callhouse/internal/words"
)

// PageSize is the largest page that the contract allows.
const PageSize = 100

// Store keeps objects of resources.
type Store interface {
	// Listed returns when the list of a resource was last complete, in ms since 1970 UTC, as of the
	// last commit; 0: never.
	Listed(of *resource.Resource) int64

	// Objects returns the number of known objects of a resource as of the last commit, including
	// those that no longer exist.
	Objects(of *resource.Resource) int64

	// Incomplete yields the keys of the objects whose own record and lists are to be fetched, as of
	// the last commit: those that changed since these were fetched, and those for which due returns
	// true for one of their lists. due receives when the list was last complete, in ms since 1970
	// UTC; 0: never.
	Incomplete(ctx context.Context, of *resource.Resource, due func(list *resource.Resource, listed int64) bool) iter.Seq2[string, error]
}

// Config configures a crawl.
type Config struct {
	Resources    []*resource.Resource // a parent before its children
	Organization string               // the organisation's id; empty if unknown
	Bodies       bool                 // also records that never change
	Workers      int                  // requests in flight
	MaxParts     int                  // maximum per object: see wire.Decoder

	API     *api.Client
	Streams *streams.Set
	Store   Store
	Log     *slog.Logger
	Secrets *words.Secrets // omitted from reports
	Now     func() int64   // ms since 1970 UTC

	Put    func(context.Context, ...schema.Record) error
	Commit func(context.Context) error // commits what was put, unless the run is being stopped
	Offer  func(context.Context) error // offers a commit, from time to time
	// AllCalls reports whether a list at a path with a total of calls is the list of all calls.
	AllCalls func(path string, total int64) bool
	Drifted  func([]wire.Drift)
}

// Crawl fetches the resources of one run.
type Crawl struct {
	Config
	readers sync.Pool    // of *reader
	held    atomic.Int64 // bytes kept by lists

	mu      sync.Mutex
	reports []Report
	bad     map[*resource.Resource]int // consecutive failed lists
}

// reader decodes objects, one at a time.
type reader struct {
	decoder wire.Decoder
	object  schema.Object
}

// New prepares a crawl. It sends no request.
func New(cfg Config) *Crawl {
	c := &Crawl{Config: cfg, bad: map[*resource.Resource]int{}}
	c.readers.New = func() any { return &reader{decoder: wire.Decoder{MaxParts: cfg.MaxParts}} }
	return c
}

// Reports returns the reports so far, in the order of the resources.
func (c *Crawl) Reports() []Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := append([]Report(nil), c.reports...)
	place := func(r Report) int {
		return slices.IndexFunc(c.Resources, func(of *resource.Resource) bool { return of.Name == r.Name })
	}
	slices.SortFunc(out, func(a, b Report) int { return cmp.Compare(place(a), place(b)) })
	for i := range out {
		if ended := c.Streams.List(out[i].Name).Ended(); ended != "" {
			out[i].Problem += "; " + ended
		}
		if ended := c.Streams.List(out[i].Name + records).Ended(); ended != "" {
			out[i].Problem += "; their records are " + ended
		}
	}
	return out
}

// records, appended to the name of a resource, names the stream of its objects' own records.
const records = " records"

// stream returns the stream of a resource's requests.
func (c *Crawl) stream(of *resource.Resource, k api.Kind) *streams.Stream {
	if k == api.Record {
		return c.Streams.List(of.Name + records)
	}
	return c.Streams.List(of.Name)
}

// idle reports whether this run skips the lists of a resource, or its records, and records why.
func (c *Crawl) idle(of *resource.Resource, k api.Kind) bool {
	why := c.stream(of, k).Idle()
	if why != "" {
		c.sideProblem(of, why)
	}
	return why != ""
}
