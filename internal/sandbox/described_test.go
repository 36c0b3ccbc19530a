package sandbox

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/pb33f/libopenapi-validator/config"

	"callhouse/internal/sandbox/operation"
	"callhouse/internal/sandbox/organisation"
)

// judges hold answers to the OpenAPI documents that the server itself hands out, with
// somebody else's code: of v3, and of v2.
func judges(t testing.TB, s *Server) map[bool]validator.Validator {
	t.Helper()
	all := map[bool]validator.Validator{}
	for v2, path := range map[bool]string{false: "/v3/openapi.json", true: "/v2/openapi.json"} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil)) // no key: they are open
		document, err := libopenapi.NewDocument(w.Body.Bytes())
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		v, errs := validator.NewValidator(document, config.WithFormatAssertions(), config.WithoutSecurityValidation())
		if len(errs) > 0 {
			t.Fatalf("%s: %v", path, errs)
		}
		if ok, errs := v.ValidateDocument(); !ok {
			t.Fatalf("%s: %v", path, errs[0])
		}
		all[v2] = v
	}
	return all
}

// judge says what is wrong with an answer, by the document; nothing if it is empty.
func judge(of map[bool]validator.Validator, r *http.Request, w *httptest.ResponseRecorder) string {
	if w.Code == http.StatusMethodNotAllowed {
		return "" // no document tells of methods that are not there
	}
	ok, errs := of[operation.IsV2(r.URL.Path)].ValidateHttpResponse(r, w.Result())
	if ok {
		return ""
	}
	text := errs[0].Error()
	for _, e := range errs[0].SchemaValidationErrors {
		text += "; " + e.Reason + " at " + e.FieldPath
	}
	return text
}

// TestEveryRouteIsDescribed holds the handlers, the table of operations and the OpenAPI
// documents to each other.
func TestEveryRouteIsDescribed(t *testing.T) {
	for id := range handlers {
		operation.Named(id) // it panics where there is none
	}
	s := newServer(t, Options{World: Config{Calls: 50}})
	judges(t, s)
	described := map[string]bool{}
	for _, v2 := range []bool{false, true} {
		var document struct {
			Paths map[string]map[string]struct{ OperationID string }
		}
		decode(t, operation.Document(v2), &document)
		for path, methods := range document.Paths {
			for method, o := range methods {
				described[strings.ToUpper(method)+" "+path+" "+o.OperationID] = true
			}
		}
	}
	names := map[string]bool{}
	for _, o := range operation.All {
		if names[o.ID] {
			t.Errorf("two operations are called %s", o.ID)
		}
		names[o.ID] = true
		if key := o.Method + " " + o.Path + " " + o.ID; !described[key] {
			t.Errorf("%s is not described", key)
		} else {
			delete(described, key)
		}
		// Nothing answers alike to a path without a route.
		w := do(s, o.Method, regexp.MustCompile(`\{\w+\}`).ReplaceAllString(o.Path, "1"))
		if strings.Contains(w.Body.String(), "no such resource") || w.Code == http.StatusMethodNotAllowed {
			t.Errorf("%s %s has no handler: %d %s", o.Method, o.Path, w.Code, w.Body)
		}
		if handlers[o.ID] == nil && !slices.ContainsFunc(organisation.All, func(r *organisation.Resource) bool { return r.Name == o.Resource }) {
			t.Errorf("%s has no handler", o.ID)
		}
	}
	for key := range described {
		t.Errorf("%s is described, and no operation", key)
	}
}

// TestHelpersAreNotExposed tries the four that are not part of the contract.
func TestHelpersAreNotExposed(t *testing.T) {
	s := newServer(t, Options{World: Config{Calls: 5}})
	agent := s.World().Agents()[0].ID.String()
	for _, path := range []string{"/v3/agents/autofix-flow-data", "/v3/agents/validate-flow-data", "/v3/agents/" + agent + "/operations", "/v3/flow-data/autofix"} {
		for _, method := range []string{"POST", "GET", "PATCH", "DELETE"} {
			if w := do(s, method, path); w.Code != http.StatusNotFound {
				t.Errorf("%s %s: %d", method, path, w.Code)
			}
		}
	}
}

// TestAnswersAreAsDescribed asks for every list and every object that it leads to, and
// for what is refused.
func TestAnswersAreAsDescribed(t *testing.T) {
	s := newServer(t, Options{World: Config{Calls: 400, Campaigns: 6}})
	of := judges(t, s)
	asked := map[string]bool{}
	ask := func(method, target, body string) map[string]any {
		t.Helper()
		r := httptest.NewRequest(method, "http://sandbox"+target, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer sandbox-key")
		if body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if o, _, _ := operation.Match(method, r.URL.Path); o != nil && w.Code == o.Good() {
			asked[o.ID] = true
		}
		if wrong := judge(of, r, w); wrong != "" {
			t.Errorf("%s %s: %d %s\n%.600s", method, target, w.Code, wrong, w.Body)
		}
		var o map[string]any
		if err := json.Unmarshal(w.Body.Bytes(), &o); err != nil {
			t.Fatalf("%s: %v", target, err)
		}
		return o
	}
	for _, o := range operation.All {
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
	for _, r := range organisation.All {
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
	ask("GET", "/v2/knowledge/1001", "")
	ask("GET", "/v2/knowledge/1", "")
	for _, o := range operation.All {
		if !asked[o.ID] && o.Kind != "write" {
			t.Errorf("%s was never answered well", o.ID)
		}
	}
}
