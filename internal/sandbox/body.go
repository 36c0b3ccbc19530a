package sandbox

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"callhouse/internal/sandbox/wire"
)

// maxBody is how long a body may be. The contract does not say.
const maxBody = 4 << 20

// decode reads the body of a request, holds it to its schema and stores it; if ok is
// false, the answer says why not.
func (e *exchange) decode(into any) (a answer, ok bool) {
	text, err := io.ReadAll(http.MaxBytesReader(nil, e.r.Body, maxBody))
	if err != nil {
		return e.refuse("", "the body could not be read: "+err.Error()), false
	}
	if flaw := e.op.CheckBody(text); flaw != nil {
		return e.refuse(strings.Join(flaw.Place, "."), flaw.Reason), false
	}
	if err := json.Unmarshal(text, into); err != nil {
		return e.refuse("", err.Error()), false
	}
	return answer{}, true
}

// refuse is an answer to a body that is not valid: v3 names the field in the details of
// the envelope, v2 in detail.
func (e *exchange) refuse(field, reason string) answer {
	if e.x.v2 {
		return invalid(field, reason)
	}
	message, details := reason, []byte("{}")
	if field != "" {
		message = field + ": " + reason
		details = wire.AppendString([]byte(`{"field":`), field)
		details = append(wire.AppendString(append(details, `,"reason":`...), reason), '}')
	}
	return failure(e.x, http.StatusBadRequest, message, string(details))
}
