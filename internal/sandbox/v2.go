package sandbox

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"callhouse/internal/sandbox/organisation"
)

// What v2 has of an organisation: other names, times as ISO 8601, a body instead of
// query parameters. These are their names in Request.Resource and ResourceFaults.
const (
	v2Agents     = "v2_agents"
	v2Campaigns  = "v2_campaigns"
	v2Knowledges = "v2_knowledges"
)

// invalid is an answer of v2 to what it does not understand. The field may be one
// of an object in the body, as in "filter_criteria.duration", or empty.
func invalid(field, message string) answer {
	loc := []string{"body"}
	if field != "" {
		loc = append(loc, strings.Split(field, ".")...)
	}
	return detail(http.StatusUnprocessableEntity, loc, message, "value_error")
}

// detail is an answer of v2 about one place in a request.
func detail(status int, loc []string, message, kind string) answer {
	a := objectAnswer(map[string]any{"detail": []any{map[string]any{"loc": loc, "msg": message, "type": kind}}})
	a.status = status
	return a
}

// denied is an answer of v2 without anything asked for.
func denied(status int, detail string) answer {
	a := objectAnswer(map[string]any{"detail": detail})
	a.status = status
	return a
}

// thresholds is a range, both ends included.
type thresholds struct {
	Upper *int64 `json:"upper_threshold"`
	Lower *int64 `json:"lower_threshold"`
}

// listing is what the body of a list of v2 may hold. F is its filter.
type listing[F any] struct {
	Filter F       `json:"filter_criteria"`
	Order  string  `json:"sort_order"`
	Limit  int     `json:"limit"`
	Key    *string `json:"pagination_key"`
}

// readListing reads the body of a request; if ok is false, the answer says why not.
func readListing[F any](e *exchange) (body listing[F], a answer, ok bool) {
	body.Order, body.Limit = "descending", defaultLimit
	a, ok = e.decode(&body)
	return body, a, ok
}

// getV2 answers with an object of a resource as v2 shows it.
func getV2(name string, show func(*api, organisation.Object) map[string]any) handler {
	return func(s *api, e *exchange) answer {
		o := s.organisation.Find(organisation.Named(name), "", e.req.ID, s.opts.Now())
		if o == nil {
			return denied(http.StatusNotFound, "there is no such object")
		}
		return objectAnswer(show(s, o))
	}
}

// listV2 answers the lists of campaigns and of agents. That of agents has the form of the
// others, but takes fewer filters.
func listV2(name string, agentOf func(organisation.Object) string, show func(*api, organisation.Object) map[string]any) handler {
	return func(s *api, ask *exchange) answer {
		body, refused, ok := readListing[struct {
			Status []string   `json:"status"`
			Agent  []string   `json:"agent_id"`
			Start  thresholds `json:"start_timestamp"`
		}](ask)
		if !ok {
			return refused
		}
		f := &body.Filter
		q := &objectQuery{resource: organisation.Named(name), sortBy: "created_at", keyed: true, keeps: func(e entry) bool {
			at := e.Object["created_at"].(int64)
			return (len(f.Status) == 0 || slices.Contains(f.Status, fmt.Sprint(e.Object["status"]))) &&
				(len(f.Agent) == 0 || slices.Contains(f.Agent, agentOf(e.Object))) &&
				(f.Start.Lower == nil || at >= milliseconds(*f.Start.Lower)) && (f.Start.Upper == nil || at <= milliseconds(*f.Start.Upper))
		}}
		q.ascending, q.limit = body.Order == "ascending", body.Limit
		if body.Key != nil {
			q.cursor = cmp.Or(*body.Key, " ") // an empty one is the id of none, too
		}
		p, refusal := s.objects(q)
		if refusal != nil {
			return invalid("pagination_key", refusal.message)
		}
		if ask.wrong.has(ResourceEmpty) {
			p.items, p.next, p.total = nil, "", 0
		}
		items := make([]any, len(p.items))
		for i, e := range p.items {
			items[i] = show(s, e.Object)
		}
		return objectAnswer(map[string]any{name: items, "next_cursor": orNull(p.next), "total_count": p.total})
	}
}

// orNull is a text, or null where it is empty.
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func agentID(o organisation.Object) string { return fmt.Sprint(o["id"]) }

func campaignAgent(o organisation.Object) string {
	return fmt.Sprint(o["agent"].(organisation.Object)["agent_id"])
}

// agentV2 is an agent as v2 shows it.
func agentV2(_ *api, a organisation.Object) map[string]any {
	return map[string]any{"agent_id": a["id"], "agent_name": a["name"]}
}

// campaignV2 is a campaign as v2 shows it.
func (s *api) campaignV2(c organisation.Object) map[string]any {
	o := map[string]any{"organization_id": s.organisation.ID(), "agent_version": nil}
	for name, value := range c {
		if ms, ok := value.(int64); ok && strings.HasSuffix(name, "_at") {
			value = time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z07:00")
		}
		o[name] = value
	}
	agent := c["agent"].(organisation.Object)
	if version, ok := agent["agent_version"].(string); ok {
		if n, err := strconv.Atoi(strings.TrimPrefix(version, "v")); err == nil {
			o["agent_version"] = n
		}
	}
	o["agent_id"] = agent["agent_id"]
	delete(o, "agent")
	return o
}

// knowledgeV2 is a knowledge base with its documents, as v2 shows it.
func (s *api) knowledgeV2(k organisation.Object) map[string]any {
	id := fmt.Sprint(k["id"])
	documents := []any{}
	for _, e := range s.organisation.List(organisation.Named("knowledge_documents"), id, s.opts.Now()) {
		documents = append(documents, map[string]any{
			"knowledge_document_id": e.ID, "knowledge_document_name": e.Object["name"], "knowledge_document_type": e.Object["document_type"],
		})
	}
	return map[string]any{"knowledge_base_id": id, "knowledge_base_name": k["name"], "knowledge_documents": documents}
}
