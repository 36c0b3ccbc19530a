package sandbox

import (
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"callhouse/internal/sandbox/operation"
	"callhouse/internal/sandbox/organisation"
	"callhouse/internal/sandbox/world"
	"callhouse/internal/test"
)

// send sends a request with a body (none if empty), validates the answer against its document, and returns it.
func send(t testing.TB, s http.Handler, method, target, body string) (status int, answer map[string]any) {
	t.Helper()
	r := httptest.NewRequest(method, "http://sandbox"+target, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer sandbox-key")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	judge(t, r, w)
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

// TestEveryOperationOfTheContract checks that the table has the contract's 15 operations of v3 and 13 of v2.
func TestEveryOperationOfTheContract(t *testing.T) {
	for _, name := range strings.Split(strings.TrimSpace(string(test.Read(t, "testdata/contract.txt"))), "\n") {
		i := slices.IndexFunc(operation.All(), func(o operation.Operation) bool { return o.Method+" "+o.Path == name })
		if i < 0 {
			t.Errorf("%s is not served", name)
		} else if !strings.HasPrefix(operation.All()[i].From, "contract") {
			t.Errorf("%s is said to be taken from: %s", name, operation.All()[i].From)
		}
	}
}

// TestAnswersAreAsDescribed requests every list, every object in them, and invalid queries.
func TestAnswersAreAsDescribed(t *testing.T) {
	s := newServer(t, Options{World: Config{Calls: 400, Campaigns: 6}})
	requested := map[string]bool{}
	ask := func(method, target, body string) map[string]any {
		t.Helper()
		status, answer := send(t, s, method, target, body)
		path, _, _ := strings.Cut(target, "?")
		if o, _, _ := operation.Match(method, path); o != nil && status == o.Good() {
			requested[o.ID] = true
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
		if !requested[o.ID] && o.Kind != "write" {
			t.Errorf("%s was never answered well", o.ID)
		}
	}
}

// TestDocsOfFaults compares the tables of faults in docs/reference/sandbox.md with their declarations.
func TestDocsOfFaults(t *testing.T) {
	var b strings.Builder
	table := func(intro string) { fmt.Fprintf(&b, "\n%s\n\n| Fault | Effect |\n| --- | --- |\n", intro) }
	table("`--faults 500=0.05,cut=0.01` gives this share of requests a fault. A status (400, 401, 403, 404,\n" +
		"405, 409, 500, 503) is answered with the error envelope, as are all names that begin with one:")
	for _, f := range requestFaults {
		if f.Effect != "" {
			fmt.Fprintf(&b, "| `%s` | %s |\n", f.Kind, f.Effect)
		}
	}
	table("Those of pages. A client that follows `next_cursor` carefully still gets every call, after\n`early-end` by time:")
	for _, f := range pageFaults {
		fmt.Fprintf(&b, "| `%s` | %s |\n", f.Kind, f.Effect)
	}
	modes := func(of reflect.Type) {
		for _, f := range reflect.VisibleFields(of) {
			if name := f.Tag.Get("mode"); name != "" {
				fmt.Fprintf(&b, "| `%s` | %s |\n", name, f.Tag.Get("says"))
			}
		}
	}
	table("`--lists depth=10000,null` applies to every page of the list of v3's calls:")
	modes(reflect.TypeFor[Lists]())
	table("`--v2 wrong-turns=0.01,shift` applies to the calls of v2:")
	modes(reflect.TypeFor[V2]())
	table("`--call-faults late-record=0.05,masked=0.01` gives this share of calls a fault. A call may have\n" +
		"several. Truth and statistics include them; turns count if the record can be read in at most 8 MiB:")
	for _, f := range world.CallFaults {
		fmt.Fprintf(&b, "| `%s` | %s |\n", f.Kind, f.Effect)
	}
	test.GoldenPart(t, "../../docs/reference/sandbox.md", "internal/sandbox -run TestDocsOfFaults -update -->\n", "<!-- end -->",
		b.String()+"\n")
}

var (
	schemathesis = flag.String("schemathesis", "", "the program schemathesis: try every operation with it (interop/sandbox.sh)")
	examples     = flag.Int("examples", 30, "how many requests it makes of each kind")
)

// TestSchemathesis tests every operation of the OpenAPI documents with valid and invalid requests
// of an independent tool.
func TestSchemathesis(t *testing.T) {
	if *schemathesis == "" {
		t.Skip("needs -schemathesis")
	}
	s := newServer(t, Options{World: Config{Calls: 300}})
	r, err := Listen(t.Context(), "127.0.0.1:0", s)
	test.OK(t, err)
	defer r.Close()
	config, err := filepath.Abs("testdata/schemathesis.toml")
	test.OK(t, err)
	for _, document := range []string{"/v3/openapi.json", "/v2/openapi.json"} {
		c := exec.CommandContext(t.Context(), *schemathesis, "--config-file", config, "run", r.URL+document,
			"--header", "Authorization: Bearer sandbox-key", "--max-examples", strconv.Itoa(*examples), "--seed", "1", "--phases",
			"examples,coverage,fuzzing,stateful", "--checks", "all", "--no-color")
		c.Dir = t.TempDir() // it writes a cache
		var said bytes.Buffer
		c.Stdout, c.Stderr = &said, &said
		err := c.Run()
		t.Logf("%s\n%s", document, said.Bytes())
		if err != nil {
			t.Errorf("%s: %v", document, err)
		}
	}
}
