package sandbox

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"callhouse/internal/sandbox/judgetest"
	"callhouse/internal/sandbox/operation"
	"callhouse/internal/sandbox/organisation"
)

// send sends a request with a body (none if empty), validates the answer against its document, and
// returns it.
func send(t testing.TB, s http.Handler, method, target, body string) (status int, answer map[string]any) {
	t.Helper()
	r := httptest.NewRequest(method, "http://sandbox"+target, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer sandbox-key")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	judgetest.Answer(t, r, w)
	decode(t, w.Body.Bytes(), &answer)
	return w.Code, answer
}

// TestEveryRouteIsDescribed compares the handlers, the table of operations and the OpenAPI
// documents with each other.
func TestEveryRouteIsDescribed(t *testing.T) {
	for id := range handlers {
		isOne := slices.ContainsFunc(operation.All(), func(o operation.Operation) bool { return o.ID == id })
		if !isOne && id != "list" && id != "object" && id != "write" {
			t.Errorf("no operation is called %s", id)
		}
	}
	s := newServer(t, Options{World: Config{Calls: 50}})
	described := map[string]bool{}
	for _, v2 := range []bool{false, true} {
		var document struct {
			Paths map[string]map[string]struct{ OperationID string }
		}
		path := map[bool]string{false: "/v3/openapi.json", true: "/v2/openapi.json"}[v2]
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil)) // they need no key
		decode(t, w.Body.Bytes(), &document)
		for path, methods := range document.Paths {
			for method, o := range methods {
				described[strings.ToUpper(method)+" "+path+" "+o.OperationID] = true
			}
		}
	}
	names := map[string]bool{}
	for _, o := range operation.All() {
		if names[o.ID] {
			t.Errorf("two operations are called %s", o.ID)
		}
		names[o.ID] = true
		if key := o.Method + " " + o.Path + " " + o.ID; !described[key] {
			t.Errorf("%s is not described", key)
		} else {
			delete(described, key)
		}
		// Only a path without a route gets these answers.
		w := do(s, o.Method, regexp.MustCompile(`\{\w+\}`).ReplaceAllString(o.Path, "1"))
		if strings.Contains(w.Body.String(), "no such resource") || w.Code == http.StatusMethodNotAllowed {
			t.Errorf("%s %s has no handler: %d %s", o.Method, o.Path, w.Code, w.Body)
		}
		if handlerOf(&o) == nil {
			t.Errorf("%s has no handler", o.ID)
		}
	}
	for key := range described {
		t.Errorf("%s is described, and no operation", key)
	}
}

// TestEveryOperationOfTheContract checks that the table has the contract's 15 operations of v3 and
// 13 of v2.
func TestEveryOperationOfTheContract(t *testing.T) {
	for _, name := range strings.Split(`GET /v3/agents
POST /v3/agents
GET /v3/agents/{agent_id}
PATCH /v3/agents/{agent_id}
POST /v3/agents/validate-flow
GET /v3/schemas
GET /v3/schemas/{namespace}/{schema_type}
GET /v3/schemas/tool-schema/{schema_type}
GET /v3/calls
GET /v3/calls/{call_id}
POST /v3/calls
GET /v3/campaigns/{campaign_id}
PATCH /v3/campaigns/{campaign_id}
GET /v3/knowledges
GET /v3/knowledges/{knowledge_id}
POST /v2/agents/list
POST /v2/calls
GET /v2/calls/{call_id}
POST /v2/calls/list
POST /functions/v1/v1/list-calls
POST /v2/campaigns
GET /v2/campaigns/{campaign_id}
PATCH /v2/campaigns/{campaign_id}
POST /v2/campaigns/list
POST /v2/campaigns/{campaign_id}/pause
GET /v2/knowledge/{knowledge_base_id}
DELETE /v2/knowledge/{knowledge_base_id}/documents/{knowledge_document_id}
DELETE /v2/knowledge/{knowledge_base_id}/documents/batch`, "\n") {
		i := slices.IndexFunc(operation.All(), func(o operation.Operation) bool { return o.Method+" "+o.Path == name })
		if i < 0 {
			t.Errorf("%s is not served", name)
		} else if !strings.HasPrefix(operation.All()[i].From, "contract") {
			t.Errorf("%s is said to be taken from: %s", name, operation.All()[i].From)
		}
	}
}

// TestHelpersAreNotExposed tries the four helpers outside the contract.
func TestHelpersAreNotExposed(t *testing.T) {
	s := newServer(t, Options{World: Config{Calls: 5}})
	agent := s.World().Agents()[0].ID.String()
	for _, path := range []string{"/v3/agents/autofix-flow-data", "/v3/agents/validate-flow-data", "/v3/agents/" + agent + "/operations",
		"/v3/flow-data/autofix"} {
		for _, method := range []string{"POST", "GET", "PATCH", "DELETE"} {
			if w := do(s, method, path); w.Code != http.StatusNotFound {
				t.Errorf("%s %s: %d", method, path, w.Code)
			}
		}
	}
}

// TestAnswersAreAsDescribed requests every list, every object in them, and invalid queries.
func TestAnswersAreAsDescribed(t *testing.T) {
	s := newServer(t, Options{World: Config{Calls: 400, Campaigns: 6}})
	asked := map[string]bool{}
	ask := func(method, target, body string) map[string]any {
		t.Helper()
		status, answer := send(t, s, method, target, body)
		path, _, _ := strings.Cut(target, "?")
		if o, _, _ := operation.Match(method, path); o != nil && status == o.Good() {
			asked[o.ID] = true
		}
		return answer
	}
	for _, o := range operation.All() {
		if o.Kind == "list" && o.Method == http.MethodGet || o.Kind == "page" {
			parents := []string{""}
			if name, ok := strings.CutPrefix(o.Path, "/v3/agents/{agent_id}"); ok && name != "" {
				parents = []string{s.World().Agents()[0].ID.String()}
			} else if strings.HasPrefix(o.Path, "/v3/knowledges/{") {
				parents = []string{"1001", "1002"}
			}
			for _, parent := range parents {
				path := regexp.MustCompile(`\{\w+\}`).ReplaceAllString(o.Path, parent)
				ask(o.Method, path, "")
				ask(o.Method, path+"?limit=0", "")
				ask(o.Method, path+"?page=1", "")
			}
		}
	}
	ask("GET", "/v3/schemas?include_schema=true", "")
	for _, r := range organisation.All() {
		if r.Item == "" {
			continue
		}
		for i, rec := range s.Organisation().Truth(r.Name, s.Now()) {
			if i > 40 {
				break
			}
			path := strings.Split(r.Item, "{")[0]
			ask("GET", path+rec.ID, "")
			if r.Name == "agents" {
				ask("GET", path+rec.ID+"?version=production", "")
			}
		}
		ask("GET", regexp.MustCompile(`\{\w+\}`).ReplaceAllString(r.Item, "7"), "") // 404
	}
	for _, path := range []string{"/v2/calls/list", "/functions/v1/v1/list-calls"} {
		o := ask("POST", path, `{"limit":300}`)
		ask("POST", path, `{"limit":0}`)
		ask("POST", path, `{`)
		for i, c := range o["calls"].([]any) {
			if id := c.(map[string]any)["call_id"].(string); i%3 == 0 {
				ask("GET", "/v3/calls/"+id, "")
				ask("GET", "/v2/calls/"+id, "")
			}
		}
	}
	for _, c := range ask("POST", "/v2/campaigns/list", `{}`)["campaigns"].([]any) {
		ask("GET", "/v2/campaigns/"+c.(map[string]any)["id"].(string), "")
	}
	ask("POST", "/v2/agents/list", "{}")
	ask("GET", "/v2/knowledge/1001", "")
	ask("GET", "/v2/knowledge/1", "")
	for _, o := range operation.All() {
		if !asked[o.ID] && o.Kind != "write" {
			t.Errorf("%s was never answered well", o.ID)
		}
	}
}
