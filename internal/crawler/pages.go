package crawler

import (
	"context"
	"math"
	"net/url"
	"slices"
	"strconv"
	"sync"

	"callhouse/internal/api"
	"callhouse/internal/crawler/envelope"
	"callhouse/internal/crawler/resources"
)

// pageSize is the largest page that the contract allows.
const pageSize = resources.PageSize

// forever is later than any start_at; it stands for "no upper bound".
const forever = math.MaxInt64

// query is one page to request.
type query struct {
	sorted bool   // send sort_order=desc
	after  int64  // only start_at over after; 0: no lower bound
	before int64  // only start_at under before; forever: no upper bound
	cursor string // empty: the first page
	limit  int    // page size; 0: pageSize
	// suspect: one of this many items, from here on, fails; 0: none is known.
	suspect  int
	stream   *api.Stream // the stream of an optional page
	priority api.Priority
}

// size returns the requested page size.
func (q *query) size() int {
	if q.limit == 0 {
		return pageSize
	}
	return q.limit
}

// callsPath is the path of the list of calls.
const callsPath = "/v3/calls"

// callRequest returns the request for a call's own record.
func callRequest(id string) api.Request {
	return api.Request{Path: callsPath + "/" + api.Segment(id), Kind: api.Record}
}

// request returns the page's request.
func (q *query) request() api.Request {
	r := api.Request{Path: callsPath, Query: q.values(), Stream: q.stream, Priority: q.priority, WantEnd: q.size() == 1 && q.suspect > 0}
	if q.size() < pageSize {
		r.Kind = api.Part
	}
	return r
}

func (q *query) values() url.Values {
	v := url.Values{"limit": {strconv.Itoa(q.size())}}
	if q.sorted {
		v.Set("sort_order", "desc")
	}
	if q.after > 0 {
		v.Set("start_at_after", strconv.FormatInt(q.after, 10))
	}
	if q.before != forever {
		v.Set("start_at_before", strconv.FormatInt(q.before, 10))
	}
	if q.cursor != "" {
		v.Set("cursor", q.cursor)
	}
	return v
}

// known is the knowledge about one query parameter.
type known uint8

const (
	untried known = iota
	accepted
	refused
)

// filters records what the service accepts besides the contract's cursor and limit.
type filters struct {
	trial sync.Mutex // held while a bound is tried for the first time
	mu    sync.Mutex
	accepts
}

type accepts struct {
	sort, after, before known
	oversized           bool // it sends more items than requested
}

// now returns what is known so far.
func (fs *filters) now() accepts {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return fs.accepts
}

// apply removes the parameters from q that are known to be refused.
func (fs *filters) apply(q *query) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.drop(q)
}

func (fs *accepts) drop(q *query) {
	q.sorted = q.sorted && fs.sort != refused
	if fs.after == refused {
		q.after = 0
	}
	if fs.before == refused {
		q.before = forever
	}
}

// worked records that the service accepted a query.
func (fs *filters) worked(a *asked) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	q := &a.query
	fs.oversized = fs.oversized || len(a.page.Items) > q.size()
	if q.sorted {
		fs.sort = accepted
	}
	if q.after > 0 && fs.after == untried {
		fs.after = accepted
	}
	if q.before != forever && fs.before == untried {
		fs.before = accepted
	}
}

// learn learns from a 400 to q. It reports whether to try again with fewer parameters.
func (fs *filters) learn(q *query, f *api.RequestError) bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	was := fs.accepts
	drop := func(k *known, used bool, name string) {
		if len(f.Allowed) > 0 {
			if !slices.Contains(f.Allowed, name) {
				*k = refused
			}
		} else if used && *k == untried {
			*k = refused
		}
	}
	drop(&fs.sort, q.sorted, "sort_order")
	drop(&fs.after, q.after > 0, "start_at_after")
	drop(&fs.before, q.before != forever, "start_at_before")
	left := *q
	fs.drop(&left)
	return left != *q && fs.accepts != was
}

// asked is a requested page with its result.
type asked struct {
	query   query // in its final form
	page    envelope.Page
	failure *api.RequestError // nil: none
}

// ask requests one page, with as many of q's parameters as the service accepts.
func (c *Crawler) ask(ctx context.Context, q query) (*asked, error) {
	a := &asked{query: q}
	if q.before != forever && c.filters.now().before == untried { // others wait for the result
		if c.filters.trial.Lock(); c.filters.now().before == untried {
			defer c.filters.trial.Unlock()
		} else {
			c.filters.trial.Unlock()
		}
	}
	for {
		c.filters.apply(&a.query)
		var err error
		a.failure, err = c.api.Do(ctx, a.query.request(), func(answer *api.Answer) (err error) {
			a.page, err = envelope.Parse("items", answer.Body, answer.Tail)
			a.page.At = answer.At.UnixMilli()
			return err
		})
		if err != nil {
			return nil, err
		}
		if f := a.failure; f != nil {
			if f.Then == api.Simplify && c.filters.learn(&a.query, f) {
				c.log.Info("the service rejects a query parameter; continuing without it", "failure", f)
				continue
			}
			return a, nil
		}
		c.filters.worked(a)
		c.meter.update(func(p *Progress) {
			p.Pages++
			if a.page.Total >= 0 && a.query.after == 0 && a.query.before == forever {
				p.TotalCount = a.page.Total
			}
		})
		return a, nil
	}
}
