package sandbox

import (
	"cmp"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/operation"
	"callhouse/internal/sandbox/organisation"
)

// beginning is the position of a cursor for the first page.
const beginning = math.MinInt64

// entry is an object in a list.
type entry = organisation.Entry

// objectQuery is a request for a page of objects.
type objectQuery struct {
	paging
	resource *organisation.Resource
	parent   string
	sortBy   string
	inside   bool   // include the fields that lists omit
	filters  string // the filters of matches, for the fingerprint
	matches  func(entry) bool
	keyed    bool // a cursor is the id of the object before the page, as in v2
}

// parseObjects parses the parameters of a list, as strictly as those of calls.
func parseObjects(op *operation.Operation, r *organisation.Resource, parent, raw string, contractOnly bool) (*objectQuery, *refusal) {
	values, refusal := parse(op, raw, op.Parameters(contractOnly))
	if refusal != nil {
		return nil, refusal
	}
	q := &objectQuery{resource: r, parent: parent, paging: paging{limit: defaultLimit}, sortBy: "created_at"}
	if r.Unpaged {
		q.limit = math.MaxInt
	}
	if r.Sorts != nil {
		q.sortBy = cmp.Or(values.Get("sort_by"), r.Sorts[0])
	}
	q.inside = r.Include != "" && values.Get(r.Include) == "true"
	for name, all := range values {
		q.set(name, all[0])
	}
	for _, f := range r.Filters {
		if f.Default != "" && !values.Has(f.Name) {
			values.Set(f.Name, f.Default)
		}
		q.filters += "&" + f.Name + "=" + strings.Join(values[f.Name], ",")
	}
	q.matches = func(e entry) bool { // objects with one of the values of each filter
		return !slices.ContainsFunc(r.Filters, func(f operation.Filter) bool {
			all := values[f.Name]
			return len(all) > 0 && !slices.ContainsFunc(all, func(v string) bool { return f.Match(e.Object, v) })
		})
	}
	return q, nil
}

// compare orders objects. The order is total.
func (q *objectQuery) compare(a, b entry) int {
	c := 0
	switch x := a.Object[q.sortBy].(type) {
	case int64:
		y, _ := b.Object[q.sortBy].(int64)
		c = cmp.Compare(x, y)
	case string:
		y, _ := b.Object[q.sortBy].(string)
		c = cmp.Compare(x, y)
	}
	c = cmp.Or(c, cmp.Compare(a.Serial, b.Serial))
	if q.ascending {
		return c
	}
	return -c
}

// fingerprint returns a hash of everything that determines a query's list.
func (q *objectQuery) fingerprint(key uint64) uint64 {
	h := dice.Text(key, q.resource.Name+"/"+q.parent+"?"+q.sortBy+q.filters)
	if q.ascending {
		h++
	}
	return h
}

// objects returns one page of a list. It uses the last object of the page before in its state at
// that time, so the list continues after it even if it has vanished.
func (s *api) objects(q *objectQuery) (*page[entry], *refusal) {
	now := s.opts.Now()
	list := q.fingerprint(s.list.key)
	all := s.organisation.List(q.resource, q.parent, now)
	var last entry // of the page before
	p := &page[entry]{start: beginning, at: func(e *entry) int64 { return e.Serial }}
	p.seal = func(position int64) string {
		return cursor{position: position, issued: now.UnixMilli()}.seal(s.list.key, list)
	}
	offset, behind := 0, q.cursor != ""
	switch {
	case !behind:
	case q.keyed:
		i := slices.IndexFunc(all, func(e entry) bool { return e.ID == q.cursor })
		if i < 0 {
			return nil, refuse("pagination_key is not the id of one of the %s", q.resource.Name)
		}
		last = all[i] // it may no longer match the filter
	default:
		c, refusal := s.opts.openCursor(q.cursor, s.list.key, list, now.UnixMilli())
		if refusal != nil {
			return nil, refusal
		}
		p.start = c.position
		if behind = c.position != beginning && !s.opts.OffsetPaging; behind {
			var ok bool
			if last, ok = s.organisation.BySerial(q.resource, q.parent, c.position, time.UnixMilli(c.issued)); !ok {
				return nil, notOfThisList
			}
		} else if c.position != beginning {
			offset = int(c.position)
		}
	}
	all = slices.DeleteFunc(all, func(e entry) bool { return !q.matches(e) })
	slices.SortFunc(all, q.compare)
	if p.total = int64(len(all)); behind {
		offset, _ = slices.BinarySearchFunc(all, last, func(e, last entry) int { return cmp.Or(q.compare(e, last), -1) })
	}
	p.items = all[min(offset, len(all)):]
	if len(p.items) <= q.limit {
		return p, nil
	}
	p.items = p.items[:q.limit:q.limit]
	end := p.items[q.limit-1]
	switch {
	case q.keyed:
		p.next = end.ID
	case s.opts.OffsetPaging:
		p.next = p.seal(int64(offset + q.limit))
	default:
		p.next = p.seal(end.Serial)
	}
	return p, nil
}

// answerList answers a list of anything but calls.
func (s *api) answerList(e *exchange) answer {
	req, resource := e.req, organisation.Named(e.req.Resource)
	if resource.Parent != "" && s.organisation.Find(organisation.Named(resource.Parent), "", req.ID, s.opts.Now()) == nil {
		return e.fail(http.StatusNotFound, "no such object")
	}
	q, refusal := parseObjects(e.op, resource, req.ID, e.r.URL.RawQuery, s.opts.ContractOnly)
	if refusal == nil && e.fault == FaultExpired && q.cursor != "" {
		refusal = refuse("cursor has expired")
	}
	var p *page[entry]
	if refusal == nil {
		p, refusal = s.objects(q)
	}
	if refusal != nil {
		return e.no(refusal)
	}
	if !resource.Unpaged || e.fault != FaultShort && e.fault != FaultEmpty { // otherwise no later page could return the rest
		p.distort(e.fault, dice.Hash(s.world.Key+6, uint64(e.number)), q.cursor, s.opts.OffsetPaging,
			func() (e entry, ok bool) { return e, false })
	}
	if slices.Contains(e.wrong, ResourceEmpty) {
		p.items, p.next, p.total = nil, "", 0
	}
	items := make([]organisation.Object, len(p.items))
	for i := range p.items {
		items[i] = p.items[i].Object // a copy
		if !q.inside {
			for _, name := range resource.Inside {
				delete(items[i], name)
			}
		}
	}
	body := map[string]any{resource.Items: items, "total_count": p.total}
	if !resource.Unpaged {
		body["next_cursor"] = orNull(p.next)
	}
	return objectAnswer(body)
}

// answerObject answers a request for one object.
func (s *api) answerObject(e *exchange) answer {
	r, req, resource := e.r, e.req, organisation.Named(e.req.Resource)
	values := r.URL.Query()
	if refusal := checkQuery(e.op, values, e.op.Parameters(s.opts.ContractOnly)); refusal != nil {
		return e.no(refusal)
	}
	var o organisation.Object
	if resource.Versioned {
		o = s.organisation.AgentAt(req.ID, values.Get("version"), s.opts.Now().UnixMilli())
	} else {
		o = s.organisation.Find(resource, "", req.ID, s.opts.Now())
	}
	if o == nil {
		return e.fail(http.StatusNotFound, "no such object")
	}
	a := objectAnswer(o)
	a.object = r.URL.RequestURI()
	return a
}

// statusOf returns the failure status that a resource's faults set for requests of a kind; 0 for
// none.
func statusOf(faults []ResourceFault, kind string) int {
	if kind == "list" && slices.Contains(faults, ResourceNoList) {
		return http.StatusNotFound
	}
	for _, f := range faults {
		if status, err := strconv.Atoi(string(f)); err == nil {
			return status
		}
	}
	return 0
}
