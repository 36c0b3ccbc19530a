package sandbox

import (
	"io"
	"net/http"
	"strings"

	"callhouse/internal/sandbox/organisation"
	"callhouse/internal/sandbox/service"
	"callhouse/internal/sandbox/wire"
)

// maxBody is how long a body may be. The contract does not say.
const maxBody = 4 << 20

// decode reads the body of a request and holds it to its schema; if ok is false, the answer
// says why not.
func (e *exchange) decode() (body organisation.Object, a answer, ok bool) {
	text, err := io.ReadAll(http.MaxBytesReader(nil, e.r.Body, maxBody))
	if err != nil {
		return nil, e.refuse("", "cannot read the body: "+err.Error()), false
	}
	value, flaw := e.op.ReadBody(text)
	if flaw != nil {
		return nil, e.refuse(strings.Join(flaw.Place, "."), flaw.Reason), false
	}
	return value.(organisation.Object), answer{}, true // no schema takes anything else
}

// refuse is an answer to a body that is not valid: v3 names the field in the details of
// the envelope, v2 in detail.
func (e *exchange) refuse(field, reason string) answer {
	if e.x.v2 {
		return invalid(field, reason)
	}
	message, details := reason, []byte("{}")
	if field != "" {
		message = field + ": " + reason
		details = wire.AppendString([]byte(`{"field":`), field)
		details = append(wire.AppendString(append(details, `,"reason":`...), reason), '}')
	}
	return failure(e.x, http.StatusBadRequest, message, string(details))
}

// answerWrite answers by letting the service do it.
func (s *api) answerWrite(e *exchange) answer {
	body, a, ok := e.decodeWrite()
	if !ok {
		return a
	}
	o, problem := s.service.Do(e.op.ID, s.opts.Now(), e.req.ID, body)
	if problem != nil {
		return e.problem(problem)
	}
	if e.op.Answer == "CampaignResponseV2" {
		o = s.campaignV2(o)
	}
	a = objectAnswer(o)
	a.status = e.op.Good()
	return a
}

// decodeWrite is decode for an operation that may have no body, and has no parameters.
func (e *exchange) decodeWrite() (body organisation.Object, a answer, ok bool) {
	if values := e.r.URL.Query(); len(values) > 0 {
		return nil, e.no(check(e.op, values, nil)), false
	}
	if e.op.Body == "" {
		return nil, answer{}, true
	}
	return e.decode()
}

// problem is the answer to what was not done.
func (e *exchange) problem(p *service.Problem) answer {
	switch p.Kind {
	case service.Invalid:
		return e.refuse(p.Field, p.Reason)
	case service.Conflict:
		return failure(e.x, http.StatusConflict, p.Reason, "")
	case service.Unavailable:
		return failure(e.x, http.StatusServiceUnavailable, p.Reason, "")
	}
	if e.x.v2 && p.Field != "" {
		return detail(http.StatusNotFound, []string{"path", p.Field}, p.Reason, "not_found")
	}
	return failure(e.x, http.StatusNotFound, p.Reason, "")
}
