package sandbox

import (
	"net/http"
	"strconv"
	"strings"

	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/operation"
	"callhouse/internal/sandbox/organisation"
	"callhouse/internal/sandbox/render"
	"callhouse/internal/sandbox/wire"
	"callhouse/internal/sandbox/world"
)

// codes are the values of error.code, by status. The contract names only
// RATE_LIMIT_EXCEEDED.
var codes = map[int]string{
	400: "VALIDATION_ERROR", 401: "UNAUTHORIZED", 403: "FORBIDDEN", 404: "NOT_FOUND",
	405: "METHOD_NOT_ALLOWED", 409: "CONFLICT", 429: "RATE_LIMIT_EXCEEDED",
	500: "INTERNAL_ERROR", 503: "SERVICE_UNAVAILABLE",
}

// failure is an answer in the error envelope, or in v2 as detail.
func failure(x *scratch, status int, message, details string) answer {
	if x.v2 {
		return denied(status, message)
	}
	if details == "" {
		details = "{}"
	}
	b := append(x.body[:0], `{"error":{"code":"`...)
	b = append(b, codes[status]...)
	b = append(b, `","message":`...)
	b = wire.AppendString(b, message)
	b = append(b, `,"details":`...)
	b = append(b, details...)
	x.body = append(b, "}}"...)
	return answer{status: status, body: x.body}
}

// handler answers an operation.
type handler func(*api, *exchange) answer

// handlers are by the operation's name, or by its kind for all operations that are alike.
var handlers = map[string]handler{
	"listCalls":       (*api).answerPage,
	"getCall":         (*api).answerDetail,
	"createCall":      (*api).answerCreateCall,
	"createCallV2":    (*api).answerCreateCall,
	"listCallsV2":     (*api).answerBulk,
	"listCallsLegacy": (*api).answerBulk,
	"getCallV2":       (*api).answerBulk,
	"listAgentsV2":    faulty(listV2("agents", agentID, agentV2)),
	"listCampaignsV2": faulty(listV2("campaigns", campaignAgent, (*api).campaignV2)),
	"getCampaignV2":   faulty(getV2("campaigns", (*api).campaignV2)),
	"getKnowledgeV2":  faulty(getV2("knowledges", (*api).knowledgeV2)),

	"list":   faulty((*api).answerList),
	"object": faulty((*api).answerObject),
	"write":  faulty((*api).answerWrite),
}

// handlerOf returns what answers an operation; nil for none.
func handlerOf(o *operation.Operation) handler {
	if h := handlers[o.ID]; h != nil {
		return h
	}
	return handlers[o.Kind]
}

// faulty lets a handler answer for a resource unless its faults do.
func faulty(h handler) handler {
	return func(s *api, e *exchange) answer {
		e.wrong = s.trouble.of(e.req.Resource)
		if status := statusOf(e.wrong, e.req.Kind); status != 0 {
			return failure(e.x, status, "injected fault", "")
		}
		return h(s, e)
	}
}

// answer works out what a request that is let in gets.
func (s *api) answer(e *exchange) answer {
	if e.op == nil {
		return failure(e.x, http.StatusNotFound, "no such resource", "")
	}
	if e.allowed != nil {
		a := failure(e.x, http.StatusMethodNotAllowed, e.r.Method+" is not allowed here", "")
		a.header = [2]string{"Allow", strings.Join(e.allowed, ", ")}
		return a
	}
	return handlerOf(e.op)(s, e)
}

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
	x.body = s.appendPage(x.body[:0], &x.renderer, p)
	return answer{status: http.StatusOK, body: x.body}
}

// answerCreateCall makes a call, in v3 and in v2.
func (s *api) answerCreateCall(e *exchange) answer {
	modes := s.trouble.modes(false)
	if e.x.v2 && modes.Off != 0 {
		return denied(modes.Off, "calls are not served here")
	}
	body, a, ok := e.decodeWrite()
	if !ok {
		return a
	}
	o, problem := s.service.Do(e.op.ID, s.opts.Now(), "", body)
	if problem != nil {
		return e.problem(problem)
	}
	if e.x.v2 {
		return objectAnswer(o)
	}
	v, ok := s.world.Find(o["id"].(string), s.opts.Now())
	if !ok {
		panic("sandbox: a call that was made is not there")
	}
	e.x.body = s.withCampaign(e.x.renderer.Detail(e.x.body[:0], v), v)
	return answer{status: http.StatusCreated, body: e.x.body}
}

func (s *api) appendPage(b []byte, r *render.Renderer, p *page[world.View]) []byte {
	b = append(b, `{"items":[`...)
	for i := range p.items {
		if i > 0 {
			b = append(b, ',')
		}
		if s.opts.ThinList {
			b = r.Thin(b, &p.items[i])
		} else {
			b = s.withCampaign(r.Item(b, &p.items[i]), &p.items[i])
		}
	}
	b = append(b, `],"next_cursor":`...)
	b = wire.AppendOptional(b, p.next)
	b = append(b, `,"total_count":`...)
	b = strconv.AppendInt(b, p.total, 10)
	return append(b, '}')
}

func (s *api) answerDetail(e *exchange) answer {
	x := e.x
	for name := range e.r.URL.Query() {
		return e.no(refuseParameter(name, nil))
	}
	v, ok := s.world.Find(e.req.ID, s.opts.Now())
	if !ok {
		return failure(x, http.StatusNotFound, "there is no such call", "")
	}
	x.body = s.withCampaign(x.renderer.Detail(x.body[:0], v), v)
	return answer{status: http.StatusOK, body: x.body, view: v}
}

// withCampaign adds campaign_id to a call's JSON where the service has it there.
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
