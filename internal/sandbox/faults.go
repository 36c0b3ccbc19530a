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

	"callhouse/internal/sandbox/operation"
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
	// Truncated is the share of calls whose transcripts lack their second half. V2Wrong tells
	// them as well.
	Truncated  float64
	SpokenOnly bool // transcript_with_tool_calls is null
	// DuplicateKeys gives every call of a list the member status twice; the first is right.
	DuplicateKeys bool

	// Shift makes a pagination_key stand for how many calls came before, so that calls
	// which arrive or vanish between two pages shift all later ones.
	Shift bool
	// IgnoreStart makes lists ignore start_timestamp.
	IgnoreStart bool
	// PageMost is how many calls a page has at most; 0: as many as requested.
	PageMost int
	// ExtraCalls is how many calls v2 has that v3 does not know.
	ExtraCalls int

	// SlowAbove is how many calls a page may have before Slow happens to it: "stall" (no
	// answer until the client gives up; the default), "500", "504", or "cut" (the
	// connection ends in the middle of the body); 0: any number.
	SlowAbove int
	Slow      string
}

// requestFaults, pageFaults and resourceFaults are all that there are, in the order in which messages
// list them, and those of resources take effect.
var (
	requestFaults = []FaultKind{"400", "401", "403", "404", "409", "429", "500", "503", Fault429Bare, Fault429Date, Fault429Malformed,
		Fault503HTML, FaultReset, FaultCut, FaultTruncated, FaultNonJSON, FaultHuge, FaultSlow, FaultHang}
	pageFaults     = []FaultKind{FaultDuplicate, FaultShort, FaultEmpty, FaultLoop, FaultExpired, FaultTotal, FaultDisorder}
	resourceFaults = []ResourceFault{"403", "404", "500", ResourceNoList, ResourceEmpty, ResourceCut, ResourceLoop, ResourceRenamed,
		ResourceField, ResourceDrift, ResourceThin}
)

// known refuses a name that is none of those known.
func known[N ~string](what string, name N, all []N) error {
	if slices.Contains(all, name) {
		return nil
	}
	var names []string
	for _, n := range all {
		names = append(names, string(n))
	}
	return fmt.Errorf("unknown %s %q; available: %s", what, name, strings.Join(names, ", "))
}

// entries yields the entries of "NAME=VALUE,…"; given is false where there is no value.
func entries(text string) iter.Seq2[[2]string, bool] {
	return func(yield func([2]string, bool) bool) {
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part == "" {
				continue
			}
			if name, value, given := strings.Cut(part, "="); !yield([2]string{name, value}, given) {
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
		if err := known("fault", f.Kind, slices.Concat(requestFaults, pageFaults)); err != nil {
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
func (fs Faults) draw(u float64, ofPage bool) FaultKind {
	for _, f := range fs {
		if u -= f.Rate; u < 0 {
			if !ofPage && slices.Contains(pageFaults, f.Kind) {
				return ""
			}
			return f.Kind
		}
	}
	return ""
}

// What v2 has of an organisation: other names, times as ISO 8601, a body instead of
// query parameters. These are their names in Request.Resource and ResourceFaults.
const (
	v2Agents     = "v2_agents"
	v2Campaigns  = "v2_campaigns"
	v2Knowledges = "v2_knowledges"
)

// ResourceFaults are the faults of each resource, by its name, or of all of them
// under "all".
type ResourceFaults map[string][]ResourceFault

// ParseResourceFaults reads "agents=403,tools=drift,tools=loop,all=renamed-key". The word contract
// stands for the faults that leave only what the contract has.
func ParseResourceFaults(text string) (ResourceFaults, error) {
	all := ResourceFaults{}
	for e, given := range entries(text) {
		if e[0] == "contract" && !given {
			for _, r := range operation.Resources {
				if len(r.Contract) == 0 {
					all[r.Name] = append(all[r.Name], "404")
				} else if !slices.Contains(r.Contract, "list") {
					all[r.Name] = append(all[r.Name], ResourceNoList)
				}
			}
			continue
		}
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
			if err := known("resource fault", kind, resourceFaults); err != nil {
				return err
			}
		}
	}
	return nil
}

// modes are the ways in which the calls of v2 are served: where each value goes, and the one where
// none is given; that of a number without one has to be given.
var modes = []struct {
	name, usual string
	of          func(v *V2) any
}{
	{"off", "404", func(v *V2) any { return &v.Off }},
	{"removed-after", "", func(v *V2) any { return &v.RemovedAfter }},
	{"other-shape", "true", func(v *V2) any { return &v.OtherShape }},
	{"422", "true", func(v *V2) any { return &v.Refused }},
	{"wrong-turns", "", func(v *V2) any { return &v.WrongTurns }},
	{"truncate", "", func(v *V2) any { return &v.Truncated }},
	{"spoken-only", "true", func(v *V2) any { return &v.SpokenOnly }},
	{"duplicate-keys", "true", func(v *V2) any { return &v.DuplicateKeys }},
	{"shift", "true", func(v *V2) any { return &v.Shift }},
	{"ignore-filter", "true", func(v *V2) any { return &v.IgnoreStart }},
	{"page-most", "", func(v *V2) any { return &v.PageMost }},
	{"extra-calls", "", func(v *V2) any { return &v.ExtraCalls }},
	{"slow-above", "", func(v *V2) any { return &v.SlowAbove }},
}

// ParseV2 reads "off=410,removed-after=3" or "wrong-turns=0.01,slow-above=200:cut".
func ParseV2(text string) (V2, error) {
	var v V2
	var names []string
	for _, m := range modes {
		names = append(names, m.name)
	}
	for e, given := range entries(text) {
		name, value := e[0], e[1]
		if err := known("v2 mode", name, names); err != nil {
			return v, err
		}
		mode := modes[slices.Index(names, name)]
		if !given {
			value = mode.usual
		}
		text := value
		if name == "slow-above" {
			text, v.Slow, _ = strings.Cut(value, ":")
		}
		var err error
		switch into := mode.of(&v).(type) {
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
	case v.RemovedAfter < 0 || v.SlowAbove < 0 || v.PageMost < 0 || v.ExtraCalls < 0:
		return fmt.Errorf("v2 numbers must not be negative")
	case !(v.WrongTurns >= 0 && v.WrongTurns <= 1):
		return fmt.Errorf("the rate of wrong turns must be 0 to 1, not %v", v.WrongTurns)
	case !(v.Truncated >= 0 && v.Truncated <= 1):
		return fmt.Errorf("the rate of truncated transcripts must be 0 to 1, not %v", v.Truncated)
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
	lists     int // lists of v2 since it was set
}

// of returns the faults of a resource.
func (t *trouble) of(resource string) (set []ResourceFault) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.resources) == 0 {
		return nil
	}
	for _, kind := range resourceFaults {
		if slices.Contains(t.resources["all"], kind) || slices.Contains(t.resources[resource], kind) {
			set = append(set, kind)
		}
	}
	return set
}

// modes returns how a request for calls of v2 is served now.
func (t *trouble) modes(ofList bool) V2 {
	t.mu.Lock()
	defer t.mu.Unlock()
	v := t.v2
	if v.RemovedAfter == 0 {
		return v
	}
	if t.lists < v.RemovedAfter {
		if ofList {
			t.lists++
		}
		v.Off = 0
	} else if v.Off == 0 {
		v.Off = http.StatusNotFound
	}
	return v
}
