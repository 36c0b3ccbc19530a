package sandbox

import (
	"net/http"

	"callhouse/internal/sandbox/organisation"
	"callhouse/internal/sandbox/world"
)

// api answers the operations.
type api struct {
	opts         *Options
	world        *world.World
	organisation *organisation.Organisation
	list         *callList
	list2        *callList // for v2
	trouble      trouble
}

// handler answers an operation.
type handler func(*api, *exchange) answer

// decodeWrite is decode for an operation without query parameters, whose body may be absent.
func (e *exchange) decodeWrite() (body organisation.Object, a answer, ok bool) {
	if values := e.r.URL.Query(); len(values) > 0 {
		return nil, e.no(checkQuery(e.op, values, nil)), false
	}
	if e.op.Body == "" {
		return nil, answer{}, true
	}
	return e.decode()
}

// problem returns the answer to a failed write.
func (e *exchange) problem(p *organisation.Problem) answer {
	switch p.Kind {
	case organisation.Invalid:
		return e.refuse(p.Field, p.Reason)
	case organisation.Conflict:
		return e.fail(http.StatusConflict, p.Reason)
	}
	if e.v2 && p.Field != "" {
		return e.failure(http.StatusNotFound, "", nil, detail([]string{"path", p.Field}, p.Reason, "not_found"))
	}
	return e.fail(http.StatusNotFound, p.Reason)
}
