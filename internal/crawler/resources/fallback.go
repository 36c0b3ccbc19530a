package resources

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"callhouse/internal/api"
	"callhouse/internal/crawler/envelope"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
)

// noteFallback records that v2 is the source of a resource.
func (c *Crawl) noteFallback(of *resource.Resource) {
	c.side(of, func(r *Report) {
		r.Note = "v3 has no list of it; the v2 list has fewer fields"
	})
}

// oldPage requests a page of a list from v2.
func (c *Crawl) oldPage(ctx context.Context, of *resource.Resource, parent, cursor string) (envelope.Page, *api.RequestError, error) {
	back := of.Fallback
	r := api.Request{Path: Path(back.Path, parent)}
	if back.Post {
		body := map[string]any{"limit": PageSize}
		if cursor != "" {
			body["pagination_key"] = cursor
		}
		r.Method = http.MethodPost
		r.Body, _ = json.Marshal(body) // texts and numbers always encode
	}
	return c.page(ctx, of, r, func(a *api.Answer) (envelope.Page, error) {
		page, err := envelope.Parse(back.Items, a.Body)
		if back.Unpaged && isNull(a.Body, back.Items) {
			err = nil // the list is empty
		}
		return page, err
	})
}

// isNull reports whether a member of an object is null.
func isNull(body []byte, name string) bool {
	var o map[string]json.RawMessage
	return json.Unmarshal(body, &o) == nil && string(o[name]) == "null"
}

// named requests the objects of a resource from v2 if neither version lists them: those that other
// objects refer to, and those already known.
func (c *Crawl) named(ctx context.Context, of *resource.Resource) error {
	if err := c.Commit(ctx); err != nil {
		return err
	}
	keys, err := c.namedKeys(ctx, of)
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return unread(err)
	case len(keys) == 0:
		c.sideProblem(of, "404: v3 has no list of it, and no known "+of.Fallback.Of.Name+" name any")
		return nil
	}
	c.noteFallback(of)
	l := schema.Listed{Begun: c.Now(), Brief: true}
	recs, good, err := c.eachNamed(ctx, of, keys)
	l.Items = int64(len(recs))
	switch {
	case err != nil || ctx.Err() != nil:
	case l.Items == 0:
		c.sideProblem(of, "404: neither v3 nor v2 has it")
	case good:
		recs = append(recs, c.listed(of, "", l))
	}
	// Together, like those of a list.
	if err := errors.Join(err, c.Put(ctx, recs...)); err != nil {
		return err
	}
	return c.Commit(ctx)
}

// eachNamed requests objects. good reports whether none failed.
func (c *Crawl) eachNamed(ctx context.Context, of *resource.Resource, keys []string) (recs []schema.Record, good bool, err error) {
	good = true
	for _, key := range keys {
		if c.failing(of) >= badLists || ctx.Err() != nil {
			return recs, false, nil
		}
		rec := schema.Record{Resource: of.Name, Kind: schema.KindBulk, CallID: key}
		f, err := c.askObject(ctx, of, api.Request{Path: Path(of.Fallback.Path, key), Kind: api.Side}, &rec, of.Fallback)
		switch {
		case err != nil:
			return recs, false, err
		case f == nil:
			c.side(of, func(r *Report) { r.Items++ })
			recs = append(recs, rec)
		case f.Canceled():
			return recs, false, nil
		case f.Status != http.StatusNotFound:
			c.sideProblem(of, f.Error())
			good = false
		}
	}
	return recs, good, nil
}

// namedKeys returns the keys of a resource's objects that are known or that other objects refer to.
func (c *Crawl) namedKeys(ctx context.Context, of *resource.Resource) (keys []string, err error) {
	err = c.Store.EachObject(ctx, of, func(o *schema.Object) error {
		if !of.Deleted(o) {
			keys = append(keys, of.KeyOf(o.Row))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	by := of.Fallback.Of
	err = c.Store.EachObject(ctx, by, func(o *schema.Object) error {
		if !by.Deleted(o) {
			for _, id := range of.Fallback.Keys(o) {
				keys = append(keys, url.PathEscape(id)) // like KeyOf
			}
		}
		return nil
	})
	slices.Sort(keys)
	return slices.Compact(keys), err
}
