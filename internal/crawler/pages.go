package crawler

import (
	"cmp"
	"context"
	"net/url"
	"strconv"

	"callhouse/internal/api"
)

// pageSize is the largest page that the contract allows.
const pageSize = 100

// maxPage is the maximum size of a page. One item may be as large as a call's own record.
const maxPage = 64 << 20

// query is one page to request.
type query struct {
	bounds
	cursor   string      // empty: the first page
	limit    int         // page size; 0: pageSize
	stream   *api.Stream // the stream of an optional page
	priority api.Priority
}

// callsPath is the path of the list of calls.
const callsPath = "/v3/calls"

// request returns the page's request.
func (q *query) request() api.Request {
	v := url.Values{"limit": {strconv.Itoa(cmp.Or(q.limit, pageSize))}}
	if q.Sorted {
		v.Set("sort_order", "desc")
	}
	if q.After > 0 {
		v.Set("start_at_after", strconv.FormatInt(q.After, 10))
	}
	if q.Before != forever {
		v.Set("start_at_before", strconv.FormatInt(q.Before, 10))
	}
	if q.cursor != "" {
		v.Set("cursor", q.cursor)
	}
	return api.Request{Path: callsPath, Query: v, Stream: q.stream, Priority: q.priority, MaxBody: maxPage}
}

// pageResult is a requested page with its result.
type pageResult struct {
	query   query // in its final form
	page    listPage
	failure *api.RequestError // nil: none
}

// ask requests one page, with as many of q's parameters as the service accepts. Without its upper bound a
// page is of no use: if the service refuses that, the result has no page, no failure and no upper bound.
func (c *Crawler) ask(ctx context.Context, q query) (*pageResult, error) {
	a := &pageResult{query: q}
	for {
		a.query.bounds = c.filters.now().without(a.query.bounds)
		if a.query.Before != q.Before {
			a.failure = nil
			return a, nil
		}
		var err error
		a.failure, err = c.api.Do(ctx, a.query.request(), func(answer *api.Answer) (err error) {
			a.page, err = parsePage("items", answer.Body)
			a.page.At = answer.At.UnixMilli()
			return err
		})
		if err != nil {
			return nil, err
		}
		if f := a.failure; f != nil {
			if f.Then == api.Simplify && q.cursor == "" && c.filters.learn(a.query.bounds, f) {
				c.log.Info("the service rejects a query parameter; continuing without it", "failure", f)
				continue
			}
			return a, nil
		}
		c.meter.update(func(p *Report) {
			p.Pages++
			if a.page.Total >= 0 && a.query.After == 0 && a.query.Before == forever {
				p.TotalCount = a.page.Total
			}
		})
		return a, nil
	}
}
