package sandbox

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/operation"
	"callhouse/internal/sandbox/organisation"
)

// beginning is the position of a cursor that leads to the first page.
const beginning = math.MinInt64

// entry is an object of a list.
type entry = organisation.Entry

// resourceQuery is what one request for the list of a resource asks for.
type resourceQuery struct {
	paging
	resource *organisation.Resource
	parent   string
	sortBy   string
	inside   bool // fields that lists leave out are asked for
	values   url.Values
}

// parseResource reads the parameters of a list, as strict as those of calls.
func parseResource(op *operation.Operation, r *organisation.Resource, parent, raw string, contractOnly bool) (*resourceQuery, *refusal) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, refuse("the query string is malformed")
	}
	if refusal := check(op, values, op.Parameters(contractOnly)); refusal != nil {
		return nil, refusal
	}
	q := &resourceQuery{resource: r, parent: parent, paging: paging{limit: defaultLimit}, values: values, sortBy: "created_at"}
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
	}
	return q, nil
}

// keeps reports whether an object has what is asked for: one of the values of
// each filter.
func (q *resourceQuery) keeps(e entry) bool {
	for _, f := range q.resource.Filters {
		if all := q.values[f.Name]; len(all) > 0 && !slices.ContainsFunc(all, func(v string) bool { return f.Match(e.Object, v) }) {
			return false
		}
	}
	return true
}

// compare orders objects. The order is total.
func (q *resourceQuery) compare(a, b entry) int {
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

// fingerprint is a number that differs between queries whose lists differ.
func (q *resourceQuery) fingerprint(key uint64) uint64 {
	h := key
	text := q.resource.Name + "/" + q.parent + "?" + q.sortBy
	for _, f := range q.resource.Filters {
		text += "&" + f.Name + "=" + strings.Join(q.values[f.Name], ",")
	}
	for i := range len(text) {
		h = dice.Hash(h, uint64(text[i]))
	}
	if q.ascending {
		h++
	}
	return h
}

// resourcePage returns one page of a list. What the page before ended with is
// known as it was then, so that the list goes on behind it even if it is gone.
func (s *api) resourcePage(q *resourceQuery) (*page[entry], *refusal) {
	now := s.opts.Now()
	list := q.fingerprint(s.list.key)
	p := &page[entry]{
		start: beginning,
		at:    func(e *entry) int64 { return e.Serial },
		seal: func(position int64) string {
			return cursor{position: position, issued: now.UnixMilli()}.seal(s.list.key, list)
		},
	}
	all := slices.DeleteFunc(s.organisation.List(q.resource, q.parent, now), func(e entry) bool { return !q.keeps(e) })
	slices.SortFunc(all, q.compare)
	p.total = int64(len(all))
	offset := 0
	if q.cursor != "" {
		c, ok := openCursor(q.cursor, s.list.key, list)
		switch {
		case !ok:
			return nil, refuse("cursor is not valid for this list")
		case s.opts.CursorTTL > 0 && now.UnixMilli()-c.issued > s.opts.CursorTTL.Milliseconds():
			return nil, refuse("cursor has expired")
		case c.position == beginning:
		case s.opts.OffsetPaging:
			offset = min(int(c.position), len(all))
		default:
			last, ok := s.organisation.BySerial(q.resource, q.parent, c.position, time.UnixMilli(c.issued))
			if !ok {
				return nil, refuse("cursor is not valid for this list")
			}
			offset, _ = slices.BinarySearchFunc(all, last, func(e, last entry) int {
				if q.compare(e, last) <= 0 {
					return -1
				}
				return 1
			})
		}
		p.start = c.position
	}
	p.items = all[offset:]
	if len(p.items) > q.limit {
		p.items = p.items[:q.limit:q.limit]
		position := p.items[q.limit-1].Serial
		if s.opts.OffsetPaging {
			position = int64(offset + q.limit)
		}
		p.next = p.seal(position)
	}
	return p, nil
}

// answerResource answers for everything but calls.
func (s *api) answerResource(e *exchange, fault FaultKind) answer {
	r, req, x := e.r, e.req, e.x
	resource := organisation.Named(req.Resource)
	faults := s.trouble.of(req.Resource)
	if status := faults.status(req.Kind); status != 0 {
		return failure(x, status, "injected fault", "")
	}
	if req.Kind == "object" {
		return s.answerObject(e, resource, faults)
	}
	if resource.Parent != "" && s.organisation.Find(organisation.Named(resource.Parent), "", req.ID, s.opts.Now()) == nil {
		return failure(x, http.StatusNotFound, "there is no such object", "")
	}
	q, refusal := parseResource(e.op, resource, req.ID, r.URL.RawQuery, s.opts.ContractOnly)
	if refusal == nil && fault == FaultExpired && q.cursor != "" {
		refusal = refuse("cursor has expired")
	}
	var p *page[entry]
	if refusal == nil {
		p, refusal = s.resourcePage(q)
	}
	if refusal != nil {
		return failure(x, http.StatusBadRequest, refusal.message, refusal.details)
	}
	if faults.has(ResourceCut) && q.cursor != "" {
		return failure(x, http.StatusInternalServerError, "injected fault", "")
	}
	if resource.Unpaged && (fault == FaultShort || fault == FaultEmpty) {
		fault = "" // no next page could bring the rest
	}
	p.distort(fault, dice.Hash(s.world.Key+6, uint64(e.number)), q.cursor, s.opts.OffsetPaging, func() (e entry, ok bool) { return e, false })
	faults.distort(p)
	items := make([]organisation.Object, len(p.items))
	for i, e := range p.items {
		items[i] = faults.object(resource, e.Object)
		if !q.inside {
			for _, name := range resource.Inside {
				delete(items[i], name)
			}
		}
		if faults.has(ResourceThin) {
			items[i] = thin(items[i])
		}
	}
	body := map[string]any{resource.Items: items, "total_count": p.total}
	if !resource.Unpaged {
		body["next_cursor"] = nil
		if p.next != "" {
			body["next_cursor"] = p.next
		}
	}
	return objectAnswer(body)
}

// thin leaves only what names an object and its times.
func thin(o organisation.Object) organisation.Object {
	t := organisation.Object{}
	for name, value := range o {
		if name == "id" || name == "version" || name == "provider" || strings.HasSuffix(name, "_id") || strings.HasSuffix(name, "_at") {
			t[name] = value
		}
	}
	return t
}

func (s *api) answerObject(e *exchange, resource *organisation.Resource, faults resourceFaults) answer {
	r, req, x := e.r, e.req, e.x
	values := r.URL.Query()
	if refusal := check(e.op, values, e.op.Parameters(s.opts.ContractOnly)); refusal != nil {
		return failure(x, http.StatusBadRequest, refusal.message, refusal.details)
	}
	var o organisation.Object
	if resource.Versioned {
		o = s.organisation.AgentAt(req.ID, values.Get("version"), s.opts.Now().UnixMilli())
	} else {
		o = s.organisation.Find(resource, "", req.ID, s.opts.Now())
	}
	if o == nil {
		return failure(x, http.StatusNotFound, "there is no such object", "")
	}
	a := objectAnswer(faults.object(resource, o))
	a.object = r.URL.RequestURI()
	return a
}

// objectAnswer writes an object as JSON.
func objectAnswer(o any) answer {
	body, err := json.Marshal(o)
	if err != nil {
		panic(fmt.Sprintf("sandbox: %v", err)) // every value is ours
	}
	return answer{status: http.StatusOK, body: body}
}
