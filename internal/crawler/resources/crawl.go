// Package resources fetches what a service has besides calls, as package resource
// declares it: the lists, then the records and lists of the objects that changed.
//
// A run can do without any of it: what fails is reported once, and left to another
// night. The package knows neither calls nor the warehouse; it puts records where
// [Config] says.
package resources

import (
	"context"
	"iter"
	"log/slog"
	"sync"

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
	// Listed returns when the list of a resource was last complete, in ms since 1970 UTC,
	// as of the last commit; 0: never.
	Listed(of *resource.Resource) int64

	// Objects returns how many objects of a resource are known as of the last commit, those
	// that are gone as well.
	Objects(of *resource.Resource) int64

	// EachObject visits the objects of a resource, as of the last commit.
	EachObject(ctx context.Context, of *resource.Resource, visit func(*schema.Object) error) error

	// Incomplete yields the keys of the objects whose own record and lists are to be
	// fetched, as of the last commit: those that changed since these were, or of which due
	// says so of a list, by when it was last complete, in ms since 1970 UTC; 0: never.
	Incomplete(ctx context.Context, of *resource.Resource, due func(list *resource.Resource, listed int64) bool) iter.Seq2[string, error]
}

// Config is what is fetched, and by which means.
type Config struct {
	Resources    []*resource.Resource // a parent before its children
	Organization string               // the organisation's id; empty: it is not known
	Bodies       bool                 // also what never changes
	Workers      int                  // requests in flight
	MaxParts     int                  // that an object may have: see wire.Decoder

	API     *api.Client
	Streams *streams.Set
	Store   Store
	Log     *slog.Logger
	Secrets *words.Secrets // what reports do not repeat
	Now     func() int64   // ms since 1970 UTC

	Put    func(context.Context, ...schema.Record) error
	Commit func(context.Context) error // what was put
	Offer  func(context.Context) error // to commit, now and then
	// AllCalls says whether a list at a path that has so many calls is that of all calls.
	AllCalls func(path string, total int64) bool
	Drifted  func([]wire.Drift)
}

// Crawl fetches the resources of one run.
type Crawl struct {
	Config
	readers  sync.Pool                   // of *reader
	unlisted map[*resource.Resource]bool // v3 has no list of them, and v2 has their objects

	mu      sync.Mutex
	reports []Report
	bad     map[*resource.Resource]int // lists that failed in a row
}

// reader decodes objects, one at a time.
type reader struct {
	decoder wire.Decoder
	object  schema.Object
}

// New prepares a crawl. It asks for nothing yet.
func New(cfg Config) *Crawl {
	c := &Crawl{Config: cfg, unlisted: map[*resource.Resource]bool{}, bad: map[*resource.Resource]int{}}
	c.readers.New = func() any { return &reader{decoder: wire.Decoder{MaxParts: cfg.MaxParts}} }
	return c
}

// Reports tells what was asked for so far, in that order.
func (c *Crawl) Reports() []Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := append([]Report(nil), c.reports...)
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

// records, after the name of a resource, names what its objects' own records may spend.
const records = " records"

// stream returns what a request for a resource belongs to.
func (c *Crawl) stream(of *resource.Resource, k api.Kind) *streams.Stream {
	if k == api.Record {
		return c.Streams.List(of.Name + records)
	}
	return c.Streams.List(of.Name)
}

// idle says whether this run leaves the lists of a resource alone, or its records, and notes why.
func (c *Crawl) idle(of *resource.Resource, k api.Kind) bool {
	why := c.stream(of, k).Idle()
	if why != "" {
		c.sideProblem(of, why)
	}
	return why != ""
}
