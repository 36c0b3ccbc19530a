package resources

import (
	"context"
	"net/http"
	"net/url"
	"slices"

	"callhouse/internal/api"
	"callhouse/internal/crawler/forecast"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
)

// Plan forecasts the requests for the resources. calls is the number of calls in the list of all
// calls. It requests the first page of each list that was never complete, for its count.
func (c *Crawl) Plan(ctx context.Context, calls int64) ([]forecast.Resource, error) {
	all := make(map[*resource.Resource]*forecast.Resource, len(c.Resources))
	var out []forecast.Resource
	for _, of := range c.Resources {
		all[of] = &forecast.Resource{Name: of.Name}
	}
	for _, of := range c.Resources {
		if of.Parent != nil || of.Single && c.Organization == "" {
			continue
		}
		objects, err := c.planList(ctx, of, all[of])
		if err != nil {
			return nil, err
		}
		if err := c.planParts(ctx, of, objects, calls, all); err != nil {
			return nil, err
		}
	}
	if err := c.planLasting(ctx, all); err != nil {
		return nil, err
	}
	for _, of := range c.Resources {
		if *all[of] != (forecast.Resource{Name: of.Name}) {
			out = append(out, *all[of])
		}
	}
	return out, nil
}

// planList forecasts the list of a resource, and returns the number of its objects.
func (c *Crawl) planList(ctx context.Context, of *resource.Resource, p *forecast.Resource) (objects forecast.Range, err error) {
	known, err := c.living(ctx, of)
	if err != nil {
		return objects, err
	}
	objects = forecast.Range{Least: known, Most: forecast.Grown(known)}
	if !c.dueList(of) || c.stream(of, api.Side).Idle() != "" {
		objects.Most = known
		return objects, nil
	}
	queries := max(1, int64(len(of.Queries)))
	switch {
	case of.Single || of.Unpaged:
		p.Lists = forecast.Exactly(queries)
	case c.Store.Listed(of) > 0:
		p.Lists = forecast.List(known, queries)
	default:
		return c.ask(ctx, of, p)
	}
	if of.Fallback != nil && p.Lists.Most >= 0 { // v3 may still have no list
		p.Lists.Most++
	}
	return objects, nil
}

// ask forecasts a list that was never complete, by its own count.
func (c *Crawl) ask(ctx context.Context, of *resource.Resource, p *forecast.Resource) (objects forecast.Range, err error) {
	queries := of.Queries
	if queries == nil {
		queries = []url.Values{{}}
	}
	objects = forecast.Exactly(0)
	for _, query := range queries {
		page, failure, err := c.sidePage(ctx, of, "", query, "", nil)
		switch {
		case err != nil:
			return objects, err
		case failure != nil && failure.Canceled():
			return objects, ctx.Err()
		case failure != nil && failure.Status == http.StatusNotFound && of.Fallback != nil: // v2 is used
			p.Lists = p.Lists.Plus(forecast.Range{Least: 1, Most: -1})
			objects.Most = -1
		case failure != nil || page.Total < 0:
			p.Lists = p.Lists.Plus(forecast.Range{Least: 1, Most: -1})
			objects.Most = -1
		default:
			p.Lists = p.Lists.Plus(forecast.Exactly(forecast.Pages(page.Total)))
			objects = objects.Plus(forecast.Exactly(page.Total))
		}
	}
	return objects, nil
}

// planParts forecasts the records and lists of single objects. Each list is assumed to fit on one
// page, unless its items are known or counted.
func (c *Crawl) planParts(ctx context.Context, of *resource.Resource, objects forecast.Range, calls int64,
	all map[*resource.Resource]*forecast.Resource) error {
	if !of.Parts() {
		return nil
	}
	due := int64(0)
	for _, err := range c.Store.Incomplete(ctx, of, c.dueOf) {
		if err != nil {
			return unread(err)
		}
		due++
	}
	if c.Store.Listed(of) == 0 {
		due = objects.Least
	}
	each := forecast.Range{Least: due, Most: objects.Most}
	for _, child := range of.Children() {
		if !slices.Contains(c.Resources, child) {
			continue
		}
		if c.stream(child, api.Side).Idle() != "" { // then the records are not requested either
			return nil
		}
		lists := each
		if !child.Unpaged {
			more := c.Store.Objects(child)
			if child.OfCall != "" {
				more = calls
			}
			lists = lists.Plus(forecast.Range{Most: forecast.Grown(more) / PageSize})
		}
		if len(child.Queries) > 0 { // the query may be refused
			lists.Least = min(1, lists.Least)
		}
		all[child].Lists = lists
	}
	if of.Record != "" && c.stream(of, api.Record).Idle() == "" {
		all[of].Records = each
	}
	return nil
}

// planLasting forecasts the records that never change.
func (c *Crawl) planLasting(ctx context.Context, all map[*resource.Resource]*forecast.Resource) error {
	for _, of := range c.Resources {
		if !of.Lasting || !c.Bodies {
			continue
		}
		for _, err := range c.Store.Incomplete(ctx, of, c.dueOf) {
			if err != nil {
				return unread(err)
			}
			all[of].Records.Least++
		}
		all[of].Records.Most = -1 // objects not listed yet have them as well
	}
	return nil
}

// living returns the number of known objects of a resource that are not deleted.
func (c *Crawl) living(ctx context.Context, of *resource.Resource) (n int64, err error) {
	err = c.Store.EachObject(ctx, of, func(o *schema.Object) error {
		if !of.Deleted(o) {
			n++
		}
		return nil
	})
	return n, err
}
