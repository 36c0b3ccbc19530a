package sandbox

import (
	"net/http"
	"strings"

	"callhouse/internal/sandbox/operation"
)

// handlers are by the name of the operation, or by kind for operations with a common handler.
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

// handlerOf returns the handler of an operation; nil for none.
func handlerOf(o *operation.Operation) handler {
	if h := handlers[o.ID]; h != nil {
		return h
	}
	return handlers[o.Kind]
}

// faulty applies the faults of the resource before h.
func faulty(h handler) handler {
	return func(s *api, e *exchange) answer {
		e.wrong = s.trouble.of(e.req.Resource)
		if status := statusOf(e.wrong, e.req.Kind); status != 0 {
			return e.fail(status, "injected fault")
		}
		return h(s, e)
	}
}

// answer returns the answer to an admitted request.
func (s *api) answer(e *exchange) answer {
	if e.op == nil {
		return e.fail(http.StatusNotFound, "no such resource")
	}
	if e.allowed != nil {
		a := e.fail(http.StatusMethodNotAllowed, e.r.Method+" is not allowed here")
		a.header = [2]string{"Allow", strings.Join(e.allowed, ", ")}
		return a
	}
	return handlerOf(e.op)(s, e)
}

// answerWrite passes a write to the organisation.
func (s *api) answerWrite(e *exchange) answer {
	body, a, ok := e.decodeWrite()
	if !ok {
		return a
	}
	o, problem := s.organisation.Do(e.op.ID, s.opts.Now(), e.req.ID, body)
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
