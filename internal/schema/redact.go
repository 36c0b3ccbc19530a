package schema

// Redact returns what may be kept of body, the JSON of a call, before any of it
// is decoded: body itself, unchanged and not copied, unless the caller opted out
// of storage and the service sent something all the same. Then it is a copy in
// which transcript, transcript_with_tool_calls, recording_url and call_analysis
// are null and unknown fields, also those of agent and call_cost, are gone.
// Decode makes the same rows of either.
//
// It fails with a *DecodeError where body is not one JSON object.
func Redact(body []byte) (clean []byte, changed bool, err error) {
	s := scanner{b: body}
	s.space()
	if s.p >= len(body) || body[s.p] != '{' {
		s.fail("not a JSON object")
		return nil, false, s.err()
	}
	s.p++
	var optOut val
	for first := true; ; first = false {
		key, st := s.key(first)
		if st == stepEnd && s.end() {
			break
		}
		if st != stepNext {
			return nil, false, s.err()
		}
		v, ok := s.value(1)
		if !ok {
			return nil, false, s.err()
		}
		if wholeCall.find(keyText(key)) == optOutField {
			optOut = v
		}
	}
	if !optedOut(&optOut) {
		return body, false, nil
	}
	clean, changed = redactObject(make([]byte, 0, len(body)), body, wholeCall)
	if !changed {
		return body, false, nil
	}
	return clean, true, nil
}

// redactObject appends what may be kept of an object that was scanned before.
func redactObject(dst, text []byte, of *node) (out []byte, changed bool) {
	dst = append(dst, '{')
	from := len(dst)
	for m := range members(text) {
		f := of.find(m.name)
		if f == unknown {
			changed = true
			continue
		}
		switch at := &of.slots[f]; {
		case of == wholeCall && at.withheld && m.v.shape != isNull:
			dst = appendMember(dst, from, &m, nullText)
			changed = true
		case at.inner != nil && at.list < 0 && m.v.shape == isObject:
			var inner bool
			dst, inner = redactObject(appendMember(dst, from, &m, nil), m.v.raw, at.inner)
			changed = changed || inner
		default:
			dst = appendMember(dst, from, &m, m.v.raw)
		}
	}
	return append(dst, '}'), changed
}
