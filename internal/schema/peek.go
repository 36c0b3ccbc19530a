package schema

// Peek reads the id and the start of a call from its JSON without decoding it:
// it walks over the members of the object until it has met both, in either
// spelling, and looks no further. ok is false where either is not as plain as
// the service sends it, and then only Decode can tell.
//
// What it returns is a guess all the same: a name that is repeated further on,
// or text that is no JSON, shows only when the call is decoded. Whoever peeks
// compares. id aliases body.
func Peek(body []byte) (id []byte, start Opt[int64], ok bool) {
	s := scanner{b: body}
	s.space()
	if s.p >= len(body) || body[s.p] != '{' {
		return nil, start, false
	}
	s.p++
	told := false
	for first := true; id == nil || !told; first = false {
		key, st := s.key(first)
		if st != stepNext || key.marks != 0 {
			return nil, start, false
		}
		v, ok := s.value(1)
		if !ok {
			return nil, start, false
		}
		switch string(key.raw) {
		case `"id"`, `"call_id"`:
			if v.shape != isString || v.marks != 0 || len(v.raw) <= 2 {
				return nil, start, false
			}
			id = v.raw[1 : len(v.raw)-1]
		case `"start_at"`, `"start_timestamp"`:
			told = true
			if v.shape == isNull {
				continue
			}
			if v.shape != isNumber {
				return nil, start, false
			}
			n, plain := plainInt(v.raw)
			if !plain || n < minInstant || n > maxInstant {
				return nil, start, false
			}
			start = Some(n)
		}
	}
	return id, start, true
}
