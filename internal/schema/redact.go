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
	s := scanner{b: text}
	s.space()
	s.p++
	dst = append(dst, '{')
	from := len(dst)
	for first := true; ; first = false {
		key, st := s.key(first)
		if st != stepNext {
			return append(dst, '}'), changed
		}
		v, ok := s.value(1)
		if !ok {
			return append(dst, '}'), true
		}
		f := of.find(keyText(key))
		if f == unknown {
			changed = true
			continue
		}
		dst = append(append(comma(dst, from), key.raw...), ':')
		switch at := &of.slots[f]; {
		case of == wholeCall && at.withheld && v.shape != isNull:
			dst = append(dst, "null"...)
			changed = true
		case at.inner != nil && at.list < 0 && v.shape == isObject:
			var c bool
			dst, c = redactObject(dst, v.raw, at.inner)
			changed = changed || c
		default:
			dst = append(dst, v.raw...)
		}
	}
}

// keyText returns a key's text as Decoder.name does.
func keyText(key val) []byte {
	b := key.raw[1 : len(key.raw)-1]
	switch {
	case key.marks&lone != 0:
		return appendApart(nil, b)
	case key.marks&escaped != 0:
		return appendUnescaped(nil, b)
	}
	return b
}
