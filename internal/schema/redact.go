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
		if findCall(keyText(key)) == fOptOut {
			optOut = v
		}
	}
	if !optedOut(&optOut) {
		return body, false, nil
	}
	clean, changed = redactObject(make([]byte, 0, len(body)), body, callObject)
	if !changed {
		return body, false, nil
	}
	return clean, true, nil
}

// redactObject appends what may be kept of an object that was scanned before.
func redactObject(dst, text []byte, of *object) (out []byte, changed bool) {
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
		if int(f) >= len(of.names) {
			changed = true
			continue
		}
		dst = append(append(comma(dst, from), key.raw...), ':')
		inner := innerObject(of, f)
		switch {
		case of == callObject && sensitive.has(f) && v.shape != isNull:
			dst = append(dst, "null"...)
			changed = true
		case inner != nil && v.shape == isObject:
			var c bool
			dst, c = redactObject(dst, v.raw, inner)
			changed = changed || c
		default:
			dst = append(dst, v.raw...)
		}
	}
}

// sensitive are the fields of a call that must not outlive an opt-out.
var sensitive = setOf(fTranscript, fTranscriptTools, fRecordingURL, fCallAnalysis)

// innerObject returns what a field of the call is an object of, or nil.
func innerObject(of *object, f field) *object {
	if of != callObject {
		return nil
	}
	switch f {
	case fAgent:
		return agentObject
	case fCallAnalysis:
		return analysisObject
	case fCallCost:
		return costObject
	}
	return nil
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
