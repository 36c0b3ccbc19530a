package sandbox

import (
	"bytes"
	"net/http"

	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/organisation"
	"callhouse/internal/sandbox/wire"
	"callhouse/internal/sandbox/world"
)

func (s *api) answerPage(e *exchange) answer {
	x := e.x
	q, refusal := parseQuery(e.op, e.r.URL.RawQuery, s.opts)
	if refusal == nil && e.fault == FaultExpired && q.cursor != "" {
		refusal = refuse("cursor has expired")
	}
	var p *page[world.View]
	if refusal == nil {
		p, refusal = s.list.page(q, s.opts.Now().UnixMilli())
	}
	if refusal != nil {
		return e.no(refusal)
	}
	lists := &s.opts.Lists
	if lists.None && p.total == 0 && len(p.items) == 0 {
		a := e.fail(http.StatusNotFound, "the filters match no calls")
		a.body = bytes.Replace(a.body, []byte("NOT_FOUND"), []byte("NO_CALLS_FOUND"), 1)
		return a
	}
	lists.distort(p, q.cursor)
	p.distort(e.fault, dice.Hash(s.world.Key+6, uint64(e.number)), q.cursor, q.offset, func() (v world.View, ok bool) {
		if q.cursor == "" || q.ascending || len(q.attributes) > 0 || q.timed {
			return v, false
		}
		before, ok := s.world.View(p.items[0].Index+1, s.opts.Now())
		if ok = ok && p.items[0].Index >= 0; ok {
			v = *before
		}
		return v, ok
	})
	x.body = p.write(x.body[:0], "items", "next_cursor", func(b []byte, v *world.View) []byte {
		if s.opts.ThinList {
			return x.renderer.Thin(b, v)
		}
		return s.withCampaign(x.renderer.Item(b, v), v)
	})
	return answer{status: http.StatusOK, body: x.body}
}

// answerCreateCall creates a call, in v3 and in v2.
func (s *api) answerCreateCall(e *exchange) answer {
	modes := s.trouble.modes(false)
	if e.v2 && modes.Off != 0 {
		return e.fail(modes.Off, "calls are not served here")
	}
	body, a, ok := e.decodeWrite()
	if !ok {
		return a
	}
	o, problem := s.organisation.Do(e.op.ID, s.opts.Now(), "", body)
	if problem != nil {
		return e.problem(problem)
	}
	if e.v2 {
		return objectAnswer(o)
	}
	v, ok := s.world.Find(o["id"].(string), s.opts.Now())
	if !ok {
		panic("sandbox: a created call is missing")
	}
	e.x.body = s.withCampaign(e.x.renderer.Detail(e.x.body[:0], v), v)
	return answer{status: http.StatusCreated, body: e.x.body}
}

func (s *api) answerDetail(e *exchange) answer {
	x := e.x
	for name := range e.r.URL.Query() {
		return e.no(refuseParameter(name, nil))
	}
	v, ok := s.world.Find(e.req.ID, s.opts.Now())
	if !ok || !v.Record {
		return e.fail(http.StatusNotFound, "no such call")
	}
	x.body = s.withCampaign(x.renderer.Detail(x.body[:0], v), v)
	switch {
	case v.Form.Huge:
		body := append(x.body[:len(x.body)-1], `,"trace":"`...)
		return answer{status: http.StatusOK, body: append(append(body, bytes.Repeat([]byte("A"), 9<<20)...), `"}`...)}
	case v.Form.Broken:
		return answer{status: http.StatusOK, body: x.body[:len(x.body)/2]}
	}
	return answer{status: http.StatusOK, body: x.body, view: v}
}

// withCampaign appends campaign_id to a call's JSON if the option is set.
func (s *api) withCampaign(b []byte, v *world.View) []byte {
	if !s.opts.CampaignInCalls {
		return b
	}
	id := ""
	if c := s.world.CampaignOf(&v.Call); c != nil {
		id = organisation.CampaignID(c)
	} else if v.Order != nil {
		id = v.Order.Campaign
	}
	b = append(b[:len(b)-1], `,"campaign_id":`...)
	return append(wire.AppendOptional(b, id), '}')
}
