package sandbox

import (
	"net/http"

	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/render"
	"callhouse/internal/sandbox/world"
)

// The operations on v2's calls: the list of complete calls, the same at its older path, and one
// call. These are their names in Request.Resource.
const (
	v2Calls  = "v2_calls"
	v2Legacy = "v2_calls_legacy"
	v2Call   = "v2_call"
)

// answerBulk answers a request for v2's calls.
func (s *api) answerBulk(e *exchange) answer {
	req, x := e.req, e.x
	modes := s.trouble.modes(req.Resource != v2Call)
	switch {
	case modes.Off != 0:
		return e.fail(modes.Off, "calls are not served here")
	case modes.OtherShape:
		return objectAnswer(map[string]any{"success": true, "data": map[string]any{"items": []any{}, "count": 0}})
	}
	if req.Resource == v2Call {
		v, ok := s.list2.world.Find(req.ID, s.opts.Now())
		if !ok {
			return e.fail(http.StatusNotFound, "no such call")
		}
		x.body = x.renderer.FormV2(x.body[:0], v, modes.form(&v.Call, true))
		return answer{status: http.StatusOK, body: x.body}
	}
	l, refused, ok := readListing(e)
	switch {
	case !ok:
		return refused
	case modes.Refused:
		return e.refuse("filter_criteria", "the filter is not supported")
	}
	if modes.PageMost > 0 {
		l.limit = min(l.limit, modes.PageMost)
	}
	q := newQuery(l.limit)
	q.paging, q.attributes, q.duration = l.paging, l.texts, l.lasts
	q.inclusive, q.offset = true, modes.Shift
	if l.start != nil && !modes.IgnoreStart {
		q.timed, q.after, q.before = true, l.start.least, l.start.most
	}
	if e.fault == FaultExpired && q.cursor != "" {
		return e.refuse("pagination_key", "pagination_key is no longer valid")
	}
	p, refusal := s.list2.page(q, s.opts.Now().UnixMilli())
	if refusal != nil {
		return e.refuse("pagination_key", refusal.message)
	}
	if e.fault != FaultEmpty { // the next key is the id of a call on the page, so the page must not be empty
		p.distort(e.fault, dice.Hash(s.world.Key+6, uint64(e.number)), q.cursor, q.offset, func() (v world.View, ok bool) { return v, false })
	}
	next := "next_cursor"
	if req.Resource == v2Legacy {
		next = "next_pagination_key"
	}
	x.body = p.write(x.body[:0], "calls", next, func(b []byte, v *world.View) []byte {
		return x.renderer.FormV2(b, v, modes.form(&v.Call, false))
	})
	return modes.slow(answer{status: http.StatusOK, body: x.body}, len(p.items), e)
}

// wrong returns the draw for the error in a call's transcript; 0 for none.
func (v *V2) wrong(c *world.Call) uint64 {
	agent, user, _, _ := c.Items()
	if h := dice.Hash(c.Key, 31); agent+user > 0 && !c.OptedOut && dice.Unit(h) < v.WrongTurns {
		return dice.Mix(h) | 1<<63
	}
	return 0
}

// form returns the form in which a call is rendered.
func (v *V2) form(c *world.Call, single bool) render.V2Form {
	return render.V2Form{Single: single, Wrong: v.wrong(c), SpokenOnly: v.SpokenOnly, Twice: v.DuplicateKeys}
}

// slow returns a page, or its failure if the page has too many calls.
func (v *V2) slow(page answer, calls int, e *exchange) answer {
	if v.SlowAbove == 0 || calls <= v.SlowAbove {
		return page
	}
	switch v.Slow {
	case "500":
		return e.fail(http.StatusInternalServerError, "the page is too large")
	case "504":
		return webAnswer(http.StatusGatewayTimeout, "504 Gateway Time-out")
	case "cut":
		page.end = FaultCut
	default:
		page.end = FaultHang
	}
	return page
}
