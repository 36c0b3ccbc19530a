package sandbox

import (
	"iter"
	"slices"
	"strconv"
	"sync"
	"time"

	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/organisation"
	"callhouse/internal/sandbox/wire"
	"callhouse/internal/sandbox/world"
)

// page is a page of a list before it is rendered.
type page[T any] struct {
	items []T
	next  string // empty: the last page
	total int64

	null  bool               // items is null
	last  string             // next_cursor of the last page, as JSON; empty: null
	rank  int64              // how many items are before the page, or Lists.Depth if more
	end   int64              // a cursor's position after the last item
	start int64              // a cursor's position before the first item
	at    func(*T) int64     // a cursor's position after an item
	seal  func(int64) string // the cursor of a position
}

// distort applies a fault to a page. A client that follows next_cursor carefully still gets every
// item. cursor is the request's, offset whether cursors are offsets; before returns the item before
// the first one, if it can be repeated.
func (p *page[T]) distort(fault FaultKind, h uint64, cursor string, offset bool, before func() (T, bool)) {
	n := len(p.items)
	switch fault {
	case FaultDuplicate:
		if n == 0 {
			return
		}
		if it, ok := before(); ok && h%2 == 0 {
			p.items = slices.Insert(p.items, 0, it)
			return
		}
		p.items = append(p.items, p.items[dice.Pick(dice.Mix(h), n)])
	case FaultShort, FaultEmpty:
		keep := 0
		if fault == FaultShort && n > 1 {
			keep = 1 + dice.Pick(h, n-1)
		}
		if !offset {
			p.shorten(keep)
		}
	case FaultLoop:
		if cursor != "" {
			p.next = cursor
		}
	case FaultTotal:
		p.total = max(0, p.total+int64(dice.Pick(h, 2001))-1000)
	case FaultEarlyEnd:
		p.next = ""
	case FaultDisorder:
		for i := range p.items {
			j := i + dice.Pick(dice.Hash(h, uint64(i)), n-i)
			p.items[i], p.items[j] = p.items[j], p.items[i]
		}
	}
}

// distort applies the modes to a page. cursor is the request's.
func (l *Lists) distort(p *page[world.View], cursor string) {
	switch {
	case l.Depth > 0 && p.rank >= int64(l.Depth):
		p.items, p.next = nil, ""
	case l.Null && len(p.items) == 0:
		p.null = true
	case l.Null && p.next == "":
		p.next = p.seal(p.end)
	}
	if p.last = l.Last; p.last == "same" {
		p.last = string(wire.AppendOptional(nil, cursor))
	}
	if p.total += int64(l.Extra); l.Most > 0 {
		p.total = min(p.total, int64(l.Most))
	}
	p.total = max(p.total, 0)
}

// shorten keeps only the first items of a page; the next cursor leads to the rest.
func (p *page[T]) shorten(keep int) {
	if len(p.items) == 0 || keep >= len(p.items) {
		return
	}
	position := p.start
	if keep > 0 {
		position = p.at(&p.items[keep-1])
	}
	p.items = slices.Clip(p.items[:keep])
	p.next = p.seal(position)
}

// write appends the page as JSON, with the list's names for its items and the next cursor. The
// older list of v2, which has keys, has no total.
func (p *page[T]) write(b []byte, items, next string, item func(b []byte, it *T) []byte) []byte {
	b = append(append(append(b, `{"`...), items...), `":`...)
	if p.null {
		b = append(b, "null"...)
	} else {
		b = append(b, '[')
		for i := range p.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = item(b, &p.items[i])
		}
		b = append(b, ']')
	}
	b = append(append(append(b, `,"`...), next...), `":`...)
	if p.next == "" && p.last != "" {
		b = append(b, p.last...)
	} else {
		b = wire.AppendOptional(b, p.next)
	}
	if next == "next_cursor" {
		b = strconv.AppendInt(append(b, `,"total_count":`...), p.total, 10)
	}
	return append(b, '}')
}

// callList answers queries for calls. Newest first means by falling index: a queued call starts
// after all started ones, so it comes first. Calls of equal start are ordered by index, so the
// order is total.
type callList struct {
	world        *world.World
	organisation *organisation.Organisation
	opts         *Options
	key          uint64
	keyed        bool     // a cursor is the id of the call before the page, as in v2
	offsets      sync.Map // number of items before a cursor that is an id, by listed
	counted      struct { // the last total
		sync.Mutex
		list     uint64
		at, n    int64
		ordering int
	}
}

// span returns the range lo <= i < hi of indexes that can match a query at t.
func (l *callList) span(q *query, t int64) (lo, hi int64) {
	w := l.world
	hi = w.Top(t)
	if q.campaign != nil { // its calls lie between its first and its last day
		lo, hi = w.Started(time.UnixMilli(q.campaign.Begin-1)), min(hi, w.Started(time.UnixMilli(q.campaign.Stop)))
	}
	if !q.timed {
		return lo, hi
	}
	// No span contains a start_at that does not show yet, and none is earlier than the first
	// call's.
	least, most := min(w.Start(0), t)-1, t+1
	after := min(max(q.after, least), most)
	before := min(max(q.before, least), most)
	if q.inclusive {
		after, before = max(after-1, least), min(before+1, most)
	}
	lo = max(lo, w.Started(time.UnixMilli(after)))
	hi = max(lo, min(hi, w.Started(time.UnixMilli(before-1))))
	return lo, hi
}

// page returns one page of a query at t.
func (l *callList) page(q *query, t int64) (*page[world.View], *refusal) {
	list := q.fingerprint(l.key)
	if ids, ok := q.attributes["campaign_id"]; ok {
		q.campaign = l.organisation.Campaign(ids[0], t)
	}
	if ids, ok := q.attributes["customer_id"]; ok {
		q.phones = l.organisation.Phones(ids[0], t)
	}
	if days := l.opts.Lists.Window; days > 0 && !l.keyed && !q.timed {
		q.timed, q.after = true, t-int64(days)*24*time.Hour.Milliseconds()
	}
	lo, hi := l.span(q, t)
	p := &page[world.View]{
		total: l.total(q, list, t, lo, hi),
		at:    func(v *world.View) int64 { return v.Index },
		seal:  func(position int64) string { return l.seal(position, list, t) },
	}
	skip := int64(0)
	if q.cursor != "" {
		position, refusal := l.open(q.cursor, list, t)
		switch {
		case refusal != nil:
			return nil, refusal
		case q.offset && l.keyed:
			if n, ok := l.offsets.Load(listed{list, position}); ok {
				skip = n.(int64)
			}
		case q.offset:
			skip = position
		default:
			q.behind = &position
		}
	}
	offset := skip
	for v := range l.walk(q, t, lo, hi) {
		if skip > 0 {
			skip--
			continue
		}
		if len(p.items) == q.limit {
			position := p.at(&p.items[q.limit-1])
			if q.offset && l.keyed {
				l.offsets.Store(listed{list, position}, offset+int64(q.limit))
			} else if q.offset {
				position = offset + int64(q.limit)
			}
			p.next = p.seal(position)
			break
		}
		p.items = append(p.items, *v)
	}
	if n := len(p.items); n > 0 {
		p.start, p.end = l.before(p.items[0].Index, q.ascending), p.at(&p.items[n-1])
		if q.offset {
			p.end = offset + int64(n)
		}
		p.rank = l.rank(q, t, lo, hi, p.items[0].Index)
	}
	return p, nil
}

// rank returns how many calls of a query come before one, up to the depth of lists; 0 if that is not
// limited.
func (l *callList) rank(q *query, t, lo, hi, index int64) (n int64) {
	most := int64(l.opts.Lists.Depth)
	if most == 0 || l.keyed {
		return 0
	}
	whole := *q
	whole.behind = nil
	for v := range l.walk(&whole, t, lo, hi) {
		if v.Index == index || n == most {
			break
		}
		n++
	}
	return n
}

// listed is a call in a list.
type listed struct {
	list uint64
	call int64
}

// seal writes the cursor of a position in a list.
func (l *callList) seal(position int64, list uint64, t int64) string {
	if l.keyed {
		return l.world.ID(position).String()
	}
	return cursor{position: position, issued: t}.seal(l.key, list)
}

// open reads a cursor written by seal.
func (l *callList) open(text string, list uint64, t int64) (position int64, _ *refusal) {
	if l.keyed {
		if id, ok := world.ParseUUID(text); ok {
			if position, ok = l.world.IndexOf(id); ok {
				return position, nil
			}
		}
		return 0, refuse("pagination_key is not the id of a call")
	}
	c, refusal := l.opts.openCursor(text, l.key, list, t)
	return c.position, refusal
}

// before returns the position just before a call, computed or ordered.
func (l *callList) before(index int64, ascending bool) int64 {
	if index < 0 { // before the adjacent computed call
		index = l.world.Started(time.UnixMilli(l.world.Start(index)))
		if !ascending {
			return index
		}
	} else if !ascending {
		return index + 1
	}
	return index - 1
}

// walk yields the calls that match q, in its order: computed ones of lo <= index < hi, and ordered
// ones. Each view overwrites the last.
func (l *callList) walk(q *query, t, lo, hi int64) iter.Seq[*world.View] {
	if q.behind != nil && q.ascending {
		lo = max(lo, l.world.Behind(*q.behind))
	} else if q.behind != nil {
		hi = min(hi, l.world.UpTo(*q.behind))
	}
	ordered := func(yield func(*world.View) bool) {
		for v := range l.world.Ordered(t, q.ascending) {
			if q.holds(l.world, v) && !yield(v) {
				return
			}
		}
	}
	return func(yield func(*world.View) bool) {
		for v := range l.world.Merge(l.world.Walk(t, lo, hi, q.ascending), ordered, q.ascending) {
			if q.matches(l.world, v) && !yield(v) {
				return
			}
		}
	}
}

// total counts the matching calls. It may have to examine all of them, so the count is cached for
// the next page of the same list at the same instant.
func (l *callList) total(q *query, list uint64, t, lo, hi int64) int64 {
	l.counted.Lock()
	defer l.counted.Unlock()
	if c, ordering := &l.counted, l.world.Ordering(); c.list != list || c.at != t || c.ordering != ordering {
		c.list, c.at, c.ordering, c.n = list, t, ordering, 0
		if len(q.attributes) == 0 && q.duration == nil {
			c.n = l.world.CountIn(t, lo, hi)
			hi = lo // only ordered calls remain to be counted
		}
		for range l.walk(q, t, lo, hi) {
			c.n++
		}
	}
	return l.counted.n
}
