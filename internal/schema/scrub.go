package schema

// Secrecy says what Scrub does with a member of an object.
type Secrecy uint8

const (
	// LookInside keeps the member, and looks at what is in it.
	LookInside Secrecy = iota
	// KeepWhole keeps the member as it is.
	KeepWhole
	// Hide replaces every text in it.
	Hide
	// HideQuery cuts its text, an address, before the query and without a password.
	HideQuery
)

// withheldText stands in the place of a secret.
const withheldText = "[withheld]"

// Scrub returns body, the JSON of an object, without its secrets: body itself, not
// copied, where it has none. Numbers, true, false and null are no secrets. It fails
// with a *DecodeError where body is not one JSON object.
func Scrub(body []byte, secrecy func(name []byte) Secrecy) (clean []byte, changed bool, err error) {
	s := scanner{b: body}
	s.space()
	v, ok := s.value(0)
	if ok && v.shape != isObject {
		s.p = 0
		ok = s.fail("not a JSON object")
	}
	if !ok || !s.end() {
		return nil, false, s.err()
	}
	b := scrubber{secrecy: secrecy}
	if clean = b.append(make([]byte, 0, len(body)), v, LookInside); !b.changed {
		return body, false, nil
	}
	return clean, true, nil
}

type scrubber struct {
	secrecy func(name []byte) Secrecy
	changed bool
}

// append appends a value that was scanned before.
func (b *scrubber) append(dst []byte, v val, as Secrecy) []byte {
	switch {
	case as == KeepWhole:
	case v.shape == isObject:
		dst = append(dst, '{')
		from := len(dst)
		for m := range members(v.raw) {
			inner := as
			if as != Hide {
				inner = b.secrecy(m.name)
			}
			dst = b.append(appendMember(dst, from, &m, nil), m.v, inner)
		}
		return append(dst, '}')
	case v.shape == isArray:
		dst = append(dst, '[')
		from := len(dst)
		for e := range elements(v.raw) {
			dst = b.append(comma(dst, from), e, as)
		}
		return append(dst, ']')
	case v.shape == isString && as == Hide && len(v.raw) > 2:
		b.changed = true
		return append(dst, `"`+withheldText+`"`...)
	case v.shape == isString && as == HideQuery:
		if short := withoutQuery(v.raw); len(short) < len(v.raw) {
			b.changed = true
			return append(append(dst, short...), `?`+withheldText+`"`...)
		}
	}
	return append(dst, v.raw...)
}

// withoutQuery returns the quoted text of an address up to its query, without the
// closing quote; or from the start up to what looks like a name and password. It returns
// raw where there is neither.
func withoutQuery(raw []byte) []byte {
	for i, c := range raw {
		if c == '?' || c == '@' || c == '#' {
			if c == '@' {
				i = schemeEnd(raw)
			}
			return raw[:i]
		}
	}
	return raw
}

// schemeEnd returns where the host, or the name before it, begins.
func schemeEnd(raw []byte) int {
	for i := 2; i < len(raw); i++ {
		if raw[i] == '/' && raw[i-1] == '/' {
			return i + 1
		}
	}
	return 1
}
