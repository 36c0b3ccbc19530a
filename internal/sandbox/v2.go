package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"callhouse/internal/sandbox/organisation"
)

// What v2 has of an organisation: other names, times as ISO 8601, a body instead of
// query parameters. These are their names in Request.Resource and ResourceFaults.
const (
	v2Campaigns  = "v2_campaigns"
	v2Knowledges = "v2_knowledges"
)

// routeV2 finds what a path of v2 asks for; an empty name for nothing.
func routeV2(path string) (resource, id string) {
	switch path {
	case "/v2/campaigns/list":
		return v2Campaigns, ""
	case "/v2/calls/list":
		return v2Calls, ""
	case "/functions/v1/v1/list-calls":
		return v2Legacy, ""
	}
	for prefix, resource := range map[string]string{"/v2/campaigns/": v2Campaigns, "/v2/knowledge/": v2Knowledges, "/v2/calls/": v2Call} {
		if id, ok := strings.CutPrefix(path, prefix); ok && id != "" && !strings.Contains(id, "/") {
			return resource, id
		}
	}
	return "", ""
}

// invalid is an answer of v2 to what it does not understand. The field may be one
// of an object in the body, as in "filter_criteria.duration", or empty.
func invalid(field, message string) answer {
	loc := []string{"body"}
	if field != "" {
		loc = append(loc, strings.Split(field, ".")...)
	}
	a := objectAnswer(map[string]any{"detail": []any{map[string]any{"loc": loc, "msg": message, "type": "value_error"}}})
	a.status = http.StatusUnprocessableEntity
	return a
}

// denied is an answer of v2 without anything asked for.
func denied(status int, detail string) answer {
	a := objectAnswer(map[string]any{"detail": detail})
	a.status = status
	return a
}

// wrongMethod is an answer to a request whose method is not the one of its path.
func wrongMethod(r *http.Request, x *scratch, allowed string) answer {
	a := failure(x, http.StatusMethodNotAllowed, r.Method+" is not allowed here", "")
	a.header = [2]string{"Allow", allowed}
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
func readListing[F any](r *http.Request) (body listing[F], a answer, ok bool) {
	body.Order, body.Limit = "descending", defaultLimit
	text, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, 1<<16))
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		if err = d.Decode(&body); err == nil && d.More() {
			err = errors.New("more than one value")
		}
	}
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong):
		return body, invalid(wrong.Field, wrong.Value+" does not belong here"), false
	case err != nil:
		return body, invalid("", fmt.Sprintf("not a body of this operation: %v", err)), false
	case body.Limit < 1 || body.Limit > 500:
		return body, invalid("limit", "limit must be 1 to 500"), false
	case body.Order != "ascending" && body.Order != "descending":
		return body, invalid("sort_order", "sort_order must be ascending or descending"), false
	}
	return body, answer{}, true
}

func (s *Server) answerV2(r *http.Request, req Request, x *scratch) answer {
	method := http.MethodGet
	if req.Kind == "list" {
		method = http.MethodPost
	}
	if r.Method != method {
		return wrongMethod(r, x, method)
	}
	faults := s.resourceFaults(req.Resource)
	if status := faults.status(req.Kind); status != 0 {
		return failure(x, status, "injected fault", "")
	}
	if req.Kind == "list" {
		return s.listV2(r, faults)
	}
	var o map[string]any
	if req.Resource == v2Campaigns {
		if c := s.organisation.Find(organisation.Named("campaigns"), "", req.ID, s.Now()); c != nil {
			o = s.campaignV2(c)
		}
	} else if k := s.organisation.Find(organisation.Named("knowledges"), "", req.ID, s.Now()); k != nil {
		o = s.knowledgeV2(k)
	}
	if o == nil {
		return denied(http.StatusNotFound, "there is no such object")
	}
	return objectAnswer(o)
}

// listV2 answers POST /v2/campaigns/list.
func (s *Server) listV2(r *http.Request, faults resourceFaults) answer {
	body, refused, ok := readListing[struct {
		Status []string   `json:"status"`
		Agent  []string   `json:"agent_id"`
		Start  thresholds `json:"start_timestamp"`
	}](r)
	if !ok {
		return refused
	}
	f := &body.Filter
	q := &resourceQuery{resource: organisation.Named("campaigns"), sortBy: "created_at"}
	q.ascending = body.Order == "ascending"
	all := slices.DeleteFunc(s.organisation.List(q.resource, "", s.Now()), func(e entry) bool {
		at := e.Object["created_at"].(int64)
		agent := e.Object["agent"].(organisation.Object)["agent_id"].(string)
		return len(f.Status) > 0 && !slices.Contains(f.Status, fmt.Sprint(e.Object["status"])) ||
			len(f.Agent) > 0 && !slices.Contains(f.Agent, agent) ||
			f.Start.Lower != nil && at < *f.Start.Lower || f.Start.Upper != nil && at > *f.Start.Upper
	})
	slices.SortFunc(all, q.compare)
	if faults[ResourceEmpty] {
		all = nil
	}
	total := len(all)
	if body.Key != nil {
		i := slices.IndexFunc(all, func(e entry) bool { return e.ID == *body.Key })
		if i < 0 {
			return invalid("pagination_key", "pagination_key names no campaign of this list")
		}
		all = all[i+1:]
	}
	next := any(nil)
	if len(all) > body.Limit {
		all = all[:body.Limit]
		next = all[len(all)-1].ID
	}
	items := make([]any, len(all))
	for i, e := range all {
		items[i] = s.campaignV2(e.Object)
	}
	return objectAnswer(map[string]any{"campaigns": items, "next_cursor": next, "total_count": total})
}

// campaignV2 is a campaign as v2 shows it.
func (s *Server) campaignV2(c organisation.Object) map[string]any {
	o := map[string]any{"organization_id": s.organisation.ID(), "agent_version": nil}
	for name, value := range c {
		if ms, ok := value.(int64); ok && strings.HasSuffix(name, "_at") {
			value = time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z07:00")
		}
		o[name] = value
	}
	o["agent_id"] = c["agent"].(organisation.Object)["agent_id"]
	delete(o, "agent")
	return o
}

// knowledgeV2 is a knowledge base with its documents, as v2 shows it.
func (s *Server) knowledgeV2(k organisation.Object) map[string]any {
	id := fmt.Sprint(k["id"])
	documents := []any{}
	for _, e := range s.organisation.List(organisation.Named("knowledge_documents"), id, s.Now()) {
		documents = append(documents, map[string]any{
			"knowledge_document_id": e.ID, "knowledge_document_name": e.Object["name"], "knowledge_document_type": e.Object["document_type"],
		})
	}
	return map[string]any{"knowledge_base_id": id, "knowledge_base_name": k["name"], "knowledge_documents": documents}
}
