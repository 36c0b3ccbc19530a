package calls

import (
	"callhouse/internal/schema"
	"callhouse/internal/wire/scan"
)

// Peek reads the id and the start of a call from its JSON without decoding it: it goes through the
// object's members until it has found both, in either spelling, and no further. ok is false if
// either is not in the form that the service normally sends; only Decode can then read it.
//
// The result is only a guess: a name that is repeated further on, or invalid JSON, is found only by
// decoding the call. Callers must compare. id aliases body.
func Peek(body []byte) (id []byte, start schema.Opt[int64], ok bool) {
	var s scan.Scanner
	if !s.Object(body) {
		return nil, start, false
	}
	told := false
	for first := true; id == nil || !told; first = false {
		key, st := s.Key(first)
		if st != scan.StepNext || key.Marks != 0 {
			return nil, start, false
		}
		v, ok := s.Value(1)
		if !ok {
			return nil, start, false
		}
		switch string(key.Raw) {
		case `"id"`, `"call_id"`:
			if v.Shape != scan.IsString || v.Marks != 0 || len(v.Raw) <= 2 {
				return nil, start, false
			}
			id = v.Raw[1 : len(v.Raw)-1]
		case `"start_at"`, `"start_timestamp"`:
			told = true
			if v.Shape == scan.IsNull {
				continue
			}
			if v.Shape != scan.IsNumber {
				return nil, start, false
			}
			n, plain := scan.PlainInt(v.Raw)
			if _, other := schema.InMillis(n); other || !plain || n < schema.MinInstant || n > schema.MaxInstant {
				return nil, start, false
			}
			start = schema.Some(n)
		}
	}
	return id, start, true
}
