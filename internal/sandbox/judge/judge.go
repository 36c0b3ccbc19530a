// Package judge validates the sandbox's answers against its OpenAPI documents with an independent
// validator. Only tests use it: no program may link the validator.
package judge

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"sync"
	"testing"

	"github.com/pb33f/libopenapi"
	"github.com/pb33f/libopenapi-validator/config"
	"github.com/pb33f/libopenapi-validator/responses"

	"callhouse/internal/sandbox/operation"
)

// every keeps the quick tests quick: validating a page of calls takes longer than making it.
var every = flag.Int("judge-every", strictEvery,
	"validate one in this many sandbox responses against its OpenAPI documents, besides the first of each operation and status")

// strictEvery is how many answers there are for each that is validated strictly (all fields
// described), which takes the validator six times as long.
const strictEvery = 100

// Ways to validate an answer.
const (
	not = iota
	plain
	strict
)

// spoiled is the header of an answer with a requested fault.
const spoiled = "Sandbox-Fault"

// Tally counts the answers of a test program.
type Tally struct {
	Judged  int64 // validated
	Left    int64 // not sampled
	Spoiled int64 // faulty on purpose
	Unknown int64 // without a document: an unknown path or method
}

func (c Tally) String() string {
	return fmt.Sprintf("%d sandbox responses were validated against its OpenAPI documents, %d were not sampled, "+
		"%d were wrong on purpose, %d answered requests that no document describes", c.Judged, c.Left, c.Spoiled, c.Unknown)
}

// chooser samples the answers to validate.
type chooser struct {
	mu    sync.Mutex
	known map[string]bool // operations with a status
	seen  int64
	tally Tally
}

var all = chooser{known: map[string]bool{}}

// Count returns the tally so far.
func Count() Tally {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.tally
}

// choose decides how an answer is validated, and counts it.
func (c *chooser) choose(r *http.Request, status int, wrong bool) int {
	o, _, allowed := operation.Match(r.Method, r.URL.Path)
	c.mu.Lock()
	defer c.mu.Unlock()
	if o == nil || allowed != nil {
		c.tally.Unknown++
		return not
	}
	if wrong {
		c.tally.Spoiled++
		return not
	}
	c.seen++
	kind := fmt.Sprint(o.ID, " ", status)
	how := not
	if !c.known[kind] || c.seen%strictEvery == 0 {
		how = strict
	} else if c.seen%int64(*every) == 0 {
		how = plain
	}
	if how == not {
		c.tally.Left++
		return not
	}
	c.known[kind] = true
	c.tally.Judged++
	return how
}

// Around wraps h and fails the test if an answer does not match its document. Requested faults are
// skipped.
func Around(t testing.TB, h http.Handler) http.Handler {
	t.Helper()
	var mu sync.Mutex
	var flaws []string
	t.Cleanup(func() { // answers may come after the test
		mu.Lock()
		defer mu.Unlock()
		for _, flaw := range flaws {
			t.Error(flaw)
		}
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := &recorder{ResponseWriter: w, choose: func(status int) int { return all.choose(r, status, w.Header().Get(spoiled) != "") }}
		h.ServeHTTP(rec, r)
		if rec.body == nil {
			return
		}
		if flaw := flaw(rec.how, r, rec.status, w.Header(), rec.body.Bytes()); flaw != "" {
			mu.Lock()
			defer mu.Unlock()
			flaws = append(flaws, flaw)
		}
	})
}

// recorder keeps an answer to validate.
type recorder struct {
	http.ResponseWriter
	choose func(status int) int
	status int
	how    int
	body   *bytes.Buffer // nil if the answer is not validated
}

func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *recorder) WriteHeader(status int) {
	r.status = status
	if r.how = r.choose(status); r.how != not {
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

// held validates answers of v3 or v2. A schema is compiled at the first answer of its kind: most
// tests see few kinds.
type held struct {
	plain, strict responses.ResponseBodyValidator
}

var v3, v2 = sync.OnceValues(func() (held, error) { return read(false) }), sync.OnceValues(func() (held, error) { return read(true) })

func read(v2 bool) (held, error) {
	text := operation.Document(v2)
	d, err := libopenapi.NewDocument(text)
	var described any
	if err = errors.Join(err, json.Unmarshal(text, &described)); err != nil {
		return held{}, err
	}
	model, err := d.BuildV3Model()
	if err != nil {
		return held{}, err
	}
	formats := config.WithFormatAssertions()
	return held{
		plain: responses.NewResponseBodyValidator(&model.Model, formats),
		strict: responses.NewResponseBodyValidator(&model.Model, formats, config.WithStrictMode(),
			config.WithStrictIgnorePaths(open(described)...)),
	}, nil
}

// open returns the paths of objects that may have any content.
func open(document any) []string {
	var schemas map[string]any
	if d, ok := document.(map[string]any); ok {
		components, _ := d["components"].(map[string]any)
		schemas, _ = components["schemas"].(map[string]any)
	}
	var all []string
	var look func(any)
	look = func(value any) {
		switch v := value.(type) {
		case map[string]any:
			for name, value := range v {
				o, _ := value.(map[string]any)
				if ref, ok := o["$ref"].(string); ok {
					o, _ = schemas[path.Base(ref)].(map[string]any)
				}
				if o["additionalProperties"] != nil && o["additionalProperties"] != false {
					all = append(all, "$.**."+name+".**")
				}
				look(value)
			}
		case []any:
			for _, value := range v {
				look(value)
			}
		}
	}
	look(document)
	slices.Sort(all)
	return slices.Compact(all)
}

// one makes the validator check one answer at a time.
var one sync.Mutex

// Answer fails the test if a sampled answer does not match its document.
func Answer(t testing.TB, r *http.Request, w *httptest.ResponseRecorder) {
	t.Helper()
	if how := all.choose(r, w.Code, w.Header().Get(spoiled) != ""); how != not {
		if flaw := flaw(how, r, w.Code, w.Header(), w.Body.Bytes()); flaw != "" {
			t.Error(flaw)
		}
	}
}

// flaw describes how an answer deviates from its document; empty if it does not.
func flaw(how int, r *http.Request, status int, header http.Header, body []byte) string {
	of := v3
	if operation.IsV2(r.URL.Path) {
		of = v2
	}
	document, err := of()
	if err != nil {
		return err.Error()
	}
	judge := document.plain
	if how == strict {
		judge = document.strict
	}
	one.Lock()
	defer one.Unlock()
	ok, errs := judge.ValidateResponseBody(r, &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(bytes.NewReader(body))})
	if ok {
		return ""
	}
	text := errs[0].Error()
	for _, e := range errs[0].SchemaValidationErrors {
		text += "; " + e.Reason + " at " + e.FieldPath
	}
	return fmt.Sprintf("%s %s: %d %s\n%.600s", r.Method, r.URL, status, text, body)
}
