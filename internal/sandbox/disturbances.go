package sandbox

import (
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"callhouse/internal/sandbox/operation"
	"callhouse/internal/sandbox/organisation"
)

// FaultKind names one way for a request to go wrong. Every documented status (400, 401, 403,
// 404, 409, 429, 500, 503) is a kind that answers with the error envelope; 429 carries
// Retry-After in seconds.
type FaultKind string

// Faults of any request.
const (
	Fault429Bare      FaultKind = "429-bare"      // 429 without Retry-After
	Fault429Date      FaultKind = "429-date"      // 429 with Retry-After as an HTTP date
	Fault429Malformed FaultKind = "429-malformed" // 429 with a Retry-After that is neither
	Fault503HTML      FaultKind = "503-html"      // 503 with a web page for a body, as proxies send
	FaultReset        FaultKind = "reset"         // the connection is reset before an answer
	FaultCut          FaultKind = "cut"           // the connection ends in the middle of the body
	FaultTruncated    FaultKind = "truncated"     // a whole answer with 200, and half of the JSON
	FaultNonJSON      FaultKind = "nonjson"       // 200 with a web page
	FaultHuge         FaultKind = "huge"          // 200 with more than 64 MiB
	FaultSlow         FaultKind = "slow"          // the right answer, late
	FaultHang         FaultKind = "hang"          // no answer until the client gives up
)

// Faults of pages alone. None of them loses a call to a client that follows
// next_cursor with care.
const (
	FaultDuplicate FaultKind = "duplicate"   // the page repeats one of its items, or the one before it
	FaultShort     FaultKind = "short"       // fewer items than asked for, and a next cursor
	FaultEmpty     FaultKind = "empty"       // no item, and a next cursor
	FaultLoop      FaultKind = "loop"        // next_cursor is the cursor of this page again
	FaultExpired   FaultKind = "expired"     // 400: the cursor is no longer valid
	FaultTotal     FaultKind = "lying-total" // total_count is wrong
	FaultDisorder  FaultKind = "disorder"    // the items come in another order
)

// ResourceFault names one way in which a resource is not as it should be, for as
// long as it is set. Besides them, 403, 404 and 500 are faults with which every
// request for the resource is answered.
type ResourceFault string

// Faults of resources.
const (
	ResourceNoList  ResourceFault = "no-list"     // the list answers 404; its objects are served
	ResourceEmpty   ResourceFault = "empty"       // 200, and no item
	ResourceCut     ResourceFault = "cut-list"    // the first page has half of the items, and every other answers 500
	ResourceLoop    ResourceFault = "loop"        // next_cursor leads to the page that it stands on
	ResourceRenamed ResourceFault = "renamed-key" // an object's id is called agent_id, tool_id, …
	ResourceField   ResourceFault = "new-field"   // objects have a field that nobody knows
	ResourceDrift   ResourceFault = "drift"       // times are texts of digits, and name is an object
	ResourceThin    ResourceFault = "thin"        // list items hold only ids and times
)

// V2 says how the calls of v2 are served. The zero value serves them well.
type V2 struct {
	// Off is the status that every request for them is answered with; 0: they are served.
	Off int
	// RemovedAfter is how many lists are answered before Off begins, which is 404 then
	// unless it is set; 0: they are not removed.
	RemovedAfter int
	OtherShape   bool // answers are JSON, with 200, but neither a list of calls nor a call
	Refused      bool // every list is refused with 422 and detail

	// WrongTurns is the share of calls in whose transcripts a turn is missing, or a
	// character of a turn or of a tool's answer is another one. [Server.V2Wrong] tells them.
	WrongTurns float64
	SpokenOnly bool // transcript_with_tool_calls is null
	// DuplicateKeys gives every call of a list the member status twice; the first is right.
	DuplicateKeys bool

	// Shift makes a pagination_key stand for how many calls came before, so that calls
	// which arrive or vanish between two pages shift all later ones.
	Shift bool
	// IgnoreStart makes lists ignore start_timestamp.
	IgnoreStart bool
	// ExtraCalls is how many calls v2 has that v3 does not know.
	ExtraCalls int

	// SlowAbove is how many calls a page may have before Slow happens to it: "stall" (no
	// answer until the client gives up; the default), "500", "504", or "cut" (the
	// connection ends in the middle of the body); 0: any number.
	SlowAbove int
	Slow      string
}

// subject is what a disturbance happens to.
type subject int

const (
	requests  subject = iota // any request, once: a FaultKind
	pages                    // a request for a page, once: a FaultKind; see page.distort
	resources                // a resource: a ResourceFault
	callsV2                  // the calls of v2: a field of V2
)

// disturbance is one way in which the sandbox is not as the service should be.
type disturbance struct {
	on   subject
	name string

	retry  func(s *Server, e *exchange) string // the header Retry-After; nil: none
	answer func(s *Server, e *exchange) answer // what is answered; nil: the status that the name begins with
	list   func(p *page[entry])                // what becomes of a resource's list, unless it has a fault that stands before this one
	object func(r *operation.Resource, o organisation.Object)

	usual string          // the value of a mode where none is given; empty where there has to be one, unless it is a truth
	mode  func(v *V2) any // where the value of a mode goes
}

// disturbances are all that there are, in the order in which messages list them.
var disturbances []disturbance

func init() { // answers of some of them are those of the operations
	disturbances = []disturbance{
		{on: requests, name: "400"}, {on: requests, name: "401"}, {on: requests, name: "403"}, {on: requests, name: "404"},
		{on: requests, name: "409"},
		{on: requests, name: "429", retry: func(_ *Server, e *exchange) string { return strconv.Itoa(1 + int(e.number%3)) }},
		{on: requests, name: "500"}, {on: requests, name: "503"},
		{on: requests, name: string(Fault429Bare)},
		{on: requests, name: string(Fault429Date), retry: func(s *Server, _ *exchange) string {
			return s.opts.DateNow().Add(2 * time.Second).UTC().Format(http.TimeFormat)
		}},
		{on: requests, name: string(Fault429Malformed), retry: func(*Server, *exchange) string { return "soon" }},
		{on: requests, name: string(Fault503HTML), answer: func(*Server, *exchange) answer {
			return webAnswer(503, "503 Service Temporarily Unavailable")
		}},
		{on: requests, name: string(FaultReset), answer: func(*Server, *exchange) answer { return answer{end: FaultReset} }},
		{on: requests, name: string(FaultCut), answer: func(s *Server, e *exchange) answer {
			a := s.api.answer(e)
			a.end = FaultCut
			return a
		}},
		{on: requests, name: string(FaultTruncated), answer: func(s *Server, e *exchange) answer {
			a := s.api.answer(e)
			a.body, a.view, a.object = a.body[:len(a.body)/2], nil, ""
			return a
		}},
		{on: requests, name: string(FaultNonJSON), answer: func(*Server, *exchange) answer { return webAnswer(200, "Please sign in") }},
		{on: requests, name: string(FaultHuge), answer: func(*Server, *exchange) answer { return answer{end: FaultHuge} }},
		{on: requests, name: string(FaultSlow), answer: func(s *Server, e *exchange) answer {
			if !sleep(e.r, s.opts.SlowFor) {
				return answer{end: FaultSlow}
			}
			return s.api.answer(e)
		}},
		{on: requests, name: string(FaultHang), answer: func(*Server, *exchange) answer { return answer{end: FaultHang} }},

		{on: pages, name: string(FaultDuplicate)}, {on: pages, name: string(FaultShort)}, {on: pages, name: string(FaultEmpty)},
		{on: pages, name: string(FaultLoop)}, {on: pages, name: string(FaultExpired)}, {on: pages, name: string(FaultTotal)},
		{on: pages, name: string(FaultDisorder)},

		{on: resources, name: "403"}, {on: resources, name: "404"}, {on: resources, name: "500"},
		{on: resources, name: string(ResourceNoList)},
		{on: resources, name: string(ResourceEmpty), list: func(p *page[entry]) { p.items, p.next, p.total = nil, "", 0 }},
		{on: resources, name: string(ResourceCut), list: func(p *page[entry]) { p.shorten(len(p.items) / 2) }},
		{on: resources, name: string(ResourceLoop), list: func(p *page[entry]) { p.next = p.seal(p.start) }},
		{on: resources, name: string(ResourceRenamed), object: func(r *operation.Resource, o organisation.Object) {
			if r.Own != "" {
				o[r.Own] = o["id"]
				delete(o, "id")
			}
		}},
		{on: resources, name: string(ResourceField), object: func(_ *operation.Resource, o organisation.Object) {
			o["x_tomorrow"] = map[string]any{"phase": 2, "tags": []string{"new"}}
		}},
		{on: resources, name: string(ResourceDrift), object: drift},
		{on: resources, name: string(ResourceThin)},

		{on: callsV2, name: "off", usual: "404", mode: func(v *V2) any { return &v.Off }},
		{on: callsV2, name: "removed-after", mode: func(v *V2) any { return &v.RemovedAfter }},
		{on: callsV2, name: "other-shape", mode: func(v *V2) any { return &v.OtherShape }},
		{on: callsV2, name: "422", mode: func(v *V2) any { return &v.Refused }},
		{on: callsV2, name: "wrong-turns", mode: func(v *V2) any { return &v.WrongTurns }},
		{on: callsV2, name: "spoken-only", mode: func(v *V2) any { return &v.SpokenOnly }},
		{on: callsV2, name: "duplicate-keys", mode: func(v *V2) any { return &v.DuplicateKeys }},
		{on: callsV2, name: "shift", mode: func(v *V2) any { return &v.Shift }},
		{on: callsV2, name: "ignore-filter", mode: func(v *V2) any { return &v.IgnoreStart }},
		{on: callsV2, name: "extra-calls", mode: func(v *V2) any { return &v.ExtraCalls }},
		{on: callsV2, name: "slow-above", mode: func(v *V2) any { return &v.SlowAbove }},
	}
}

// drift turns times into texts of digits, and the name into an object.
func drift(_ *operation.Resource, o organisation.Object) {
	for name, value := range o {
		if ms, ok := value.(int64); ok && strings.HasSuffix(name, "_at") {
			o[name] = strconv.FormatInt(ms, 10)
		}
	}
	if name, ok := o["name"].(string); ok {
		o["name"] = map[string]any{"text": name, "as_of": time.Unix(0, 0).UTC().Format(time.DateOnly)}
	}
}

// named returns the disturbance of a name on one of some subjects; nil for none.
func named[N ~string](name N, on ...subject) *disturbance {
	i := slices.IndexFunc(disturbances, func(d disturbance) bool { return d.name == string(name) && slices.Contains(on, d.on) })
	if i < 0 {
		return nil
	}
	return &disturbances[i]
}

// known refuses a name that is not known.
func known[N ~string](what string, name N, on ...subject) error {
	if named(name, on...) != nil {
		return nil
	}
	var names []string
	for _, d := range disturbances {
		if slices.Contains(on, d.on) {
			names = append(names, d.name)
		}
	}
	return fmt.Errorf("unknown %s %q; available: %s", what, name, strings.Join(names, ", "))
}

// entries yields the entries of "NAME=VALUE,…"; given is false where there is no value.
func entries(text string) iter.Seq2[[2]string, bool] {
	return func(yield func([2]string, bool) bool) {
		for entry := range strings.SplitSeq(text, ",") {
			if entry = strings.TrimSpace(entry); entry == "" {
				continue
			}
			if name, value, given := strings.Cut(entry, "="); !yield([2]string{name, value}, given) {
				return
			}
		}
	}
}

// FaultRate is the share of requests that go wrong in one way.
type FaultRate struct {
	Kind FaultKind
	Rate float64
}

// Faults are shares that add up to no more than 1. The share of a page fault is
// of all requests, so that of details nothing happens.
type Faults []FaultRate

// ParseFaults reads "500=0.05,429=0.01,reset=0.01".
func ParseFaults(text string) (Faults, error) {
	var fs Faults
	for e, given := range entries(text) {
		rate, err := strconv.ParseFloat(e[1], 64)
		if !given {
			return nil, fmt.Errorf("parse fault %q: want KIND=RATE", e[0])
		} else if err != nil {
			return nil, fmt.Errorf("parse fault %q: %q is not a rate", e[0]+"="+e[1], e[1])
		}
		fs = append(fs, FaultRate{FaultKind(e[0]), rate})
	}
	return fs, fs.check()
}

func (fs Faults) check() error {
	var sum float64
	for _, f := range fs {
		if err := known("fault", f.Kind, requests, pages); err != nil {
			return err
		}
		if !(f.Rate >= 0 && f.Rate <= 1) {
			return fmt.Errorf("rate of fault %s must be 0 to 1, not %v", f.Kind, f.Rate)
		}
		sum += f.Rate
	}
	if sum > 1 {
		return fmt.Errorf("the sum of the fault rates is %v, but must not exceed 1", sum)
	}
	return nil
}

// draw returns the fault that u falls on; empty for none.
func (fs Faults) draw(u float64, page bool) FaultKind {
	for _, f := range fs {
		if u -= f.Rate; u < 0 {
			if !page && named(f.Kind, pages) != nil {
				return ""
			}
			return f.Kind
		}
	}
	return ""
}

// ResourceFaults are the faults of each resource, by its name, or of all of them
// under "all".
type ResourceFaults map[string][]ResourceFault

// ParseResourceFaults reads "agents=403,tools=drift,tools=loop,all=renamed-key".
func ParseResourceFaults(text string) (ResourceFaults, error) {
	all := ResourceFaults{}
	for e, given := range entries(text) {
		if !given {
			return nil, fmt.Errorf("parse resource fault %q: want RESOURCE=KIND", e[0])
		}
		all[e[0]] = append(all[e[0]], ResourceFault(e[1]))
	}
	return all, all.check()
}

func (fs ResourceFaults) check() error {
	names := []string{"all"}
	for _, r := range operation.Resources {
		names = append(names, r.Name)
	}
	names = append(names, v2Agents, v2Campaigns, v2Knowledges) // with 403, 404, 500 and empty
	for _, name := range slices.Sorted(maps.Keys(fs)) {
		if !slices.Contains(names, name) {
			return fmt.Errorf("unknown resource %q; available: %s", name, strings.Join(names, ", "))
		}
		for _, kind := range fs[name] {
			if err := known("resource fault", kind, resources); err != nil {
				return err
			}
		}
	}
	return nil
}

// resourceFaults are those of one resource, as they stand in the table.
type resourceFaults []*disturbance

func (f resourceFaults) has(kind ResourceFault) bool {
	return slices.ContainsFunc(f, func(d *disturbance) bool { return d.name == string(kind) })
}

// status is what every request of a kind is answered with; 0: it is served.
func (f resourceFaults) status(kind string) int {
	if kind == "list" && f.has(ResourceNoList) {
		return http.StatusNotFound
	}
	for _, d := range f {
		if status, err := strconv.Atoi(d.name); err == nil {
			return status
		}
	}
	return 0
}

// distort makes a list wrong.
func (f resourceFaults) distort(p *page[entry]) {
	for _, d := range f {
		if d.list != nil {
			d.list(p)
			return
		}
	}
}

// object returns an object as the faults show it; the one given is not changed.
func (f resourceFaults) object(r *operation.Resource, o organisation.Object) organisation.Object {
	o = maps.Clone(o)
	for _, d := range f {
		if d.object != nil {
			d.object(r, o)
		}
	}
	return o
}

// ParseV2 reads "off=410,removed-after=3" or "wrong-turns=0.01,slow-above=200:cut".
func ParseV2(text string) (V2, error) {
	var v V2
	for e, given := range entries(text) {
		name, value := e[0], e[1]
		if err := known("v2 mode", name, callsV2); err != nil {
			return v, err
		}
		d := named(name, callsV2)
		into := d.mode(&v)
		if _, ok := into.(*bool); ok && !given {
			value = "true"
		} else if !given {
			value = d.usual
		}
		text := value
		if name == "slow-above" {
			text, v.Slow, _ = strings.Cut(value, ":")
		}
		var err error
		switch into := into.(type) {
		case *bool:
			*into, err = strconv.ParseBool(text)
		case *int:
			*into, err = strconv.Atoi(text)
		case *float64:
			*into, err = strconv.ParseFloat(text, 64)
		}
		if err != nil {
			return v, fmt.Errorf("invalid value for the v2 mode %s: %q", name, value)
		}
	}
	return v, v.check()
}

func (v *V2) check() error {
	switch {
	case v.Off != 0 && (v.Off < 400 || v.Off > 599):
		return fmt.Errorf("the v2 status must be 400 to 599, not %d", v.Off)
	case v.RemovedAfter < 0 || v.SlowAbove < 0 || v.ExtraCalls < 0:
		return fmt.Errorf("v2 numbers must not be negative")
	case !(v.WrongTurns >= 0 && v.WrongTurns <= 1):
		return fmt.Errorf("the rate of wrong turns must be 0 to 1, not %v", v.WrongTurns)
	case !slices.Contains([]string{"", "stall", "500", "504", "cut"}, v.Slow):
		return fmt.Errorf("the fault of large v2 pages must be stall, 500, 504 or cut, not %q", v.Slow)
	}
	return nil
}

// trouble is what is wrong now with resources and with the calls of v2.
type trouble struct {
	mu        sync.Mutex
	resources ResourceFaults
	v2        V2
	listed    int // lists of v2 since it was set
}

// SetResourceFaults replaces the faults of a resource (or of "all") from now on;
// none makes it whole again.
func (s *Server) SetResourceFaults(resource string, kinds ...ResourceFault) error {
	if err := (ResourceFaults{resource: kinds}).check(); err != nil {
		return fmt.Errorf("set resource faults: %w", err)
	}
	t := &s.api.trouble
	t.mu.Lock()
	defer t.mu.Unlock()
	all := ResourceFaults{}
	maps.Copy(all, t.resources)
	all[resource] = kinds
	t.resources = all
	return nil
}

// SetV2 changes how the calls of v2 are served from now on. Its ExtraCalls have to be
// what they were at the start.
func (s *Server) SetV2(v V2) error {
	if err := v.check(); err != nil {
		return fmt.Errorf("set v2: %w", err)
	}
	t := &s.api.trouble
	t.mu.Lock()
	defer t.mu.Unlock()
	if v.ExtraCalls != t.v2.ExtraCalls {
		return fmt.Errorf("set v2: the number of extra calls cannot change")
	}
	t.v2, t.listed = v, 0
	return nil
}

// of returns the faults of a resource.
func (t *trouble) of(resource string) (set resourceFaults) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.resources) == 0 {
		return nil
	}
	for i := range disturbances {
		d := &disturbances[i]
		kind := ResourceFault(d.name)
		if d.on == resources && (slices.Contains(t.resources["all"], kind) || slices.Contains(t.resources[resource], kind)) {
			set = append(set, d)
		}
	}
	return set
}

// modes returns how a request for calls of v2 is served now.
func (t *trouble) modes(list bool) V2 {
	t.mu.Lock()
	defer t.mu.Unlock()
	v := t.v2
	if v.RemovedAfter == 0 {
		return v
	}
	if t.listed < v.RemovedAfter {
		if list {
			t.listed++
		}
		v.Off = 0
	} else if v.Off == 0 {
		v.Off = http.StatusNotFound
	}
	return v
}
