package sandbox

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/operation"
)

// FaultKind is a way for a request to fail. The table in requestFaults and pageFaults says what each
// one does.
type FaultKind string

// Faults that this package or its tests name.
const (
	Fault429Bare      FaultKind = "429-bare"
	Fault429Date      FaultKind = "429-date"
	Fault429Malformed FaultKind = "429-malformed"
	Fault503HTML      FaultKind = "503-html"
	FaultReset        FaultKind = "reset"
	FaultCut          FaultKind = "cut"
	FaultTruncated    FaultKind = "truncated"
	FaultNonJSON      FaultKind = "nonjson"
	FaultHuge         FaultKind = "huge"
	FaultSlow         FaultKind = "slow"
	FaultHang         FaultKind = "hang"
	FaultMarked       FaultKind = "marked"

	FaultDuplicate FaultKind = "duplicate"
	FaultShort     FaultKind = "short"
	FaultEmpty     FaultKind = "empty"
	FaultLoop      FaultKind = "loop"
	FaultExpired   FaultKind = "expired"
	FaultTotal     FaultKind = "lying-total"
	FaultDisorder  FaultKind = "disorder"
	FaultEarlyEnd  FaultKind = "early-end"
)

// described is a fault and its effect, for the reference.
type described struct {
	Kind   FaultKind
	Effect string
}

// requestFaults are the faults of all requests. A name that begins with a status answers with it and
// the error envelope.
var requestFaults = []described{
	{"204", "no body"},
	{"302", "to a page of the service"},
	{"400", ""}, {"401", ""}, {"403", ""}, {"404", ""}, {"405", ""}, {"409", ""}, {"500", ""}, {"503", ""},
	{"429", "`Retry-After` is 1 to 3 seconds"},
	{Fault429Bare, "no `Retry-After`"},
	{Fault429Date, "`Retry-After` is a date, 2 seconds from now"},
	{"429-fraction", "`Retry-After: 1.5`"},
	{"429-long", "`Retry-After: 5400`"},
	{"503-long", "`Retry-After: 7200`"},
	{Fault429Malformed, "`Retry-After: soon`"},
	{Fault503HTML, "a web page, as proxies send"},
	{FaultReset, "the connection is reset before an answer"},
	{FaultCut, "the connection ends in the middle of the body"},
	{FaultTruncated, "200 with half of the JSON"},
	{FaultNonJSON, "200 with a web page"},
	{FaultHuge, "200 with more than 64 MiB"},
	{FaultMarked, "the right answer, after a byte order mark"},
	{FaultSlow, "the right answer, delayed by 5 seconds"},
	{FaultHang, "no answer until the client gives up"},
}

// pageFaults are the faults of pages only. A client that follows next_cursor carefully still gets
// every call, except with the last one, where it must go on by time.
var pageFaults = []described{
	{FaultDuplicate, "the page repeats one of its items, or the last one of the page before"},
	{FaultShort, "fewer items than asked for, and a next cursor"},
	{FaultEmpty, "no items, and a next cursor"},
	{FaultLoop, "`next_cursor` is this page's own cursor"},
	{FaultExpired, "400: the cursor is no longer valid"},
	{FaultTotal, "`total_count` is wrong by up to 1,000"},
	{FaultDisorder, "the items are out of order"},
	{FaultEarlyEnd, "`next_cursor` is null although more calls follow"},
}

// retryAfter are the values of Retry-After that do not depend on the request.
var retryAfter = map[FaultKind]string{Fault429Malformed: "soon", "429-fraction": "1.5", "429-long": "5400", "503-long": "7200"}

// kinds returns the names of faults.
func kinds(of ...[]described) (all []FaultKind) {
	for _, f := range slices.Concat(of...) {
		all = append(all, f.Kind)
	}
	return all
}

func isIn(of []described, k FaultKind) bool {
	return slices.ContainsFunc(of, func(f described) bool { return f.Kind == k })
}

// ResourceFault is a way for a resource to be wrong, for as long as it is set. 403, 404 and 500 are
// faults as well: every request for the resource then gets that status.
type ResourceFault string

// Faults of resources.
const (
	ResourceNoList ResourceFault = "no-list" // the list answers 404; its objects are served
	ResourceEmpty  ResourceFault = "empty"   // 200 without items
)

// V2 selects faults of v2's calls; the zero value has none. The tags are the names of the modes,
// their default values, and what they do, for the reference.
type V2 struct {
	Off           int     `mode:"off" usual:"404" says:"every request for calls gets this status; the rest of v2 works"`
	RemovedAfter  int     `mode:"removed-after" says:"the same, after N lists"`
	OtherShape    bool    `mode:"other-shape" usual:"true" says:"200 with JSON that is neither a list of calls nor a call"`
	Refused       bool    `mode:"422" usual:"true" says:"every list is refused with 422 and detail"`
	WrongTurns    float64 `mode:"wrong-turns" says:"in this share of transcripts a turn is missing, or a character is wrong"`
	SpokenOnly    bool    `mode:"spoken-only" usual:"true" says:"transcript_with_tool_calls is null"`
	DuplicateKeys bool    `mode:"duplicate-keys" usual:"true" says:"items of lists have status twice; the first is right"`
	Shift         bool    `mode:"shift" usual:"true" says:"pagination_key is an offset: calls that arrive or vanish shift pages"`
	IgnoreStart   bool    `mode:"ignore-filter" usual:"true" says:"lists ignore start_timestamp"`
	PageMost      int     `mode:"page-most" says:"the most calls of a page"`
	ExtraCalls    int     `mode:"extra-calls" says:"v2 has N calls that v3 lacks"`
	SlowAbove     int     `mode:"slow-above" says:"larger pages never come (200:stall), are cut off (200:cut), or get 500 or 504"`

	Slow string // stall (the default), 500, 504 or cut
}

// Lists selects how the list of v3's calls is wrong. The tags are the names of the modes, their
// default values, and what they do, for the reference.
type Lists struct {
	Depth  int    `mode:"depth" says:"pages after this many calls are empty, without a next cursor"`
	Most   int    `mode:"total-most" says:"the most that total_count counts to"`
	Extra  int    `mode:"total-extra" says:"added to total_count; may be negative"`
	Window int    `mode:"window" says:"only the calls of N days are listed, unless start_at_after or start_at_before is given"`
	None   bool   `mode:"404" usual:"true" says:"an empty list is 404 with NO_CALLS_FOUND"`
	Null   bool   `mode:"null" usual:"true" says:"after the last calls comes a page whose items are null"`
	Last   string `mode:"last" says:"next_cursor of the last page, as JSON; same: its own cursor"`
}

// resourceFaults lists the faults of resources in the order of messages, in which they also take
// effect.
var (
	anyFault       = kinds(requestFaults, pageFaults)
	resourceFaults = []ResourceFault{"403", "404", "500", ResourceNoList, ResourceEmpty}
)

// Faults are the shares of failing requests. The share of a page fault is of all requests: it has
// no effect if drawn for a detail.
type Faults = dice.Shares[FaultKind]

// ParseFaults reads "500=0.05,429=0.01,reset=0.01".
func ParseFaults(text string) (Faults, error) { return dice.ParseShares(text, "fault", anyFault) }

// Resources that v2 shows differently: other names, times in ISO 8601, a body instead of query
// parameters. These are their names in Request.Resource and ResourceFaults.
const (
	v2Agents     = "v2_agents"
	v2Campaigns  = "v2_campaigns"
	v2Knowledges = "v2_knowledges"
)

// ResourceFaults are the faults by resource name; "all" stands for every resource.
type ResourceFaults map[string][]ResourceFault

// ParseResourceFaults reads "agents=403,all=empty". The word contract
// stands for the faults that hide resources and lists outside the contract.
func ParseResourceFaults(text string) (ResourceFaults, error) {
	all := ResourceFaults{}
	for e, given := range dice.Entries(text) {
		if e[0] == "contract" && !given {
			for _, r := range operation.Resources() {
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
	for _, r := range operation.Resources() {
		names = append(names, r.Name)
	}
	names = append(names, v2Agents, v2Campaigns, v2Knowledges) // which support 403, 404, 500 and empty
	for _, name := range slices.Sorted(maps.Keys(fs)) {
		if !slices.Contains(names, name) {
			return fmt.Errorf("unknown resource %q; available: %s", name, strings.Join(names, ", "))
		}
		for _, kind := range fs[name] {
			if err := dice.Known("resource fault", kind, resourceFaults); err != nil {
				return err
			}
		}
	}
	return nil
}

// ParseV2 reads "off=410,removed-after=3" or "wrong-turns=0.01,slow-above=200:cut".
func ParseV2(text string) (v V2, _ error) {
	err := parseModes(&v, "v2 mode", text, func(name, value string) string {
		if name == "slow-above" {
			value, v.Slow, _ = strings.Cut(value, ":")
		}
		return value
	})
	if err != nil {
		return v, err
	}
	return v, v.check()
}

// ParseLists reads "depth=10000,last=false".
func ParseLists(text string) (l Lists, _ error) {
	err := parseModes(&l, "mode of lists", text, func(_, value string) string { return value })
	if err != nil {
		return l, err
	}
	return l, l.check()
}

func (l *Lists) check() error {
	if l.Depth < 0 || l.Most < 0 || l.Window < 0 {
		return fmt.Errorf("depth, total-most and window of lists must not be negative")
	}
	if l.Last != "" && l.Last != "same" && !json.Valid([]byte(l.Last)) {
		return fmt.Errorf("the last cursor of lists must be JSON or same, not %q", l.Last)
	}
	return nil
}

// parseModes reads "NAME,NAME=VALUE,…" into the fields of a struct whose tags name them.
func parseModes[T any](into *T, what, text string, edit func(name, value string) string) error {
	var names []string
	modes := map[string]reflect.StructField{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		if name := f.Tag.Get("mode"); name != "" {
			names, modes[name] = append(names, name), f
		}
	}
	for e, given := range dice.Entries(text) {
		name, value := e[0], e[1]
		if err := dice.Known(what, name, names); err != nil {
			return err
		}
		mode := modes[name]
		if !given {
			value = mode.Tag.Get("usual")
		}
		text := edit(name, value)
		var err error
		switch into := reflect.ValueOf(into).Elem().FieldByIndex(mode.Index).Addr().Interface().(type) {
		case *bool:
			*into, err = strconv.ParseBool(text)
		case *int:
			*into, err = strconv.Atoi(text)
		case *float64:
			*into, err = strconv.ParseFloat(text, 64)
		case *string:
			*into = text
		}
		if err != nil {
			return fmt.Errorf("invalid value for the %s %s: %q", what, name, value)
		}
	}
	return nil
}

func (v *V2) check() error {
	switch {
	case v.Off != 0 && (v.Off < 400 || v.Off > 599):
		return fmt.Errorf("the v2 status must be 400 to 599, not %d", v.Off)
	case v.RemovedAfter < 0 || v.SlowAbove < 0 || v.PageMost < 0 || v.ExtraCalls < 0:
		return fmt.Errorf("v2 numbers must not be negative")
	case !(v.WrongTurns >= 0 && v.WrongTurns <= 1):
		return fmt.Errorf("the rate of wrong turns must be 0 to 1, not %v", v.WrongTurns)
	case !slices.Contains([]string{"", "stall", "500", "504", "cut"}, v.Slow):
		return fmt.Errorf("the fault of large v2 pages must be stall, 500, 504 or cut, not %q", v.Slow)
	}
	return nil
}

// trouble holds the current faults of resources and of v2's calls.
type trouble struct {
	mu        sync.Mutex
	resources ResourceFaults
	v2        V2
	lists     int // lists of v2 answered
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

// modes returns the current modes for a request for v2's calls.
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
