package crawler

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"callhouse/internal/api"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/wire"
)

// resourceCrawl fetches the data besides calls, as package resource declares it: the lists, then the
// records and lists of the objects that changed.
//
// All of it is optional for a run: a failure is reported once, and the rest is left to another
// night.
type resourceCrawl struct {
	*Crawler
	readers sync.Pool    // of *objectReader
	held    atomic.Int64 // bytes kept by lists

	mu      sync.Mutex
	reports []ResourceReport
	bad     map[*resource.Resource]int // consecutive failed lists
}

// objectReader decodes objects, one at a time.
type objectReader struct {
	decoder wire.Decoder
	object  schema.Object
}

// newResources prepares the resources besides calls.
func (c *Crawler) newResources() *resourceCrawl {
	r := &resourceCrawl{Crawler: c, bad: map[*resource.Resource]int{}}
	r.readers.New = func() any { return &objectReader{decoder: wire.Decoder{MaxParts: maxParts}} }
	return r
}

// results returns the reports so far, in the order of the resources.
func (c *resourceCrawl) results() []ResourceReport {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := append([]ResourceReport(nil), c.reports...)
	place := func(r ResourceReport) int {
		return slices.IndexFunc(c.cfg.Resources, func(of *resource.Resource) bool { return of.Name == r.Name })
	}
	slices.SortFunc(out, func(a, b ResourceReport) int { return cmp.Compare(place(a), place(b)) })
	for i := range out {
		if ended := c.streams.list(out[i].Name).ended(); ended != "" {
			out[i].Problem += "; " + ended
		}
		if ended := c.streams.list(out[i].Name + ownRecords).ended(); ended != "" {
			out[i].Problem += "; their records are " + ended
		}
	}
	return out
}

// ownRecords, appended to the name of a resource, names the stream of its objects' own records.
const ownRecords = " records"

// stream returns the stream of a resource's requests.
func (c *resourceCrawl) stream(of *resource.Resource, k api.Kind) *optionalStream {
	if k == api.Record {
		return c.streams.list(of.Name + ownRecords)
	}
	return c.streams.list(of.Name)
}

// idle reports whether this run skips the lists of a resource, or its records, and records why.
func (c *resourceCrawl) idle(of *resource.Resource, k api.Kind) bool {
	why := c.stream(of, k).idle()
	if why != "" {
		c.sideProblem(of, why)
	}
	return why != ""
}
