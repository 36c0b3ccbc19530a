package sandbox

import (
	"cmp"
	"maps"
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
	if slices.Contains(e.wrong, ResourceCut) && q.cursor != "" {
		return e.fail(http.StatusInternalServerError, "injected fault")
	}
	if !resource.Unpaged || e.fault != FaultShort && e.fault != FaultEmpty { // otherwise no later page could return the rest
		p.distort(e.fault, dice.Hash(s.world.Key+6, uint64(e.number)), q.cursor, s.opts.OffsetPaging,
			func() (e entry, ok bool) { return e, false })
	}
	distortList(p, e.wrong)
	items := make([]organisation.Object, len(p.items))
	for i := range p.items {
		items[i] = distorted(resource, p.items[i].Object, e.wrong)
		if !q.inside {
			for _, name := range resource.Inside {
				delete(items[i], name)
			}
		}
		if slices.Contains(e.wrong, ResourceThin) {
			items[i] = thin(items[i])
		}
	}
	body := map[string]any{resource.Items: items, "total_count": p.total}
	if !resource.Unpaged {
		body["next_cursor"] = orNull(p.next)
	}
	return objectAnswer(body)
}

// thin keeps only an object's ids and times.
func thin(o organisation.Object) organisation.Object {
	t := organisation.Object{}
	for name, value := range o {
		if name == "id" || name == "version" || name == "provider" || strings.HasSuffix(name, "_id") || strings.HasSuffix(name, "_at") {
			t[name] = value
		}
	}
	return t
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
	a := objectAnswer(distorted(resource, o, e.wrong))
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

// distortList applies the first list fault of a resource to a page.
func distortList(p *page[entry], faults []ResourceFault) {
	for _, f := range faults {
		switch f {
		case ResourceEmpty:
			p.items, p.next, p.total = nil, "", 0
		case ResourceCut:
			p.shorten(len(p.items) / 2)
		case ResourceLoop:
			p.next = p.seal(p.start)
		default:
			continue
		}
		return
	}
}

// distorted returns a copy of an object with the faults of its resource applied.
func distorted(r *operation.Resource, o organisation.Object, faults []ResourceFault) organisation.Object {
	o = maps.Clone(o)
	for _, f := range faults {
		switch {
		case f == ResourceRenamed && r.Own != "":
			o[r.Own] = o["id"]
			delete(o, "id")
		case f == ResourceField:
			o["x_tomorrow"] = map[string]any{"phase": 2, "tags": []string{"new"}}
		case f == ResourceDrift:
			drift(o)
		case f == ResourceTimes:
			for name, value := range o {
				if ms, ok := value.(int64); ok && strings.HasSuffix(name, "_at") {
					o[name] = time.UnixMicro(ms*1000 + 999).UTC().Format("2006-01-02 15:04:05.000000-07")
				}
			}
		}
	}
	return o
}

// drift turns times into strings of digits, and the name into an object.
func drift(o organisation.Object) {
	for name, value := range o {
		if ms, ok := value.(int64); ok && strings.HasSuffix(name, "_at") {
			o[name] = strconv.FormatInt(ms, 10)
		}
	}
	if name, ok := o["name"].(string); ok {
		o["name"] = map[string]any{"text": name, "as_of": time.Unix(0, 0).UTC().Format(time.DateOnly)}
	}
}
