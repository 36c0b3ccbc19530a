package sandbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"callhouse/internal/sandbox/operation"
	"callhouse/internal/sandbox/organisation"
	"callhouse/internal/sandbox/render"
	"callhouse/internal/sandbox/world"
)

// exchange is a request being answered.
type exchange struct {
	r       *http.Request
	x       *scratch
	v2      bool // failures have the form of v2
	req     Request
	op      *operation.Operation // nil for an unknown path
	allowed []string             // allowed methods, if the path does not have this one
	number  int64
	fault   FaultKind       // of the request; empty for none
	wrong   []ResourceFault // the faults of its resource
}

// find finds the operation of a request.
func find(r *http.Request, x *scratch) *exchange {
	e := &exchange{r: r, x: x, v2: operation.IsV2(r.URL.Path), req: Request{Kind: "other"}}
	var id string
	if e.op, id, e.allowed = operation.Match(r.Method, r.URL.Path); e.op != nil {
		e.req = Request{Kind: e.op.Kind, Resource: e.op.Resource, ID: id}
	}
	if r.Method == http.MethodGet && (e.req.Kind == "page" || e.req.Kind == "list") {
		e.req.Query = r.URL.RawQuery
	}
	return e
}

// scratch holds the buffers for writing one answer.
type scratch struct {
	renderer render.Renderer
	body     []byte
}

// answer is a response before it is sent.
type answer struct {
	status int
	header [2]string // an additional header; empty for none
	kind   string    // content type; empty for JSON
	body   []byte
	view   *world.View // the call, of a detail
	object string      // path and query of an object of another resource
	end    FaultKind   // how it ends: cut, hang, huge, reset, or slow if the client gave up; empty: normally
}

// codes are the values of error.code, by status. The contract names only
// RATE_LIMIT_EXCEEDED.
var codes = map[int]string{
	400: "VALIDATION_ERROR", 401: "UNAUTHORIZED", 403: "FORBIDDEN", 404: "NOT_FOUND",
	405: "METHOD_NOT_ALLOWED", 409: "CONFLICT", 429: "RATE_LIMIT_EXCEEDED",
	500: "INTERNAL_ERROR", 503: "SERVICE_UNAVAILABLE",
}

// fail returns an error answer: the error envelope, or v2's detail.
func (e *exchange) fail(status int, message string) answer {
	return e.failure(status, message, map[string]any{}, message)
}

// refuse returns the answer to an invalid body: v3 names the field in the details of the envelope,
// v2 in detail. The field may be nested, as in "filter_criteria.duration", or empty.
func (e *exchange) refuse(field, reason string) answer {
	if e.v2 {
		place := []string{"body"}
		if field != "" {
			place = append(place, strings.Split(field, ".")...)
		}
		return e.failure(http.StatusUnprocessableEntity, "", nil, detail(place, reason, "value_error"))
	}
	if field == "" {
		return e.fail(http.StatusBadRequest, reason)
	}
	return e.failure(http.StatusBadRequest, field+": "+reason, map[string]any{"field": field, "reason": reason}, nil)
}

// failure returns a failure in the form of the request's version.
func (e *exchange) failure(status int, message string, details map[string]any, v2 any) answer {
	if e.v2 {
		a := objectAnswer(map[string]any{"detail": v2})
		a.status = status
		return a
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(struct {
		Error any `json:"error"`
	}{struct {
		Code    string         `json:"code"`
		Message string         `json:"message"`
		Details map[string]any `json:"details"`
	}{codes[status], message, details}})
	if err != nil {
		panic(fmt.Sprintf("sandbox: %v", err)) // all values are built in
	}
	return answer{status: status, body: bytes.TrimSuffix(b.Bytes(), []byte("\n"))}
}

// detail is v2's detail for one place in a request.
func detail(place []string, message, kind string) []any {
	return []any{map[string]any{"loc": place, "msg": message, "type": kind}}
}

// objectAnswer writes an object as JSON.
func objectAnswer(o any) answer {
	body, err := json.Marshal(o)
	if err != nil {
		panic(fmt.Sprintf("sandbox: %v", err)) // all values are built in
	}
	return answer{status: http.StatusOK, body: body}
}

// orNull returns a text, or null if it is empty.
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

const webPage = "<!DOCTYPE html>\n<html><head><title>%</title></head>\n<body><center><h1>%</h1></center><hr>" +
	"<center>edge proxy</center></body></html>\n"

func webAnswer(status int, title string) answer {
	body := []byte(strings.ReplaceAll(webPage, "%", title))
	return answer{status: status, kind: "text/html; charset=utf-8", body: body}
}

// refusal is an answer of 400.
type refusal struct {
	message string
	details map[string]any
}

func refuse(format string, args ...any) *refusal {
	return &refusal{fmt.Sprintf(format, args...), map[string]any{}}
}

// no returns the answer to a refused request.
func (e *exchange) no(r *refusal) answer {
	return e.failure(http.StatusBadRequest, r.message, r.details, r.message)
}

// maxBody is the maximum size of a request body. The contract does not specify one.
const maxBody = 4 << 20

// decode reads a request's body and validates it against its schema; if ok is false, a is the error
// answer.
func (e *exchange) decode() (body organisation.Object, a answer, ok bool) {
	text, err := io.ReadAll(http.MaxBytesReader(nil, e.r.Body, maxBody))
	if err != nil {
		return nil, e.refuse("", "cannot read the body: "+err.Error()), false
	}
	value, flaw := e.op.ReadBody(text)
	if flaw != nil {
		return nil, e.refuse(strings.Join(flaw.Place, "."), flaw.Reason), false
	}
	return value.(organisation.Object), answer{}, true // every schema is of an object
}
