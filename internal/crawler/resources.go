package crawler

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"callhouse/internal/api"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/wire"
)

// ResourceReport reports the requests for one resource and their results.
type ResourceReport struct {
	Name     string
	Requests int64 // excluding failed attempts that were retried
	Lists    int64 // complete ones
	Items    int64 // on all lists, including incomplete ones
	Records  int64 // objects' own
	Aside    int64 // items that could not be read
	Problem  string

	failing int // problems since the last complete list
}

// badLists is how many lists of a resource may fail in a row before the rest is left to another night.
const badLists = 3

// ownRecords, appended to the name of a resource, names the stream of its objects' own records.
const ownRecords = " records"

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
	reports map[*resource.Resource]*ResourceReport
}

// objectReader decodes objects, one at a time.
type objectReader struct {
	decoder wire.Decoder
	object  schema.Object
}

// results returns the reports so far, in the order of the resources.
func (c *resourceCrawl) results() (out []ResourceReport) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, of := range c.cfg.Resources {
		if c.reports[of] == nil {
			continue
		}
		out = append(out, *c.reports[of])
	}
	return out
}

// stream returns the stream of a resource's requests.
func (c *resourceCrawl) stream(of *resource.Resource, k api.Kind) *api.Stream {
	if k == api.Record {
		return c.Crawler.stream(of.Name+ownRecords, listAllowance)
	}
	return c.Crawler.stream(of.Name, listAllowance)
}

// count changes the counts of a resource.
func (c *resourceCrawl) count(of *resource.Resource, f func(*ResourceReport)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.reports[of]
	if r == nil {
		r = &ResourceReport{Name: of.Name}
		c.reports[of] = r
	}
	f(r)
}

// problem records why a resource could not be fetched; only the first reason is reported.
func (c *resourceCrawl) problem(of *resource.Resource, why string) {
	why = c.secrets.Clip(why, 300)
	c.count(of, func(r *ResourceReport) {
		r.failing++
		if r.Problem == "" {
			r.Problem = why
			c.log.Info("a resource was not fetched completely; the next run retries", "resource", of.Name, "failure", why)
		}
	})
}

// dueList reports whether this run requests the list of a whole resource.
func (c *resourceCrawl) dueList(of *resource.Resource) bool {
	if of.Single && c.cfg.Organization == "" {
		return false
	}
	return of.Every == 0 || c.outdated(of, c.store.Listed(of))
}

// outdated reports whether a list is too old. listed is the time of its last complete listing, ms
// UTC.
func (c *resourceCrawl) outdated(of *resource.Resource, listed int64) bool {
	return of.Every > 0 && c.nowMS()-listed >= (of.Every-slack).Milliseconds()
}

// dueOf reports whether this run requests the list of a parent that did not change: it was never
// listed, or too long ago.
func (c *resourceCrawl) dueOf(of *resource.Resource, listed int64) bool {
	return slices.Contains(c.cfg.Resources, of) && (listed == 0 || c.outdated(of, listed))
}

// lists lists the resources with a list of their own. Failures are reported and do not end the run.
func (c *resourceCrawl) lists(ctx context.Context) error {
	workers := c.workers(ctx, c.cfg.Workers)
	for _, of := range c.cfg.Resources {
		if of.Parent == nil && c.dueList(of) {
			workers.Go(func(ctx context.Context) error {
				_, err := c.list(ctx, of, "")
				return err
			})
		}
	}
	return workers.Wait()
}

// parts fetches the records and lists of single objects: of changed objects, and of those whose
// lists are old.
func (c *resourceCrawl) parts(ctx context.Context) error {
	for _, of := range c.cfg.Resources {
		if of.Parent == nil && of.Parts() {
			if err := c.partsOf(ctx, of); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
	return nil
}

// partsOf fetches the parts of every incomplete object. The others wait for the first one: if the
// service refuses a parameter there, none of them is requested.
func (c *resourceCrawl) partsOf(ctx context.Context, of *resource.Resource) error {
	workers, first := c.workers(ctx, c.cfg.Workers), newSignal()
	begun := false
	for key, err := range c.store.Incomplete(ctx, of, c.dueOf) {
		if err != nil {
			workers.Go(func(context.Context) error { return &StoreError{"read the objects to fetch", err} })
		}
		if err != nil || begun && !first.Await(ctx, 0) || ctx.Err() != nil {
			break
		}
		begun = true
		workers.Go(func(ctx context.Context) error {
			defer first.Fire()
			if err := c.fetchParts(ctx, of, key); err != nil {
				return err
			}
			return c.offerCheckpoint(ctx)
		})
	}
	return workers.Wait()
}

// fetchParts fetches an object's lists and its own record. If all of them succeed, it marks the
// object complete in the store.
func (c *resourceCrawl) fetchParts(ctx context.Context, of *resource.Resource, key string) error {
	for _, child := range of.Children() {
		if !slices.Contains(c.cfg.Resources, child) {
			continue
		}
		if complete, err := c.list(ctx, child, key); err != nil || !complete {
			return err
		}
	}
	rec := schema.Record{Resource: of.Name, Kind: schema.KindDetail, CallID: key, FetchedAt: c.nowMS()}
	if of.Record == "" {
		return c.put(ctx, rec)
	}
	if ctx.Err() != nil {
		return nil
	}
	f, err := c.request(ctx, of, api.Request{Path: pathOf(of.Record, key), Kind: api.Record}, func(a *api.Answer) error {
		body, is, err := c.readObject(of, of.ParentOf(key), a.Body)
		if err == nil && is != key {
			err = c.another(is)
		}
		rec.Body, rec.FetchedAt = body, a.At.UnixMilli()
		return err
	})
	switch {
	case err != nil:
		return err
	case f == nil:
		c.count(of, func(r *ResourceReport) { r.Records++ })
	case f.Canceled():
		return nil
	case f.Then == api.Missing:
		rec.Kind = schema.KindMissing
	default:
		c.problem(of, fmt.Sprintf("the record of %s: %v", c.secrets.Clip(key, 80), f))
		return nil
	}
	return c.put(ctx, rec)
}

// request sends a request for a resource.
func (c *resourceCrawl) request(ctx context.Context, of *resource.Resource, r api.Request, accept func(*api.Answer) error,
) (*api.RequestError, error) {
	c.count(of, func(r *ResourceReport) { r.Requests++ })
	r.Stream, r.Priority = c.stream(of, r.Kind), api.Resources
	return c.api.Do(ctx, r, accept)
}

// pathOf replaces "{}" with a key.
func pathOf(of, key string) string {
	return strings.Replace(of, "{}", api.Segment(resource.Plain(key)), 1)
}

// another returns the error for an answer that is not about the requested object.
func (c *resourceCrawl) another(key string) error {
	return fmt.Errorf("the record of another object: %q", c.secrets.Clip(key, 80))
}

// readObject removes the secrets from an object's JSON, and returns it with its key.
func (c *resourceCrawl) readObject(of *resource.Resource, parent string, body []byte) (clean []byte, key string, err error) {
	clean, err = of.Scrub(body)
	if err != nil {
		return nil, "", err
	}
	r, ok := c.readers.Get().(*objectReader)
	if !ok {
		r = &objectReader{decoder: wire.Decoder{MaxParts: maxParts}}
	}
	defer c.readers.Put(r)
	if err := r.decoder.Decode(of.Resource, clean, schema.KindItem, &r.object); err != nil {
		return nil, "", err
	}
	of.SetParent(&r.object, parent)
	if of.ColumnsOnly {
		return of.ColumnsJSON(&r.object), of.KeyOf(r.object.Row), nil
	}
	var drift []wire.Drift
	for _, d := range r.decoder.Drift {
		if d.Kind != wire.DriftConverted || !of.IsKeyPath(d.Path) { // some keys are numbers
			d.Path = of.Name + ": " + d.Path
			drift = append(drift, d)
		}
	}
	c.meter.drifted(drift)
	return clean, of.KeyOf(r.object.Row), nil
}

// plan estimates the requests for the lists that are due, if these are as long as last time.
func (c *resourceCrawl) plan() (requests int64) {
	for _, of := range c.cfg.Resources {
		if of.Parent == nil && c.dueList(of) {
			requests += max(1, int64(len(of.Queries)), (c.store.Objects(of)+pageSize-1)/pageSize)
		}
	}
	return requests
}
