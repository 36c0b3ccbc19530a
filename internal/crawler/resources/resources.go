package resources

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
	"callhouse/internal/crawler/envelope"
	"callhouse/internal/crawler/streams"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/wire"
)

// Report reports the requests for one resource and their results.
type Report struct {
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
func (c *Crawl) dueList(of *resource.Resource) bool {
	if of.Single && c.Organization == "" {
		return false
	}
	return of.Every == 0 || c.outdated(of, c.Store.Listed(of))
}

// outdated reports whether a list is too old. listed is the time of its last complete listing, ms
// UTC.
func (c *Crawl) outdated(of *resource.Resource, listed int64) bool {
	return of.Every > 0 && c.Now()-listed >= (of.Every-streams.Slack).Milliseconds()
}

// dueOf reports whether this run requests the list of a parent that did not change: it was never
// listed, or too long ago.
func (c *Crawl) dueOf(of *resource.Resource, listed int64) bool {
	return slices.Contains(c.Resources, of) && (listed == 0 || c.outdated(of, listed))
}

// unread returns the error of a store that cannot return the objects to fetch.
func unread(err error) error { return fmt.Errorf("read the objects to fetch: %w", err) }

// Lists lists the resources with a list of their own. Failures are reported and do not end the run.
func (c *Crawl) Lists(ctx context.Context) error {
	workers := c.workers(ctx)
	for _, of := range c.Resources {
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
func (c *Crawl) workers(ctx context.Context) *pool.ContextPool {
	return pool.New().WithMaxGoroutines(c.Workers).WithContext(ctx).WithCancelOnError().WithFirstError()
}

// Parts fetches the records and lists of single objects: of changed objects, and of those whose
// lists are old.
func (c *Crawl) Parts(ctx context.Context) error {
	for _, of := range c.Resources {
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
func (c *Crawl) each(ctx context.Context, of *resource.Resource, fetch func(context.Context, *resource.Resource, string) error) error {
	workers, first := c.workers(ctx), streams.NewSignal()
	begun := false
	for key, err := range c.Store.Incomplete(ctx, of, c.dueOf) {
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
			return c.Offer(ctx)
		})
	}
	if err := workers.Wait(); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// Lasting fetches the records that never change.
func (c *Crawl) Lasting(ctx context.Context) error {
	if !c.Bodies || ctx.Err() != nil {
		return nil
	}
	if err := c.Commit(ctx); err != nil {
		return err
	}
	for _, of := range c.Resources {
		if of.Lasting {
			if err := c.each(ctx, of, c.fetchRecord); err != nil {
				return err
			}
		}
	}
	return nil
}

// fetchParts fetches an object's lists and its own record. If all of them succeed, it marks the
// object complete in the store.
func (c *Crawl) fetchParts(ctx context.Context, of *resource.Resource, key string) error {
	for _, child := range of.Children() {
		if !slices.Contains(c.Resources, child) {
			continue
		}
		complete, err := c.listObjects(ctx, child, key)
		if err != nil || !complete {
			return err
		}
	}
	return c.fetchRecord(ctx, of, key)
}

// fetchRecord fetches an object's own record, if it has one, and marks the object complete in the
// store.
func (c *Crawl) fetchRecord(ctx context.Context, of *resource.Resource, key string) error {
	rec := schema.Record{Resource: of.Name, Kind: schema.KindDetail, CallID: key, FetchedAt: c.Now()}
	if of.Record == "" {
		return c.Put(ctx, rec)
	}
	if ctx.Err() != nil || c.idle(of, api.Record) {
		return nil
	}
	r := api.Request{Path: Path(of.Record, key), Kind: api.Record}
	if of.By != "" {
		r.Path = Path(of.Record, of.ParentOf(key))
		r.Query = url.Values{of.By: {resource.Plain(key[strings.LastIndexByte(key, '/')+1:])}}
	}
	f, err := c.askObject(ctx, of, r, &rec)
	switch {
	case err != nil:
		return err
	case f == nil:
		c.side(of, func(r *Report) { r.Records++ })
	case f.Canceled():
		return nil
	case f.Then == api.Missing:
		rec.Kind = schema.KindMissing
	default:
		c.sideProblem(of, fmt.Sprintf("the record of %s: %v", c.Secrets.Clip(key, 80), f))
		return nil
	}
	return c.Put(ctx, rec)
}

// askObject requests one object and makes its JSON the body of its record, whose key it must have.
func (c *Crawl) askObject(ctx context.Context, of *resource.Resource, r api.Request, rec *schema.Record) (*api.RequestError, error) {
	r.Stream, r.Priority = c.stream(of, r.Kind).Stream, api.Besides
	c.side(of, func(r *Report) { r.Requests++ })
	parent := of.ParentOf(rec.CallID)
	return c.API.Do(ctx, r, func(a *api.Answer) (err error) {
		body := a.Body
		if of.Pick != nil {
			body, err = of.Pick(body, resource.Plain(parent))
		}
		var is string
		if err == nil {
			body, is, err = c.readObject(of, parent, body)
		}
		if err == nil && is != rec.CallID {
			err = c.another(is)
		}
		rec.Body, rec.FetchedAt = body, a.At.UnixMilli()
		return err
	})
}

// Path replaces "{}" with a key.
func Path(of, key string) string {
	return strings.Replace(of, "{}", api.Segment(resource.Plain(key)), 1)
}

// listObjects lists a resource, or the part of one parent, and stores its items. complete reports
// whether the list came to its end and all of its items could be read. Only an error that ends the
// run is returned.
func (c *Crawl) listObjects(ctx context.Context, of *resource.Resource, parent string) (complete bool, err error) {
	if c.failing(of) >= badLists || c.idle(of, api.Side) {
		return false, nil
	}
	begun := c.Now()
	l := c.newList(of, parent)
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
func (c *Crawl) listed(of *resource.Resource, parent string, l schema.Listed) schema.Record {
	c.side(of, func(r *Report) { r.Lists++; c.bad[of] = 0 })
	body, _ := json.Marshal(l) // integers always encode
	return schema.Record{Resource: of.Name, Kind: schema.KindListed, CallID: parent, FetchedAt: c.Now(), Body: body}
}

// sidePage requests one page of a resource's list.
func (c *Crawl) sidePage(ctx context.Context, of *resource.Resource, parent string, query url.Values, cursor string,
) (page envelope.Page, failure *api.RequestError, err error) {
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
		q.Set("limit", strconv.Itoa(PageSize))
	}
	if cursor != "" {
		q.Set("cursor", cursor)
	}
	return c.page(ctx, of, api.Request{Path: Path(of.Path, parent), Query: q}, func(a *api.Answer) (envelope.Page, error) {
		return envelope.Parse(cmp.Or(of.Items, "items"), a.Body)
	})
}

// page requests a page of a list.
func (c *Crawl) page(ctx context.Context, of *resource.Resource, r api.Request, read func(*api.Answer) (envelope.Page, error),
) (page envelope.Page, f *api.RequestError, err error) {
	c.side(of, func(r *Report) { r.Requests++ })
	r.Kind, r.Stream, r.Priority = api.Side, c.stream(of, api.Side).Stream, api.Besides
	f, err = c.API.Do(ctx, r, func(a *api.Answer) (err error) {
		page, err = read(a)
		page.At = a.At.UnixMilli()
		return err
	})
	return page, f, err
}

// single requests the only object of a resource, as a page with one item.
func (c *Crawl) single(ctx context.Context, of *resource.Resource) (envelope.Page, *api.RequestError, error) {
	return c.page(ctx, of, api.Request{Path: Path(of.Path, c.Organization)}, func(a *api.Answer) (envelope.Page, error) {
		_, key, err := c.readObject(of, "", a.Body)
		if err == nil && resource.Plain(key) != c.Organization {
			err = c.another(key)
		}
		return envelope.Page{Items: [][]byte{a.Body}, Total: 1}, err
	})
}

// another returns the error for an answer that is not about the requested object.
func (c *Crawl) another(key string) error {
	return fmt.Errorf("the record of another object: %q", c.Secrets.Clip(key, 80))
}

// readObject removes the secrets from an object's JSON, and returns it with its key.
func (c *Crawl) readObject(of *resource.Resource, parent string, body []byte) (clean []byte, key string, err error) {
	clean, err = of.Scrub(body)
	if err != nil {
		return nil, "", err
	}
	r := c.readers.Get().(*reader)
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
	c.Drifted(drift)
	return clean, of.KeyOf(r.object.Row), nil
}

// sideProblem records why a resource could not be fetched; only the first reason is reported.
func (c *Crawl) sideProblem(of *resource.Resource, why string) {
	why = c.Secrets.Clip(why, 300)
	if c.noteProblem(of, why) {
		c.Log.Info("a resource was not fetched completely; the next run retries", "resource", of.Name, "failure", why)
	}
}

// side changes the counts of a resource.
func (c *Crawl) side(of *resource.Resource, f func(*Report)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(c.sideOf(of))
}

func (c *Crawl) sideOf(of *resource.Resource) *Report {
	i := slices.IndexFunc(c.reports, func(r Report) bool { return r.Name == of.Name })
	if i < 0 {
		i = len(c.reports)
		c.reports = append(c.reports, Report{Name: of.Name})
	}
	return &c.reports[i]
}

// noteProblem records a problem, and reports whether it is the first of the resource.
func (c *Crawl) noteProblem(of *resource.Resource, why string) (first bool) {
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
func (c *Crawl) failing(of *resource.Resource) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bad[of]
}

// Plan estimates the requests for the resources: the pages of the lists that are due, if these are as
// long as last time, and the records and lists of the objects that are known to be due.
func (c *Crawl) Plan(ctx context.Context) (requests int64, err error) {
	for _, of := range c.Resources {
		if of.Parent == nil && c.dueList(of) && c.stream(of, api.Side).Idle() == "" {
			requests += max(1, int64(len(of.Queries)), (c.Store.Objects(of)+PageSize-1)/PageSize)
		}
		if of.Parent != nil && !(of.Lasting && c.Bodies) || !of.Parts() {
			continue
		}
		each := int64(0)
		if of.Record != "" {
			each = 1
		}
		for _, child := range of.Children() {
			if slices.Contains(c.Resources, child) {
				each++
			}
		}
		for _, err := range c.Store.Incomplete(ctx, of, c.dueOf) {
			if err != nil {
				return 0, unread(err)
			}
			requests += each
		}
	}
	return requests, nil
}
