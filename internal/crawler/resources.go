package crawler

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sourcegraph/conc/pool"

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
}

// badLists is how many lists of a resource may fail in a row before the rest is left to another
// night.
const badLists = 3

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

// unread returns the error of a store that cannot return the objects to fetch.
func unread(err error) error { return fmt.Errorf("read the objects to fetch: %w", err) }

// lists lists the resources with a list of their own. Failures are reported and do not end the run.
func (c *resourceCrawl) lists(ctx context.Context) error {
	workers := c.workers(ctx)
	for _, of := range c.cfg.Resources {
		if of.Parent != nil || !c.dueList(of) {
			continue
		}
		workers.Go(func(ctx context.Context) error {
			if ctx.Err() != nil {
				return nil
			}
			_, err := c.listObjects(ctx, of, "")
			return err
		})
	}
	return workers.Wait()
}

// workers returns a pool for requests.
func (c *resourceCrawl) workers(ctx context.Context) *pool.ContextPool {
	return pool.New().WithMaxGoroutines(c.cfg.Workers).WithContext(ctx).WithCancelOnError().WithFirstError()
}

// parts fetches the records and lists of single objects: of changed objects, and of those whose
// lists are old.
func (c *resourceCrawl) parts(ctx context.Context) error {
	for _, of := range c.cfg.Resources {
		if of.Parent != nil || !of.Parts() || ctx.Err() != nil {
			continue
		}
		if err := c.each(ctx, of, c.fetchParts); err != nil {
			return err
		}
	}
	return nil
}

// each calls fetch for every incomplete object. The others wait for the first one: if the service
// refuses a parameter there, none of them is requested.
func (c *resourceCrawl) each(ctx context.Context, of *resource.Resource,
	fetch func(context.Context, *resource.Resource, string) error) error {
	workers, first := c.workers(ctx), newSignal()
	begun := false
	for key, err := range c.store.Incomplete(ctx, of, c.dueOf) {
		if err != nil {
			workers.Go(func(context.Context) error { return unread(err) })
		}
		if err != nil || begun && !first.Await(ctx, 0) || ctx.Err() != nil {
			break
		}
		begun = true
		workers.Go(func(ctx context.Context) error {
			defer first.Fire()
			if err := fetch(ctx, of, key); err != nil {
				return err
			}
			return c.offerCheckpoint(ctx)
		})
	}
	if err := workers.Wait(); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// fetchParts fetches an object's lists and its own record. If all of them succeed, it marks the
// object complete in the store.
func (c *resourceCrawl) fetchParts(ctx context.Context, of *resource.Resource, key string) error {
	for _, child := range of.Children() {
		if !slices.Contains(c.cfg.Resources, child) {
			continue
		}
		complete, err := c.listObjects(ctx, child, key)
		if err != nil || !complete {
			return err
		}
	}
	return c.fetchObject(ctx, of, key)
}

// fetchObject fetches an object's own record, if it has one, and marks the object complete in the
// store.
func (c *resourceCrawl) fetchObject(ctx context.Context, of *resource.Resource, key string) error {
	rec := schema.Record{Resource: of.Name, Kind: schema.KindDetail, CallID: key, FetchedAt: c.nowMS()}
	if of.Record == "" {
		return c.put(ctx, rec)
	}
	if ctx.Err() != nil || c.idle(of, api.Record) {
		return nil
	}
	r := api.Request{Path: pathOf(of.Record, key), Kind: api.Record}
	f, err := c.askObject(ctx, of, r, &rec)
	switch {
	case err != nil:
		return err
	case f == nil:
		c.side(of, func(r *ResourceReport) { r.Records++ })
	case f.Canceled():
		return nil
	case f.Then == api.Missing:
		rec.Kind = schema.KindMissing
	default:
		c.sideProblem(of, fmt.Sprintf("the record of %s: %v", c.secrets.Clip(key, 80), f))
		return nil
	}
	return c.put(ctx, rec)
}

// askObject requests one object and makes its JSON the body of its record, whose key it must have.
func (c *resourceCrawl) askObject(ctx context.Context, of *resource.Resource, r api.Request, rec *schema.Record,
) (*api.RequestError, error) {
	r.Stream, r.Priority = c.stream(of, r.Kind).Stream, api.Besides
	c.side(of, func(r *ResourceReport) { r.Requests++ })
	parent := of.ParentOf(rec.CallID)
	return c.api.Do(ctx, r, func(a *api.Answer) error {
		body, is, err := c.readObject(of, parent, a.Body)
		if err == nil && is != rec.CallID {
			err = c.another(is)
		}
		rec.Body, rec.FetchedAt = body, a.At.UnixMilli()
		return err
	})
}

// pathOf replaces "{}" with a key.
func pathOf(of, key string) string {
	return strings.Replace(of, "{}", api.Segment(resource.Plain(key)), 1)
}

// listObjects lists a resource, or the part of one parent, and stores its items. complete reports
// whether the list came to its end and all of its items could be read. Only an error that ends the
// run is returned.
func (c *resourceCrawl) listObjects(ctx context.Context, of *resource.Resource, parent string) (complete bool, err error) {
	if c.failing(of) >= badLists || c.idle(of, api.Side) {
		return false, nil
	}
	begun := c.nowMS()
	l := c.newResourceList(of, parent)
	defer func() { err = errors.Join(err, l.flush(ctx)) }()
	queries := of.Queries
	if queries == nil {
		queries = []url.Values{{}}
	}
	complete = true
	for _, query := range queries {
		outcome, err := l.walk(ctx, query)
		if err != nil || outcome == endedList {
			return false, err
		}
		complete = complete && outcome == completeList
	}
	if !complete {
		return false, nil
	}
	return true, l.flush(ctx, c.listed(of, parent, schema.Listed{Begun: begun, Items: l.items, Parted: l.parted}))
}

// listed makes the record of a complete list.
func (c *resourceCrawl) listed(of *resource.Resource, parent string, l schema.Listed) schema.Record {
	c.side(of, func(r *ResourceReport) { r.Lists++; c.bad[of] = 0 })
	body, _ := json.Marshal(l) // integers always encode
	return schema.Record{Resource: of.Name, Kind: schema.KindListed, CallID: parent, FetchedAt: c.nowMS(), Body: body}
}

// sidePage requests one page of a resource's list.
func (c *resourceCrawl) sidePage(ctx context.Context, of *resource.Resource, parent string, query url.Values, cursor string,
) (page listPage, failure *api.RequestError, err error) {
	if of.Single {
		return c.single(ctx, of)
	}
	q := maps.Clone(query)
	for name, values := range q {
		if values[0] == "{}" {
			q.Set(name, resource.Plain(parent))
		}
	}
	if !of.Unpaged {
		q.Set("limit", strconv.Itoa(pageSize))
	}
	if cursor != "" {
		q.Set("cursor", cursor)
	}
	return c.page(ctx, of, api.Request{Path: pathOf(of.Path, parent), Query: q}, func(a *api.Answer) (listPage, error) {
		return parsePage(cmp.Or(of.Items, "items"), a.Body)
	})
}

// page requests a page of a list.
func (c *resourceCrawl) page(ctx context.Context, of *resource.Resource, r api.Request, read func(*api.Answer) (listPage, error),
) (page listPage, f *api.RequestError, err error) {
	c.side(of, func(r *ResourceReport) { r.Requests++ })
	r.Kind, r.Stream, r.Priority = api.Side, c.stream(of, api.Side).Stream, api.Besides
	f, err = c.api.Do(ctx, r, func(a *api.Answer) (err error) {
		page, err = read(a)
		page.At = a.At.UnixMilli()
		return err
	})
	return page, f, err
}

// single requests the only object of a resource, as a page with one item.
func (c *resourceCrawl) single(ctx context.Context, of *resource.Resource) (listPage, *api.RequestError, error) {
	return c.page(ctx, of, api.Request{Path: pathOf(of.Path, c.cfg.Organization)}, func(a *api.Answer) (listPage, error) {
		_, key, err := c.readObject(of, "", a.Body)
		if err == nil && resource.Plain(key) != c.cfg.Organization {
			err = c.another(key)
		}
		return listPage{Items: [][]byte{a.Body}, Total: 1}, err
	})
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
	r := c.readers.Get().(*objectReader)
	defer c.readers.Put(r)
	if err := r.decoder.Decode(of.Resource, clean, schema.KindItem, &r.object); err != nil {
		return nil, "", err
	}
	of.SetParent(&r.object, parent)
	if of.Slim {
		return of.SlimJSON(&r.object), of.KeyOf(r.object.Row), nil
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

// sideProblem records why a resource could not be fetched; only the first reason is reported.
func (c *resourceCrawl) sideProblem(of *resource.Resource, why string) {
	why = c.secrets.Clip(why, 300)
	if c.noteProblem(of, why) {
		c.log.Info("a resource was not fetched completely; the next run retries", "resource", of.Name, "failure", why)
	}
}

// side changes the counts of a resource.
func (c *resourceCrawl) side(of *resource.Resource, f func(*ResourceReport)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(c.sideOf(of))
}

func (c *resourceCrawl) sideOf(of *resource.Resource) *ResourceReport {
	i := slices.IndexFunc(c.reports, func(r ResourceReport) bool { return r.Name == of.Name })
	if i < 0 {
		i = len(c.reports)
		c.reports = append(c.reports, ResourceReport{Name: of.Name})
	}
	return &c.reports[i]
}

// noteProblem records a problem, and reports whether it is the first of the resource.
func (c *resourceCrawl) noteProblem(of *resource.Resource, why string) (first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bad[of]++
	r := c.sideOf(of)
	if first = r.Problem == ""; first {
		r.Problem = why
	}
	return first
}

// failing returns the number of consecutive failed lists of a resource.
func (c *resourceCrawl) failing(of *resource.Resource) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bad[of]
}

// plan estimates the requests for the resources: the pages of the lists that are due, if these are as
// long as last time, and the records and lists of the objects that are known to be due.
func (c *resourceCrawl) plan(ctx context.Context) (requests int64, err error) {
	for _, of := range c.cfg.Resources {
		if of.Parent == nil && c.dueList(of) && c.stream(of, api.Side).idle() == "" {
			requests += max(1, int64(len(of.Queries)), (c.store.Objects(of)+pageSize-1)/pageSize)
		}
		if of.Parent != nil || !of.Parts() {
			continue
		}
		each := int64(0)
		if of.Record != "" {
			each = 1
		}
		for _, child := range of.Children() {
			if slices.Contains(c.cfg.Resources, child) {
				each++
			}
		}
		for _, err := range c.store.Incomplete(ctx, of, c.dueOf) {
			if err != nil {
				return 0, unread(err)
			}
			requests += each
		}
	}
	return requests, nil
}
