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

// exchange is a request on its way to its answer.
type exchange struct {
	r       *http.Request
	x       *scratch
	v2      bool // failures are told as in v2
	req     Request
	op      *operation.Operation // nil where the path is of none
	allowed []string             // where the method is not one of the path's
	number  int64
	fault   FaultKind       // of the request; empty for none
	wrong   []ResourceFault // of its resource
}

// find finds what a request asks for.
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

// scratch is what one answer is written with.
type scratch struct {
	renderer render.Renderer
	body     []byte
}

// answer is a response before it is sent.
type answer struct {
	status int
	header [2]string // one more header; empty for none
	kind   string    // content type; empty for JSON
	body   []byte
	view   *world.View // the call, of a detail
	object string      // path and query of an object of another resource
	end    FaultKind   // how it ends: cut, hang, huge, reset, or slow for a client that gave up; empty: well
}

// codes are the values of error.code, by status. The contract names only
// RATE_LIMIT_EXCEEDED.
var codes = map[int]string{
	400: "VALIDATION_ERROR", 401: "UNAUTHORIZED", 403: "FORBIDDEN", 404: "NOT_FOUND",
	405: "METHOD_NOT_ALLOWED", 409: "CONFLICT", 429: "RATE_LIMIT_EXCEEDED",
	500: "INTERNAL_ERROR", 503: "SERVICE_UNAVAILABLE",
}

// fail is an answer in the error envelope, or in v2 as detail.
func (e *exchange) fail(status int, message string) answer {
	return e.told(status, message, map[string]any{}, message)
}

// refuse is an answer to a body that is not valid: v3 names the field in the details of the
// envelope, v2 in detail. The field may be one of an object, as in "filter_criteria.duration", or
// empty.
func (e *exchange) refuse(field, reason string) answer {
	if e.v2 {
		place := []string{"body"}
		if field != "" {
			place = append(place, strings.Split(field, ".")...)
		}
		return e.told(http.StatusUnprocessableEntity, "", nil, detail(place, reason, "value_error"))
	}
	if field == "" {
		return e.fail(http.StatusBadRequest, reason)
	}
	return e.told(http.StatusBadRequest, field+": "+reason, map[string]any{"field": field, "reason": reason}, nil)
}

// told is a failure in the form of the request's version.
func (e *exchange) told(status int, message string, details map[string]any, v2 any) answer {
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
		panic(fmt.Sprintf("sandbox: %v", err)) // every value is ours
	}
	return answer{status: status, body: bytes.TrimSuffix(b.Bytes(), []byte("\n"))}
}

// detail is v2's detail about one place in a request.
func detail(place []string, message, kind string) []any {
	return []any{map[string]any{"loc": place, "msg": message, "type": kind}}
}

// objectAnswer writes an object as JSON.
func objectAnswer(o any) answer {
	body, err := json.Marshal(o)
	if err != nil {
		panic(fmt.Sprintf("sandbox: %v", err)) // every value is ours
	}
	return answer{status: http.StatusOK, body: body}
}

// orNull is a text, or null where it is empty.
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

// no is the answer to a request that is refused.
func (e *exchange) no(r *refusal) answer {
	return e.told(http.StatusBadRequest, r.message, r.details, r.message)
}

// maxBody is how long a body may be. The contract does not say.
const maxBody = 4 << 20

// decode reads the body of a request and holds it to its schema; if ok is false, the answer
// says why not.
func (e *exchange) decode() (body organisation.Object, a answer, ok bool) {
	text, err := io.ReadAll(http.MaxBytesReader(nil, e.r.Body, maxBody))
	if err != nil {
		return nil, e.refuse("", "cannot read the body: "+err.Error()), false
	}
	value, flaw := e.op.ReadBody(text)
	if flaw != nil {
		return nil, e.refuse(strings.Join(flaw.Place, "."), flaw.Reason), false
	}
	return value.(organisation.Object), answer{}, true // no schema takes anything else
}
