package sandbox

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"callhouse/internal/sandbox/organisation"
)

// listing is the body of a request for a list of v2.
type listing struct {
	paging
	texts map[string][]string // allowed values by field; not empty
	start *span               // in ms; nil: any
	lasts *span               // nil: any; in ms, as the contract specifies no unit
	first bool                // it requests the first page
}

// readListing reads a request's body; if ok is false, a is the error answer.
func readListing(e *exchange) (l listing, a answer, ok bool) {
	body, a, ok := e.decode()
	if !ok {
		return l, a, false
	}
	l.limit, l.ascending = defaultLimit, body["sort_order"] == "ascending"
	if n, ok := body["limit"].(int64); ok {
		l.limit = int(n)
	}
	l.cursor, ok = body["pagination_key"].(string)
	l.first, l.texts = !ok, map[string][]string{}
	filter, _ := body["filter_criteria"].(organisation.Object)
	for name, value := range filter {
		all, _ := value.([]any)
		for _, text := range all {
			l.texts[name] = append(l.texts[name], fmt.Sprint(text))
		}
	}
	l.start, l.lasts = readSpan(filter["start_timestamp"], milliseconds), readSpan(filter["duration"], func(n int64) int64 { return n })
	return l, answer{}, true
}

// readSpan reads an inclusive range; nil for none.
func readSpan(value any, of func(int64) int64) *span {
	thresholds, _ := value.(organisation.Object)
	s, given := &span{-1 << 62, 1 << 62}, false
	for name, into := range map[string]*int64{"lower_threshold": &s.least, "upper_threshold": &s.most} {
		if n, ok := thresholds[name].(int64); ok {
			*into, given = of(n), true
		}
	}
	if !given {
		return nil
	}
	return s
}

// milliseconds converts an instant to ms: up to ten digits are seconds.
func milliseconds(instant int64) int64 {
	if instant > -1e10 && instant < 1e10 {
		return instant * 1000
	}
	return instant
}

// getV2 returns a handler for an object of a resource in v2's form.
func getV2(name string, show func(*api, organisation.Object) map[string]any) handler {
	return func(s *api, e *exchange) answer {
		o := s.organisation.Find(organisation.Named(name), "", e.req.ID, s.opts.Now())
		if o == nil {
			return e.fail(http.StatusNotFound, "no such object")
		}
		return objectAnswer(show(s, o))
	}
}

// listV2 returns a handler for the list of campaigns or agents. Agents support fewer filters.
func listV2(name string, agentOf func(organisation.Object) string, show func(*api, organisation.Object) map[string]any) handler {
	return func(s *api, e *exchange) answer {
		l, refused, ok := readListing(e)
		if !ok {
			return refused
		}
		if l.cursor == "" && !l.first {
			l.cursor = " " // an empty key is given, which names no object
		}
		has := func(field, value string) bool {
			return l.texts[field] == nil || slices.Contains(l.texts[field], value)
		}
		q := &objectQuery{paging: l.paging, resource: organisation.Named(name), sortBy: "created_at", keyed: true, matches: func(o entry) bool {
			at := o.Object["created_at"].(int64)
			return has("status", fmt.Sprint(o.Object["status"])) && has("agent_id", agentOf(o.Object)) &&
				(l.start == nil || at >= l.start.least && at <= l.start.most)
		}}
		p, refusal := s.objects(q)
		if refusal != nil {
			return e.refuse("pagination_key", refusal.message)
		}
		if slices.Contains(e.wrong, ResourceEmpty) {
			p.items, p.next, p.total = nil, "", 0
		}
		items := make([]any, len(p.items))
		for i, e := range p.items {
			items[i] = show(s, e.Object)
		}
		return objectAnswer(map[string]any{name: items, "next_cursor": orNull(p.next), "total_count": p.total})
	}
}

func agentID(o organisation.Object) string { return fmt.Sprint(o["id"]) }

func campaignAgent(o organisation.Object) string {
	return fmt.Sprint(o["agent"].(organisation.Object)["agent_id"])
}

// agentV2 returns an agent in v2's form.
func agentV2(_ *api, a organisation.Object) map[string]any {
	return map[string]any{"agent_id": a["id"], "agent_name": a["name"]}
}

// campaignV2 returns a campaign in v2's form.
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

// knowledgeV2 returns a knowledge base with its documents, in v2's form.
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
