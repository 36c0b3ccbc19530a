// Package judgetest validates the sandbox's answers against its OpenAPI documents: every answer's status
// and type, and all of its fields, must be described. Only tests use it.
package judgetest

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"callhouse/internal/sandbox/operation"
)

// spoiled is the header of an answer with a requested fault.
const spoiled = "Sandbox-Fault"

// Tally counts the answers of a test program.
type Tally struct {
	Judged  int64 // validated
	Spoiled int64 // with a requested fault
	Unknown int64 // without a document: an unknown path or method
}

func (c Tally) String() string {
	return fmt.Sprintf("%d sandbox responses were validated against its OpenAPI documents, "+
		"%d were wrong on purpose, %d answered requests that no document describes", c.Judged, c.Spoiled, c.Unknown)
}

var counted struct {
	sync.Mutex
	Tally
}

// Count returns the tally so far.
func Count() Tally {
	counted.Lock()
	defer counted.Unlock()
	return counted.Tally
}

// judged reports whether an answer is to be validated, and updates the tally.
func judged(r *http.Request, header http.Header) bool {
	counted.Lock()
	defer counted.Unlock()
	switch o, _, allowed := operation.Match(r.Method, r.URL.Path); {
	case o == nil || allowed != nil:
		counted.Unknown++
		return false
	case header.Get(spoiled) != "":
		counted.Spoiled++
		return false
	}
	counted.Judged++
	return true
}

// Around wraps h and fails the test if an answer does not match its document. Requested faults are
// skipped.
func Around(t testing.TB, h http.Handler) http.Handler {
	t.Helper()
	var mu sync.Mutex
	var flaws []string
	t.Cleanup(func() { // answers may arrive after the test
		mu.Lock()
		defer mu.Unlock()
		for _, flaw := range flaws {
			t.Error(flaw)
		}
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := &recorder{ResponseWriter: w, of: r}
		h.ServeHTTP(rec, r)
		if rec.body == nil {
			return
		}
		if flaw := flaw(r, rec.status, w.Header(), rec.body.Bytes()); flaw != "" {
			mu.Lock()
			defer mu.Unlock()
			flaws = append(flaws, flaw)
		}
	})
}

// recorder keeps an answer for validation.
type recorder struct {
	http.ResponseWriter
	of     *http.Request
	status int
	body   *bytes.Buffer // nil if the answer is not validated
}

func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *recorder) WriteHeader(status int) {
	r.status = status
	if judged(r.of, r.Header()) {
		r.body = new(bytes.Buffer)
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.WriteHeader(http.StatusOK)
	}
	if r.body != nil {
		r.body.Write(b)
	}
	return r.ResponseWriter.Write(b)
}

// described is an OpenAPI document whose schemas allow no undeclared fields.
type described struct {
	document map[string]any
	compiler *jsonschema.Compiler
}

var v3, v2 = sync.OnceValue(func() described { return read(false) }), sync.OnceValue(func() described { return read(true) })

func read(v2 bool) described {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(operation.Document(v2)))
	if err != nil {
		panic(err) // built-in
	}
	d := described{value.(map[string]any), jsonschema.NewCompiler()}
	components := d.document["components"].(map[string]any)
	components["schemas"] = closed(components["schemas"], components["schemas"].(map[string]any))
	d.compiler.AssertFormat()
	if err := d.compiler.AddResource("openapi.json", d.document); err != nil {
		panic(err)
	}
	return d
}

// closed copies schemas so that their objects allow no undeclared fields, unless they say
// otherwise.
func closed(value any, schemas map[string]any) any {
	switch v := value.(type) {
	case []any:
		all := make([]any, len(v))
		for i := range v {
			all[i] = closed(v[i], schemas)
		}
		return all
	case map[string]any:
		if parts, ok := v["allOf"].([]any); ok { // the parts form one object
			properties, required := map[string]any{}, []any{}
			for _, part := range parts {
				of := part.(map[string]any)
				if ref, ok := of["$ref"].(string); ok {
					of = schemas[path.Base(ref)].(map[string]any)
				}
				maps.Copy(properties, of["properties"].(map[string]any))
				more, _ := of["required"].([]any)
				required = append(required, more...)
			}
			v = map[string]any{"type": "object", "properties": properties, "required": required}
		}
		all := map[string]any{}
		for name, value := range v {
			all[name] = closed(value, schemas)
		}
		if _, open := v["additionalProperties"]; !open && v["type"] == "object" && v["properties"] != nil {
			all["additionalProperties"] = false
		}
		return all
	}
	return value
}

// one serialises the use of the compiler.
var one sync.Mutex

// Answer fails the test if a sampled answer does not match its document.
func Answer(t testing.TB, r *http.Request, w *httptest.ResponseRecorder) {
	t.Helper()
	if judged(r, w.Header()) {
		if flaw := flaw(r, w.Code, w.Header(), w.Body.Bytes()); flaw != "" {
			t.Error(flaw)
		}
	}
}

// flaw describes how an answer deviates from its document; empty if it does not.
func flaw(r *http.Request, status int, header http.Header, body []byte) string {
	of := v3
	if operation.IsV2(r.URL.Path) {
		of = v2
	}
	err := of().check(r, status, header.Get("Content-Type"), body)
	if err == nil {
		return ""
	}
	return fmt.Sprintf("%s %s: %d %v\n%.600s", r.Method, r.URL, status, err, body)
}

// check finds an answer's schema by its place in the document, and validates the body.
func (d described) check(r *http.Request, status int, kind string, body []byte) error {
	o, _, _ := operation.Match(r.Method, r.URL.Path)
	at := []string{"paths", o.Path, strings.ToLower(o.Method), "responses", fmt.Sprint(status), "content", kind, "schema"}
	pointer, here := "openapi.json#", d.document
	for _, name := range at {
		if here, _ = here[name].(map[string]any); here == nil {
			return fmt.Errorf("the document does not describe %s", name)
		}
		pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(name)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("the body is not JSON: %w", err)
	}
	one.Lock()
	schema, err := d.compiler.Compile(pointer)
	one.Unlock()
	if err != nil {
		return err
	}
	return schema.Validate(value)
}
