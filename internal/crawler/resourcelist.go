package crawler

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"net/http"
	"net/url"
	"strconv"

	"callhouse/internal/api"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
)

// Limits for lists that never end.
const (
	maxIdle   = 5       // consecutive pages without a new item
	morePages = 20      // beyond the pages needed for the service's count of objects
	uncounted = 100_000 // objects, if the service does not count them
)

// maxHeld is how many bytes of records all lists together may keep.
const maxHeld = 64 << 20

// resourceList is one list of a resource while its pages are read.
type resourceList struct {
	*resourceCrawl
	of     *resource.Resource
	parent string
	whole  bool // so far, all items were there and could be read

	// Its records are put together: a commit treats objects missing from the list as deleted, which
	// would include objects put in earlier commits. inParts: there were too many records to keep.
	recs    []schema.Record
	bytes   int64
	inParts bool

	seed maphash.Seed
	seen map[uint64]bool // keys
}

// list lists a resource, or the part of one parent, and stores its items. complete reports whether
// the list came to its end and all of its items could be read. Only an error that ends the run is
// returned.
func (c *resourceCrawl) list(ctx context.Context, of *resource.Resource, parent string) (complete bool, err error) {
	failing := 0
	c.count(of, func(r *ResourceReport) { failing = r.failing })
	if ctx.Err() != nil || failing >= badLists {
		return false, nil
	}
	begun := c.nowMS()
	l := &resourceList{resourceCrawl: c, of: of, parent: parent, whole: true, seed: maphash.MakeSeed(), seen: map[uint64]bool{}}
	defer func() { err = errors.Join(err, l.flush(ctx)) }()
	queries := of.Queries
	if queries == nil {
		queries = []url.Values{{}}
	}
	for _, query := range queries {
		if why, err := l.walk(ctx, query); err != nil || why != nil {
			if why != nil {
				c.problem(of, why.Error())
			}
			return false, err
		}
	}
	if ctx.Err() != nil || !l.whole {
		return false, nil
	}
	c.count(of, func(r *ResourceReport) { r.Lists++; r.failing = 0 })
	body, _ := json.Marshal(schema.Listed{Begun: begun, Items: int64(len(l.seen)), InParts: l.inParts}) // integers always encode
	return true, l.flush(ctx, schema.Record{Resource: of.Name, Kind: schema.KindListed, CallID: parent, FetchedAt: c.nowMS(), Body: body})
}

// walk lists a query to its end. why is a problem that ends it early; err ends the run.
func (l *resourceList) walk(ctx context.Context, query url.Values) (why, err error) {
	cursors, had := map[string]bool{}, len(l.seen)
	var total, largest int64
	idle := 0 // consecutive pages without a new item
	for cursor, pages := "", int64(1); ; pages++ {
		page, failure, err := l.page(ctx, query, cursor)
		switch {
		case err != nil || ctx.Err() != nil:
			return nil, err
		case failure != nil:
			if failure.Status == http.StatusBadRequest && len(l.of.Queries) > 0 { // remember this like other failures
				l.stream(l.of, api.Side).End(failure)
			}
			return failure, nil
		case len(l.of.Queries) > 0 && page.Total > 0 && l.of.Path == callsPath && page.Total == l.Progress().TotalCount:
			return errors.New("the list has as many calls as the list of all calls: the service seems to ignore the parameter"), nil
		}
		known := len(l.seen)
		if err := l.put(ctx, &page); err != nil {
			return nil, err
		}
		if pages == 1 {
			total = page.Total
		}
		largest = max(largest, int64(len(page.Items)), 1)
		if idle++; len(l.seen) > known {
			idle = 0
		}
		if page.Next == "" || l.of.Unpaged {
			if items := int64(len(l.seen) - had); page.Total > items {
				l.whole = false
				l.problem(l.of, fmt.Sprintf("its list has %d objects, but the service reports %d", items, page.Total))
			}
			return nil, nil
		}
		if why := withoutEnd(pages, idle, total, largest); why != nil {
			l.stream(l.of, api.Side).End(why)
			return why, nil
		}
		if cursors[page.Next] {
			return errors.New("its pages repeat"), nil
		}
		cursor = page.Next
		cursors[cursor] = true
	}
}

// withoutEnd returns why a list is given up after a number of pages; nil if it continues.
func withoutEnd(pages int64, idle int, total, largest int64) error {
	objects := total
	if total < 0 {
		objects = uncounted
	}
	switch {
	case idle >= maxIdle:
		return fmt.Errorf("its list does not end: %d consecutive pages without new objects", idle)
	case pages > 2*objects/largest+morePages:
		return fmt.Errorf("its list does not end: more than %d pages, but the service reports %d objects", pages-1, total)
	}
	return nil
}

// page requests one page of the list. The only object of a resource is a page with one item.
func (l *resourceList) page(ctx context.Context, query url.Values, cursor string) (page listPage, failure *api.RequestError, err error) {
	r := api.Request{Path: pathOf(l.of.Path, l.parent), Kind: api.Side}
	if l.of.Single {
		r.Path = pathOf(l.of.Path, l.cfg.Organization)
	} else {
		r.Query = maps.Clone(query)
		for name, values := range query {
			if values[0] == "{}" {
				r.Query.Set(name, resource.Plain(l.parent))
			}
		}
		if !l.of.Unpaged {
			r.Query.Set("limit", strconv.Itoa(pageSize))
		}
		if cursor != "" {
			r.Query.Set("cursor", cursor)
		}
	}
	failure, err = l.request(ctx, l.of, r, func(a *api.Answer) (err error) {
		if l.of.Single {
			page = listPage{Items: []json.RawMessage{a.Body}, Total: 1}
			_, key, wrong := l.readObject(l.of, "", a.Body)
			if err = wrong; err == nil && resource.Plain(key) != l.cfg.Organization {
				err = l.another(key)
			}
		} else {
			page, err = parsePage(cmp.Or(l.of.Items, "items"), a.Body)
		}
		page.At = a.At.UnixMilli()
		return err
	})
	return page, failure, err
}

// put stores the items of a page.
func (l *resourceList) put(ctx context.Context, page *listPage) error {
	for _, item := range page.Items {
		body, key, err := l.readObject(l.of, l.parent, item)
		if err != nil {
			l.whole, key = false, string(item)
			l.count(l.of, func(r *ResourceReport) { r.Aside++ })
			l.problem(l.of, "an item of its list: "+err.Error())
		} else {
			l.recs = append(l.recs, schema.Record{Resource: l.of.Name, Kind: schema.KindItem, CallID: key, FetchedAt: page.At, Body: body})
			l.bytes += int64(len(body))
			l.held.Add(int64(len(body)))
		}
		l.seen[maphash.String(l.seed, key)] = true
	}
	l.count(l.of, func(r *ResourceReport) { r.Items += int64(len(page.Items)) })
	if l.held.Load() <= maxHeld {
		return nil
	}
	l.inParts = true
	return l.flush(ctx)
}

// flush puts the kept records and more.
func (l *resourceList) flush(ctx context.Context, more ...schema.Record) error {
	recs := append(l.recs, more...)
	l.held.Add(-l.bytes)
	l.recs, l.bytes = nil, 0
	return l.resourceCrawl.put(ctx, recs...)
}
