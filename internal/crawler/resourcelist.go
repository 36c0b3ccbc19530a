package crawler

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"net/http"
	"net/url"

	"callhouse/internal/api"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
)

// Limits for lists that never end.
const (
	mostIdle  = 5       // consecutive pages without a new item
	morePages = 20      // beyond the pages needed for the service's count of objects
	uncounted = 100_000 // objects, if the service does not count them
)

// mostHeld is how many bytes of records all lists together may keep.
const mostHeld = 64 << 20

// resourceList is one list of a resource while its pages are read.
type resourceList struct {
	*resourceCrawl
	of     *resource.Resource
	parent string
	items  int64 // of all queries

	// Its records are put together: a commit treats objects missing from the list as deleted, which
	// would include objects put in earlier commits. parted: there were too many records to keep.
	recs   []schema.Record
	bytes  int64
	parted bool

	seed       maphash.Seed
	seen       map[uint64]bool // keys
	pages      int64           // of one query
	largest    int64           // maximum number of items on one of its pages
	total      int64           // number of objects according to its first page; -1: unspecified
	nothingNew int             // consecutive pages
}

func (c *resourceCrawl) newResourceList(of *resource.Resource, parent string) *resourceList {
	return &resourceList{resourceCrawl: c, of: of, parent: parent, seed: maphash.MakeSeed(), seen: map[uint64]bool{}}
}

// begin starts another query of the list.
func (l *resourceList) begin() { l.pages, l.largest, l.nothingNew = 0, 0, 0 }

// outcome is the result of a query of a list.
type outcome int

const (
	endedList    outcome = iota // ended early; the reason is reported
	partialList                 // read to the end, but some items were missing or unreadable
	completeList                // read to the end, with everything
)

// walk lists a query to its end.
func (l *resourceList) walk(ctx context.Context, query url.Values) (outcome, error) {
	l.begin()
	cursors, had, whole := map[string]bool{"": true}, l.items, true
	for cursor := ""; ; {
		page, failure, err := l.sidePage(ctx, l.of, l.parent, query, cursor)
		if err != nil || ctx.Err() != nil {
			return endedList, err
		}
		if failure != nil {
			if failure.Status == http.StatusBadRequest && len(l.of.Queries) > 0 { // remember this like other failures
				l.stream(l.of, api.Side).End(failure)
			}
			l.sideProblem(l.of, failure.Error())
			return endedList, nil
		}
		if len(l.of.Queries) > 0 && page.Total > 0 && l.of.Path == callsPath && page.Total == l.Progress().TotalCount {
			l.sideProblem(l.of, "the list has as many calls as the list of all calls: the service seems to ignore the parameter")
			return endedList, nil
		}
		n, all, err := l.put(ctx, &page)
		if err != nil {
			return endedList, err
		}
		l.items, whole = l.items+n, whole && all
		if why := l.endless(&page, n); why != "" {
			l.stream(l.of, api.Side).End(errors.New(why))
			l.sideProblem(l.of, why)
			return endedList, nil
		}
		if page.Next != "" && cursors[page.Next] {
			l.sideProblem(l.of, "its pages repeat")
			return endedList, nil
		}
		if cursor = page.Next; cursor == "" || l.of.Unpaged {
			return l.end(&page, l.items-had, whole), nil
		}
		cursors[cursor] = true
	}
}

// end compares the number of items with the service's count.
func (l *resourceList) end(last *listPage, items int64, whole bool) outcome {
	if last.Total > items {
		l.sideProblem(l.of, fmt.Sprintf("its list has %d objects, but the service reports %d", items, last.Total))
		return partialList
	}
	if !whole {
		return partialList
	}
	return completeList
}

// put stores the items of a page. n is the number of items not on an earlier page, and whole
// reports whether all of them could be read.
func (l *resourceList) put(ctx context.Context, page *listPage) (n int64, whole bool, err error) {
	var recs []schema.Record
	whole = true
	for _, item := range page.Items {
		body, key, err := l.readObject(l.of, l.parent, item)
		if err != nil {
			whole = false
			key, body = string(item), nil
			l.side(l.of, func(r *ResourceReport) { r.Aside++ })
			l.sideProblem(l.of, "an item of its list: "+err.Error())
		}
		if sum := maphash.String(l.seed, key); !l.seen[sum] {
			l.seen[sum] = true
			n++
		}
		if body != nil {
			recs = append(recs, schema.Record{Resource: l.of.Name, Kind: schema.KindItem, CallID: key, FetchedAt: page.At, Body: body})
		}
	}
	l.side(l.of, func(r *ResourceReport) { r.Items += int64(len(page.Items)) })
	l.recs = append(l.recs, recs...)
	for i := range recs {
		l.bytes += int64(len(recs[i].Body))
		l.held.Add(int64(len(recs[i].Body)))
	}
	if l.held.Load() <= mostHeld {
		return n, whole, nil
	}
	l.parted = true
	return n, whole, l.flush(ctx)
}

// flush puts the kept records and more.
func (l *resourceList) flush(ctx context.Context, more ...schema.Record) error {
	recs := append(l.recs, more...)
	l.held.Add(-l.bytes)
	l.recs, l.bytes = nil, 0
	return l.resourceCrawl.put(ctx, recs...)
}

// endless returns why a list is given up after a page with fresh new items; empty if it continues.
func (l *resourceList) endless(page *listPage, fresh int64) string {
	if l.pages++; l.pages == 1 {
		l.total = page.Total
	}
	l.largest = max(l.largest, int64(len(page.Items)), 1)
	if l.nothingNew++; fresh > 0 {
		l.nothingNew = 0
	}
	total := l.total
	if total < 0 {
		total = uncounted
	}
	switch {
	case page.Next == "":
		return ""
	case l.nothingNew >= mostIdle:
		return fmt.Sprintf("its list does not end: %d consecutive pages without new objects", l.nothingNew)
	case l.pages > 2*total/l.largest+morePages:
		return fmt.Sprintf("its list does not end: more than %d pages, but the service reports %d objects", l.pages-1, l.total)
	}
	return ""
}
