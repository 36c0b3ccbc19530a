package sandbox

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"

	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/operation"
	"callhouse/internal/sandbox/world"
)

// newerParameters are parameters that the list of calls gained later.
var newerParameters = []string{"campaign_id", "customer_id"}

// defaultLimit is the page size if none is requested. The contract does not specify one.
const defaultLimit = 50

// paging holds the paging parameters of any list.
type paging struct {
	cursor    string
	limit     int
	ascending bool
}

// set sets a validated parameter; known is false if it is not a paging parameter.
func (p *paging) set(name, value string) (known bool) {
	switch name {
	case "cursor":
		p.cursor = value
	case "limit":
		p.limit, _ = strconv.Atoi(value) // validated
	case "sort_order":
		p.ascending = value == "asc"
	default:
		return false
	}
	return true
}

// query is a request for a page of calls.
type query struct {
	paging
	after      int64               // start_at_after: only calls that start later
	before     int64               // start_at_before: only calls that start earlier
	inclusive  bool                // the bounds are inclusive
	offset     bool                // cursors are offsets from the top
	timed      bool                // a bound is given: calls without a start are excluded
	attributes map[string][]string // the other parameters: allowed values by name
	duration   *span               // in ms; only v2 has it

	behind   *int64          // the last call of the page before
	campaign *world.Campaign // named by campaign_id
	phones   []string        // of the customer named by customer_id
}

// span is an inclusive range of numbers.
type span struct{ least, most int64 }

// newQuery returns a query for all calls.
func newQuery(limit int) *query {
	return &query{paging: paging{limit: limit}, after: -1 << 62, before: 1 << 62, attributes: map[string][]string{}}
}

// parse parses the parameters of a list as strictly as the service: duplicate, unknown and empty
// ones are refused.
func parse(op *operation.Operation, raw string, allowed []string) (url.Values, *refusal) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, refuse("the query string is malformed")
	}
	return values, checkQuery(op, values, allowed)
}

// parseQuery parses the parameters of a page of calls.
func parseQuery(op *operation.Operation, raw string, opts *Options) (*query, *refusal) {
	allowed := op.Parameters(opts.ContractOnly)
	if opts.OldFilters {
		allowed = slices.DeleteFunc(allowed, func(name string) bool { return slices.Contains(newerParameters, name) })
	}
	values, refusal := parse(op, raw, allowed)
	if refusal != nil {
		return nil, refusal
	}
	q := newQuery(defaultLimit)
	q.offset, q.inclusive = opts.OffsetPaging, opts.InclusiveBounds
	for name, all := range values {
		q.set(name, all[0])
	}
	return q, nil
}

// checkQuery refuses parameters that are not allowed, and invalid values.
func checkQuery(op *operation.Operation, values url.Values, allowed []string) *refusal {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(allowed, name) {
			return refuseParameter(name, allowed)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if wrong := op.Parameter(name).Check(values[name]); wrong != "" {
			return refuse("%s", wrong)
		}
	}
	return nil
}

func refuseParameter(name string, allowed []string) *refusal {
	details := map[string]any{"allowed_query_parameters": append([]string{}, allowed...)} // an empty list, not null
	return &refusal{fmt.Sprintf("unknown query parameter %q", name), details}
}

func (q *query) set(name, value string) {
	switch {
	case q.paging.set(name, value):
	case name == "start_at_after":
		q.timed = true
		q.after, _ = strconv.ParseInt(value, 10, 64) // validated, as is the next one
	case name == "start_at_before":
		q.timed = true
		q.before, _ = strconv.ParseInt(value, 10, 64)
	default:
		q.attributes[name] = []string{value}
	}
}

// holds reports whether an ordered call is within the bounds and after the cursor.
func (q *query) holds(w *world.World, v *world.View) bool {
	least, most := q.after+1, q.before-1
	if q.inclusive {
		least, most = q.after, q.before
	}
	if q.timed && (!v.Started || v.Call.StartAt < least || v.Call.StartAt > most) {
		return false
	}
	return q.behind == nil || w.Compare(v.Index, *q.behind) < 0 != q.ascending && v.Index != *q.behind
}

// matches reports whether v has the requested attributes. It does not check the start.
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
			if of := w.CampaignOf(&v.Call); of != nil && q.campaign != nil && of.Number == q.campaign.Number {
				is = want[0]
			} else if v.Order != nil {
				is = v.Order.Campaign
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

// fingerprint returns a hash of everything that determines a query's list, except the position and
// page size.
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
			h = dice.Text(dice.Hash(h, uint64(len(s))), s)
		}
	}
	return h
}

// cursor is a position in a list. Clients see 43 opaque characters that cannot be forged.
type cursor struct {
	position int64 // the index of the last item; with offset paging, the number of items before
	issued   int64 // unix ms by the data's clock
}

// seal encodes a cursor for a list. It is valid only for that list, whose fingerprint is part of
// its signature.
func (c cursor) seal(key, list uint64) string {
	var b [32]byte
	sign := dice.Hash(dice.Hash(dice.Hash(key, uint64(c.position)), uint64(c.issued)), list)
	binary.BigEndian.PutUint64(b[0:], sign)
	binary.BigEndian.PutUint64(b[8:], uint64(c.position)^dice.Hash(key, sign))
	binary.BigEndian.PutUint64(b[16:], uint64(c.issued)^dice.Hash(key, sign+1))
	binary.BigEndian.PutUint64(b[24:], dice.Hash(key, sign+2))
	return base64.RawURLEncoding.EncodeToString(b[:])
}

var notOfThisList = refuse("cursor is not valid for this list")

// openCursor decodes a cursor written by seal if it is still valid at t.
func (o *Options) openCursor(text string, key, list uint64, t int64) (c cursor, _ *refusal) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) != 32 {
		return c, notOfThisList
	}
	sign := binary.BigEndian.Uint64(b)
	c.position = int64(binary.BigEndian.Uint64(b[8:]) ^ dice.Hash(key, sign))
	c.issued = int64(binary.BigEndian.Uint64(b[16:]) ^ dice.Hash(key, sign+1))
	switch {
	case c.seal(key, list) != text:
		return c, notOfThisList
	case o.CursorTTL > 0 && t-c.issued > o.CursorTTL.Milliseconds():
		return c, refuse("cursor has expired")
	}
	return c, nil
}
