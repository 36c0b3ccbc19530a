package sandbox

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"callhouse/internal/sandbox/dice"
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

// parameters are the names that a list takes.
func parameters(r *organisation.Resource, contractOnly bool) []string {
	if r.Unpaged {
		return nil
	}
	names := slices.Clone(contractParameters)
	if r.Include != "" {
		names = append(names, r.Include)
	}
	if contractOnly {
		return names
	}
	if !r.Fixed {
		names = append(names, "sort_order")
	}
	if r.Sorts != nil {
		names = append(names, "sort_by")
	}
	for _, f := range r.Filters {
		names = append(names, f.Name)
	}
	return names
}

// parseResource reads the parameters of a list, as strict as those of calls.
func parseResource(r *organisation.Resource, parent, raw string, contractOnly bool) (*resourceQuery, *refusal) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, refuse("the query string is malformed")
	}
	allowed := parameters(r, contractOnly)
	q := &resourceQuery{resource: r, parent: parent, paging: paging{limit: defaultLimit}, values: values, sortBy: "created_at"}
	if r.Unpaged {
		q.limit = math.MaxInt
	}
	if r.Sorts != nil {
		q.sortBy = r.Sorts[0]
	}
	for name, all := range values {
		if !slices.Contains(allowed, name) {
			return nil, refuseParameter(name, allowed)
		}
		if r := q.set(name, all); r != nil {
			return nil, r
		}
	}
	for _, f := range r.Filters {
		if f.Default != "" && !values.Has(f.Name) {
			values.Set(f.Name, f.Default)
		}
	}
	return q, nil
}

func (q *resourceQuery) set(name string, all []string) *refusal {
	i := slices.IndexFunc(q.resource.Filters, func(f organisation.Filter) bool { return f.Name == name })
	if i < 0 || !q.resource.Filters[i].Many {
		if len(all) != 1 {
			return refuse("%s must have exactly one value", name)
		}
	}
	if slices.Contains(all, "") {
		return refuse("%s must not be empty", name)
	}
	value := all[0]
	if known, r := q.paging.set(name, value); known {
		return r
	}
	var err error
	switch {
	case name == "sort_by":
		if !slices.Contains(q.resource.Sorts, value) {
			return refuse("sort_by must be one of %v", q.resource.Sorts)
		}
		q.sortBy = value
	case name == q.resource.Include:
		if q.inside, err = strconv.ParseBool(value); err != nil {
			return refuse("%s must be true or false", name)
		}
	default:
		return checkFilter(&q.resource.Filters[i], all)
	}
	return nil
}

func checkFilter(f *organisation.Filter, values []string) *refusal {
	for _, v := range values {
		if f.Values != nil && !slices.Contains(f.Values, v) {
			return refuse("%s must be one of %v", f.Name, f.Values)
		}
		if _, err := strconv.ParseInt(v, 10, 64); f.Time && err != nil {
			return refuse("%s must be an integer of unix milliseconds", f.Name)
		}
	}
	return nil
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
func (s *Server) resourcePage(q *resourceQuery) (*page[entry], *refusal) {
	now := s.Now()
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
func (s *Server) answerResource(r *http.Request, req Request, x *scratch, fault FaultKind, number int64) answer {
	resource := organisation.Named(req.Resource)
	if r.Method != http.MethodGet {
		return wrongMethod(r, x, http.MethodGet)
	}
	faults := s.resourceFaults(req.Resource)
	if status := faults.status(req.Kind); status != 0 {
		return failure(x, status, "injected fault", "")
	}
	if req.Kind == "object" {
		return s.answerObject(r, req, x, resource, faults)
	}
	if resource.Parent != "" && s.organisation.Find(organisation.Named(resource.Parent), "", req.ID, s.Now()) == nil {
		return failure(x, http.StatusNotFound, "there is no such object", "")
	}
	q, refusal := parseResource(resource, req.ID, r.URL.RawQuery, s.opts.ContractOnly)
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
	if faults[ResourceCut] && q.cursor != "" {
		return failure(x, http.StatusInternalServerError, "injected fault", "")
	}
	if resource.Unpaged && (fault == FaultShort || fault == FaultEmpty) {
		fault = "" // no next page could bring the rest
	}
	p.distort(fault, dice.Hash(s.world.Key+6, uint64(number)), q.cursor, s.opts.OffsetPaging, func() (e entry, ok bool) { return e, false })
	faults.distort(p)
	items := make([]organisation.Object, len(p.items))
	for i, e := range p.items {
		items[i] = faults.object(resource, e.Object)
		if !q.inside {
			for _, name := range resource.Inside {
				delete(items[i], name)
			}
		}
		if faults[ResourceThin] {
			items[i] = thin(items[i])
		}
	}
	body := map[string]any{cmp.Or(resource.Items, "items"): items, "total_count": p.total}
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

func (s *Server) answerObject(r *http.Request, req Request, x *scratch, resource *organisation.Resource, faults resourceFaults) answer {
	values := r.URL.Query()
	var allowed []string
	if resource.Version != nil && !s.opts.ContractOnly {
		allowed = []string{"version"}
	}
	for name, all := range values {
		if !slices.Contains(allowed, name) {
			refusal := refuseParameter(name, allowed)
			return failure(x, http.StatusBadRequest, refusal.message, refusal.details)
		}
		if len(all) != 1 || all[0] == "" {
			return failure(x, http.StatusBadRequest, name+" must have exactly one value", "")
		}
	}
	var o organisation.Object
	if resource.Version != nil {
		o = resource.Version(s.organisation, req.ID, values.Get("version"), s.Now().UnixMilli())
	} else {
		o = s.organisation.Find(resource, "", req.ID, s.Now())
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
