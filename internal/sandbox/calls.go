package sandbox

import (
	"net/http"
	"strconv"

	"callhouse/internal/sandbox/dice"
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

// failure is an answer in the error envelope.
func failure(x *scratch, status int, message, details string) answer {
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

// answer works out what a request that is let in gets.
func (s *Server) answer(r *http.Request, req Request, x *scratch, fault FaultKind, number int64) answer {
	switch {
	case req.Kind == "other":
		return failure(x, http.StatusNotFound, "no such resource", "")
	case req.Kind == "bulk":
		return s.answerBulk(r, req, x, fault, number)
	case req.Resource == v2Campaigns || req.Resource == v2Knowledges:
		return s.answerV2(r, req, x)
	case req.Resource != "":
		return s.answerResource(r, req, x, fault, number)
	case r.Method != http.MethodGet:
		return wrongMethod(r, x, http.MethodGet)
	case req.Kind == "page":
		return s.answerPage(r, x, fault, number)
	}
	return s.answerDetail(r, req.ID, x)
}

func (s *Server) answerPage(r *http.Request, x *scratch, fault FaultKind, number int64) answer {
	q, refusal := parseQuery(r.URL.RawQuery, &s.opts)
	if refusal == nil && fault == FaultExpired && q.cursor != "" {
		refusal = refuse("cursor has expired")
	}
	var p *page[world.View]
	if refusal == nil {
		p, refusal = s.list.page(q, s.Now().UnixMilli())
	}
	if refusal != nil {
		return failure(x, http.StatusBadRequest, refusal.message, refusal.details)
	}
	p.distort(fault, dice.Hash(s.world.Key+6, uint64(number)), q.cursor, q.offset, func() (v world.View, ok bool) {
		if q.cursor == "" || q.ascending || len(q.attributes) > 0 || q.timed {
			return v, false
		}
		before, ok := s.world.View(p.items[0].Index+1, s.Now())
		if ok {
			v = *before
		}
		return v, ok
	})
	x.body = s.appendPage(x.body[:0], &x.renderer, p)
	return answer{status: http.StatusOK, body: x.body}
}

func (s *Server) appendPage(b []byte, r *render.Renderer, p *page[world.View]) []byte {
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

func (s *Server) answerDetail(r *http.Request, id string, x *scratch) answer {
	values := r.URL.Query()
	for name := range values {
		refusal := refuseParameter(name, nil)
		return failure(x, http.StatusBadRequest, refusal.message, refusal.details)
	}
	v, ok := s.world.Find(id, s.Now())
	if !ok {
		return failure(x, http.StatusNotFound, "there is no such call", "")
	}
	x.body = s.withCampaign(x.renderer.Detail(x.body[:0], v), v)
	return answer{status: http.StatusOK, body: x.body, view: v}
}

// withCampaign adds campaign_id to a call's JSON where the service has it there.
func (s *Server) withCampaign(b []byte, v *world.View) []byte {
	if !s.opts.CampaignInCalls {
		return b
	}
	id := ""
	if c := s.world.CampaignOf(&v.Call); c != nil {
		id = organisation.CampaignID(c)
	}
	b = append(b[:len(b)-1], `,"campaign_id":`...)
	return append(wire.AppendOptional(b, id), '}')
}
