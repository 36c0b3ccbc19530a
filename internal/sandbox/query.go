package sandbox

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"

	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/wire"
	"callhouse/internal/sandbox/world"
)

// The query parameters of GET /v3/calls: those of the contract, those that the
// service takes besides, and those that name what a call must have.
var (
	contractParameters  = []string{"cursor", "limit"}
	attributeParameters = []string{"status", "call_type", "agent_id", "disconnection_reason", "call_from", "call_to", "campaign_id", "customer_id"}
	allowedParameters   = slices.Concat(contractParameters,
		[]string{"sort_order", "start_at_after", "start_at_before"}, attributeParameters)
	// newerParameters are those that the service did not take at first.
	newerParameters = []string{"campaign_id", "customer_id"}

	allStatuses = []string{"queued", "ongoing", "ended", "error", "canceled", "not_connected"}
	allTypes    = []string{"web", "phone", "inbound", "outbound", "api"}
)

// defaultLimit is how many items a page has that asked for no number. The
// contract does not say.
const defaultLimit = 50

// paging is what one request for a page of any list asks for.
type paging struct {
	cursor    string
	limit     int
	ascending bool
}

// set takes a parameter; known is false if it is none of paging.
func (p *paging) set(name, value string) (known bool, r *refusal) {
	var err error
	switch name {
	case "cursor":
		p.cursor = value
	case "limit":
		if p.limit, err = strconv.Atoi(value); err != nil || p.limit < 1 || p.limit > 100 {
			return true, refuse("limit must be an integer from 1 to 100")
		}
	case "sort_order":
		if value != "asc" && value != "desc" {
			return true, refuse("sort_order must be asc or desc")
		}
		p.ascending = value == "asc"
	default:
		return false, nil
	}
	return true, nil
}

// query is what one request for a page of calls asks for.
type query struct {
	paging
	after      int64               // start_at_after: calls that start later than this
	before     int64               // start_at_before: calls that start earlier than this
	inclusive  bool                // or at the same time
	offset     bool                // cursors count items from the top
	timed      bool                // one of the two is given: calls without a start are left out
	attributes map[string][]string // the other parameters, by name: what may be there
	duration   *span               // in ms; only v2 has it

	campaign *world.Campaign // that campaign_id names
	phones   []string        // of whom customer_id names
}

// span is a range of numbers, both ends included.
type span struct{ least, most int64 }

// newQuery asks for every call.
func newQuery(limit int) *query {
	return &query{paging: paging{limit: limit}, after: -1 << 62, before: 1 << 62, attributes: map[string][]string{}}
}

// refusal is an answer of 400.
type refusal struct {
	message string
	details string // JSON; empty for {}
}

func refuse(format string, args ...any) *refusal {
	return &refusal{message: fmt.Sprintf(format, args...)}
}

// parseQuery reads the parameters of a page, as strict as the service: each at
// most once, none unknown, none empty.
func parseQuery(raw string, opts *Options) (*query, *refusal) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, refuse("the query string is malformed")
	}
	allowed := allowedParameters
	switch {
	case opts.ContractOnly:
		allowed = contractParameters
	case opts.OldFilters:
		allowed = allowedParameters[:len(allowedParameters)-len(newerParameters)]
	}
	for name := range values {
		if !slices.Contains(allowed, name) {
			return nil, refuseParameter(name, allowed)
		}
	}
	q := newQuery(defaultLimit)
	q.offset, q.inclusive = opts.OffsetPaging, opts.InclusiveBounds
	for name, all := range values {
		if len(all) != 1 || all[0] == "" {
			return nil, refuse("%s must have exactly one value", name)
		}
		if r := q.set(name, all[0]); r != nil {
			return nil, r
		}
	}
	return q, nil
}

func refuseParameter(name string, allowed []string) *refusal {
	details := []byte(`{"allowed_query_parameters":[`)
	for i, a := range allowed {
		if i > 0 {
			details = append(details, ',')
		}
		details = wire.AppendString(details, a)
	}
	return &refusal{fmt.Sprintf("unknown query parameter %q", name), string(append(details, "]}"...))}
}

func (q *query) set(name, value string) *refusal {
	if known, r := q.paging.set(name, value); known {
		return r
	}
	var err error
	switch name {
	case "start_at_after":
		q.timed = true
		if q.after, err = strconv.ParseInt(value, 10, 64); err != nil {
			return refuse("start_at_after must be an integer of unix milliseconds")
		}
	case "start_at_before":
		q.timed = true
		if q.before, err = strconv.ParseInt(value, 10, 64); err != nil {
			return refuse("start_at_before must be an integer of unix milliseconds")
		}
	case "status":
		if !slices.Contains(allStatuses, value) {
			return refuse("status must be one of %v", allStatuses)
		}
	case "call_type":
		if !slices.Contains(allTypes, value) {
			return refuse("call_type must be one of %v", allTypes)
		}
	}
	if slices.Contains(attributeParameters, name) {
		q.attributes[name] = []string{value}
	}
	return nil
}

// matches reports whether v has the attributes asked for. Its start is not
// looked at.
func (q *query) matches(w *world.World, v *world.View) bool {
	if d := q.duration; d != nil && (!v.Over || v.EndAt-v.StartAt < d.least || v.EndAt-v.StartAt > d.most) {
		return false
	}
	for name, want := range q.attributes {
		var is string
		switch name {
		case "status":
			is = v.Status
		case "call_type":
			is = v.Type
		case "agent_id":
			is = v.Agent.ID.String()
		case "disconnection_reason":
			is = v.Reason
		case "call_from":
			is = v.From()
		case "call_to":
			is = v.To()
		case "campaign_id":
			if q.campaign != nil && w.CampaignOf(&v.Call) == q.campaign {
				is = want[0]
			}
		case "customer_id":
			if slices.Contains(q.phones, v.From()) || slices.Contains(q.phones, v.To()) {
				is = want[0]
			}
		case "user_sentiment":
			is = v.Sentiment
		}
		if !slices.Contains(want, is) {
			return false
		}
	}
	return true
}

// fingerprint is a number that differs between queries whose lists differ, the
// position and size of the page apart.
func (q *query) fingerprint(key uint64) uint64 {
	h := dice.Hash(key, uint64(q.after))
	h = dice.Hash(h, uint64(q.before))
	if q.ascending {
		h = dice.Hash(h, 1)
	}
	if q.duration != nil {
		h = dice.Hash(dice.Hash(h, uint64(q.duration.least)), uint64(q.duration.most))
	}
	for _, name := range slices.Sorted(maps.Keys(q.attributes)) {
		for _, s := range slices.Concat([]string{name}, q.attributes[name]) {
			h = dice.Hash(h, uint64(len(s)))
			for i := range len(s) {
				h = dice.Hash(h, uint64(s[i]))
			}
		}
	}
	return h
}
