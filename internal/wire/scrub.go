package wire

import "callhouse/internal/wire/scan"

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
// with a *scan.Error inside where body is not one JSON object.
func Scrub(body []byte, secrecy func(name []byte) Secrecy) (clean []byte, changed bool, err error) {
	v, err := scan.Whole(body)
	if err != nil {
		return nil, false, undecodable(err)
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
func (b *scrubber) append(dst []byte, v scan.Value, as Secrecy) []byte {
	switch {
	case as == KeepWhole:
	case v.Shape == scan.IsObject:
		dst = append(dst, '{')
		from := len(dst)
		for m := range scan.Members(v.Raw) {
			inner := as
			if as != Hide {
				inner = b.secrecy(m.Name)
			}
			dst = b.append(scan.AppendMember(dst, from, &m, nil), m.Value, inner)
		}
		return append(dst, '}')
	case v.Shape == scan.IsArray:
		dst = append(dst, '[')
		from := len(dst)
		for e := range scan.Elements(v.Raw) {
			dst = b.append(scan.Comma(dst, from), e, as)
		}
		return append(dst, ']')
	case v.Shape == scan.IsString && as == Hide && len(v.Raw) > 2:
		b.changed = true
		return append(dst, `"`+withheldText+`"`...)
	case v.Shape == scan.IsString && as == HideQuery:
		if short := withoutQuery(v.Raw); len(short) < len(v.Raw) {
			b.changed = true
			return append(append(dst, short...), `?`+withheldText+`"`...)
		}
	}
	return append(dst, v.Raw...)
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
