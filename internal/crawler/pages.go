package crawler

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
)

// pageSize is the largest page that the contract allows.
const pageSize = 100

// forever is a start_at later than any; it stands for "no upper bound".
const forever = math.MaxInt64

// query is one page to ask for.
type query struct {
	sorted bool   // ask for sort_order=desc
	after  int64  // ask for start_at over after only; 0: no lower bound
	before int64  // ask for start_at under before only; forever: no upper bound
	cursor string // empty: the first page
	one    bool   // ask for one item only
}

func (q *query) values() url.Values {
	v := url.Values{"limit": {strconv.Itoa(pageSize)}}
	if q.one {
		v.Set("limit", "1")
	}
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

// pageData is a page as the service sent it.
type pageData struct {
	items []json.RawMessage // each in memory of its own
	next  string            // empty: it was the last one
	total int64             // -1: not said
	at    int64             // when it arrived, ms
}

var errNoList = errors.New("not a page of a list: no items")

// parsePage reads the envelope of a page. The cursor is opaque; a number is
// passed on as it is written.
func parsePage(body []byte) (pageData, error) {
	var e struct {
		Items *[]json.RawMessage `json:"items"`
		Next  json.RawMessage    `json:"next_cursor"`
		Total json.RawMessage    `json:"total_count"`
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return pageData{}, fmt.Errorf("read a page: %w", err)
	}
	if e.Items == nil {
		return pageData{}, errNoList
	}
	p := pageData{items: *e.Items, total: -1}
	switch next := bytes.TrimSpace(e.Next); {
	case len(next) == 0 || string(next) == "null":
	case next[0] == '"':
		if err := json.Unmarshal(next, &p.next); err != nil {
			return pageData{}, fmt.Errorf("read a page's cursor: %w", err)
		}
	default:
		p.next = string(next)
	}
	if n, err := strconv.ParseInt(string(bytes.Trim(e.Total, `" `)), 10, 64); err == nil && n >= 0 {
		p.total = n
	}
	return p, nil
}

// known is what was learned about one query parameter.
type known uint8

const (
	untried known = iota
	accepted
	refused
)

// filters is what the service accepts beside the contract's cursor and limit.
type filters struct{ sort, after, before known }

// apply leaves the parameters out of q that are known to be refused.
func (fs *filters) apply(q *query) {
	q.sorted = q.sorted && fs.sort != refused
	if fs.after == refused {
		q.after = 0
	}
	if fs.before == refused {
		q.before = forever
	}
}

// worked notes that the service took q.
func (fs *filters) worked(q *query) {
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

// learn draws the conclusion from a 400 to q; it says whether to ask again with
// fewer parameters.
func (fs *filters) learn(q *query, f *failure) bool {
	was := *fs
	drop := func(k *known, used bool, name string) {
		if len(f.allowed) > 0 {
			if !slices.Contains(f.allowed, name) {
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
	fs.apply(&left)
	return left != *q && *fs != was
}

// fetchPage asks for one page, with as many of q's parameters as the service
// takes; q is left as what was asked for in the end.
func (c *Crawler) fetchPage(ctx context.Context, q *query) (pageData, *failure, error) {
	for {
		c.filters.apply(q)
		var p pageData
		f, err := c.fetch(ctx, page, c.client.listURL(q.values()), func(a answer) error {
			var err error
			p, err = parsePage(a.body)
			p.at = a.at.UnixMilli()
			return err
		})
		if err != nil {
			return p, f, err
		}
		if f == nil {
			c.filters.worked(q)
			c.meter.update(func(pr *Progress) {
				pr.Pages++
				pr.CallsListed += int64(len(p.items))
				if p.total >= 0 && q.after == 0 && q.before == forever {
					pr.TotalCount = p.total
				}
			})
			return p, nil, nil
		}
		if f.class == badRequest && c.filters.learn(q, f) {
			c.log.Info("the service refuses a query parameter; going on without", "failure", f)
			continue
		}
		return p, f, nil
	}
}
