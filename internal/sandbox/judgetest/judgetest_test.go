package judgetest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pb33f/libopenapi"
	"github.com/pb33f/libopenapi-validator/schema_validation"

	"callhouse/internal/loopback"
	"callhouse/internal/sandbox/operation"
	"callhouse/internal/test"
)

func TestMain(m *testing.M) { loopback.Main(m) }

// witness is a test that only records its failure.
type witness struct {
	testing.TB
	failures []string
	atEnd    []func()
}

func (w *witness) Helper()           {}
func (w *witness) Cleanup(f func())  { w.atEnd = append(w.atEnd, f) }
func (w *witness) Error(args ...any) { w.failures = append(w.failures, fmt.Sprint(args...)) }

// TestWhatIsNotDescribedIsNoticed breaks answers in different ways.
func TestWhatIsNotDescribedIsNoticed(t *testing.T) {
	const good = `{"items":[{"id":"a","status":"ended","metadata":{"x":1}}],"next_cursor":null,"total_count":1}`
	for _, c := range []struct {
		name, path, kind, body, spoiled, says string
		status                                int
		count                                 Tally
	}{
		{name: "a page as described", body: good, count: Tally{Judged: 1}},
		{name: "an item without its id", body: `{"items":[{"status":"ended"}],"next_cursor":null,"total_count":1}`,
			says: "missing property 'id'", count: Tally{Judged: 1}},
		{name: "a field that is not described", body: strings.Replace(good, `"id"`, `"tomorrow":1,"id"`, 1), says: "additional properties 'tomorrow' not allowed",
			count: Tally{Judged: 1}},
		{name: "a status that is not described", body: good, status: http.StatusTeapot, says: "418", count: Tally{Judged: 1}},
		{name: "a web page", kind: "text/html", body: good, says: "text/html", count: Tally{Judged: 1}},
		{name: "half of a page", body: good[:30], says: "the body is not JSON", count: Tally{Judged: 1}},
		{name: "an error of v3 in v2", path: "/v2/calls/list", status: 404,
			body: `{"error":{"code":"NOT_FOUND","message":"","details":{}}}`, says: "missing property 'detail'", count: Tally{Judged: 1}},
		{name: "a fault that was asked for", body: good[:30], spoiled: "truncated", count: Tally{Spoiled: 1}},
		{name: "a path that is not described", path: "/v3/tomorrow", body: "{}", count: Tally{Unknown: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, w := Count(), &witness{}
			h := Around(w, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if c.kind != "" {
					w.Header().Set("Content-Type", c.kind)
				}
				if c.spoiled != "" {
					w.Header().Set(spoiled, c.spoiled)
				}
				if c.status != 0 {
					w.WriteHeader(c.status)
				}
				fmt.Fprint(w, c.body)
			}))
			path, method := "/v3/calls", http.MethodGet
			if c.path != "" {
				path = c.path
			}
			if strings.HasPrefix(path, "/v2") {
				method = http.MethodPost
			}
			answer := httptest.NewRecorder()
			h.ServeHTTP(answer, httptest.NewRequest(method, path, nil))
			for _, f := range w.atEnd {
				f()
			}
			test.Same(t, c.body, answer.Body.String(), "the client got")
			if said := strings.Join(w.failures, "\n"); (said == "") != (c.says == "") || !strings.Contains(said, c.says) {
				t.Errorf("it says %q, want %q", said, c.says)
			}
			after := Count()
			test.Same(t, c.count, Tally{after.Judged - before.Judged, after.Spoiled - before.Spoiled, after.Unknown - before.Unknown}, "counted as")
		})
	}
}

// TestDocumentsAreOpenAPI validates the documents themselves against the specification.
func TestDocumentsAreOpenAPI(t *testing.T) {
	for _, v2 := range []bool{false, true} {
		d, err := libopenapi.NewDocument(operation.Document(v2))
		test.OK(t, err)
		if ok, errs := schema_validation.ValidateOpenAPIDocument(d); !ok {
			t.Errorf("the document of v2 (%t): %v", v2, errs[0])
		}
	}
}
