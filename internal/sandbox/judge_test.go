package sandbox

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

// judgedDocument is an OpenAPI document whose schemas allow no undeclared fields.
type judgedDocument struct {
	document map[string]any
	compiler *jsonschema.Compiler
}

var documents = map[bool]func() judgedDocument{
	false: sync.OnceValue(func() judgedDocument { return readDocument(false) }),
	true:  sync.OnceValue(func() judgedDocument { return readDocument(true) }),
}

func readDocument(v2 bool) judgedDocument {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(operation.Document(v2)))
	if err != nil {
		panic(err)
	}
	d := judgedDocument{value.(map[string]any), jsonschema.NewCompiler()}
	components := d.document["components"].(map[string]any)
	components["schemas"] = closed(components["schemas"], components["schemas"].(map[string]any))
	d.compiler.AssertFormat()
	if err := d.compiler.AddResource("mem:///openapi.json", d.document); err != nil {
		panic(err)
	}
	return d
}

// closed copies schemas so that their objects allow no undeclared fields, unless they say otherwise.
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

// judge fails the test unless the document describes an answer's status, type and all of its fields.
func judge(t testing.TB, r *http.Request, w *httptest.ResponseRecorder) {
	t.Helper()
	o, _, allowed := operation.Match(r.Method, r.URL.Path)
	if o == nil || allowed != nil || w.Header().Get(faultHeader) != "" {
		return // an unknown path or method, or wrong on request
	}
	if err := documents[o.V2()]().check(o, w); err != nil {
		t.Errorf("%s %s: %d %v\n%.600s", r.Method, r.URL, w.Code, err, w.Body)
	}
}

func (d judgedDocument) check(o *operation.Operation, w *httptest.ResponseRecorder) error {
	at := []string{"paths", o.Path, strings.ToLower(o.Method), "responses", fmt.Sprint(w.Code), "content", w.Header().Get("Content-Type"), "schema"}
	pointer, here := "mem:///openapi.json#", d.document
	for _, name := range at {
		if here, _ = here[name].(map[string]any); here == nil {
			return fmt.Errorf("the document does not describe %s", name)
		}
		pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(name)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(w.Body.Bytes()))
	if err != nil {
		return fmt.Errorf("the body is not JSON: %w", err)
	}
	schema, err := d.compiler.Compile(pointer)
	if err != nil {
		return err
	}
	return schema.Validate(value)
}
