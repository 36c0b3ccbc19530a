package wire

import (
	"callhouse/internal/schema"
	"callhouse/internal/wire/scan"
)

// Redact returns the part of body, the JSON of an object, that may be stored, before any of it is
// decoded. It returns body itself, not a copy, unless the caller opted out of storage and the
// service sent data nevertheless. Then it returns a copy in which the Withheld fields (of a call:
// transcript, transcript_with_tool_calls, recording_url and call_analysis) are null, and unknown
// fields, including those of inner objects, are removed. Decode makes the same rows of either.
//
// The error wraps a *scan.Error if body is not one JSON object.
func Redact(of *schema.Resource, body []byte) (clean []byte, changed bool, err error) {
	c := codecOf(of)
	top := c.nodes[0]
	if _, err := scan.Whole(body); err != nil {
		return nil, false, undecodable(err)
	}
	var optOut scan.Value
	for m := range scan.Members(body) {
		if f := top.find(m.Name); f != unknown && f == c.optOut {
			optOut = m.Value
		}
	}
	if !optedOut(&optOut) {
		return body, false, nil
	}
	clean, changed = redactObject(make([]byte, 0, len(body)), body, top, true)
	if !changed {
		return body, false, nil
	}
	return clean, true, nil
}

// storable returns the part of the column extra that may be stored after an opt-out.
func storable(extra []byte, top *node) []byte {
	if extra != nil {
		extra, _ = redactObject(nil, extra, top, true)
	}
	return extra
}

var nullText = []byte("null")

// redactObject appends the storable part of an object that was scanned before: the top level, or an
// inner object.
func redactObject(dst, text []byte, of *node, whole bool) (out []byte, changed bool) {
	dst = append(dst, '{')
	from := len(dst)
	for m := range scan.Members(text) {
		f := of.find(m.Name)
		if f == unknown {
			changed = true
			continue
		}
		switch at := &of.slots[f]; {
		case whole && at.withheld && m.Value.Shape != scan.IsNull:
			dst = scan.AppendMember(dst, from, m.Key, nullText)
			changed = true
		case at.inner != nil && at.list < 0 && m.Value.Shape == scan.IsObject:
			var inner bool
			dst, inner = redactObject(scan.AppendMember(dst, from, m.Key, nil), m.Value.Raw, at.inner, false)
			changed = changed || inner
		default:
			dst = scan.AppendMember(dst, from, m.Key, m.Value.Raw)
		}
	}
	return append(dst, '}'), changed
}
