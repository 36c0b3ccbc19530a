package schema

import "bytes"

// patchView is an extra read back.
type patchView struct {
	absent, null, empty, as fieldSet
	is                      []byte     // JSON text, nil where there is none
	over                    []override // the patches of inner objects included
	unknown                 []member
}

// at returns what extra has for a field.
func (v *patchView) at(f field) *val {
	for i := range v.over {
		if v.over[i].f == f {
			return &v.over[i].v
		}
	}
	return &noVal
}

var noVal val // never written

// readPatch reads an extra, or the part of it that patches an inner object. It
// is lenient: what appendPatch did not write is skipped.
func readPatch(text []byte, of *node) (v patchView) {
	for m := range members(text) {
		switch {
		case string(m.name) == "$":
			v.readMarks(m.v.raw, of)
		case bytes.HasPrefix(m.name, []byte("$$")):
			v.unknown = append(v.unknown, member{name: m.name[1:], v: m.v})
		default:
			v.add(of, member{name: m.name, v: m.v})
		}
	}
	return v
}

// add takes a member in: by its field, if the name is known.
func (v *patchView) add(of *node, m member) {
	if f := of.find(m.name); f == unknown {
		v.unknown = append(v.unknown, m)
	} else if at := v.at(f); at.shape != isAbsent {
		*at = m.v
	} else {
		v.over = append(v.over, override{f: f, v: m.v})
	}
}

func (v *patchView) readMarks(text []byte, of *node) {
	for m := range members(text) {
		switch string(m.name) {
		case "absent":
			v.absent = readSet(m.v, of)
		case "null":
			v.null = readSet(m.v, of)
		case "empty":
			v.empty = readSet(m.v, of)
		case "as":
			v.as = readSet(m.v, of)
		case "is":
			v.is = unquote(m.v)
		case "raw":
			for text := range elements(m.v.raw) {
				v.addRaw(unquote(text), of)
			}
		}
	}
}

// addRaw takes in the text of a member, "name":value.
func (v *patchView) addRaw(text []byte, of *node) {
	for m := range members(append(append([]byte{'{'}, text...), '}')) {
		if m.key.marks&lone != 0 {
			v.unknown = append(v.unknown, m)
		} else {
			v.add(of, m)
		}
	}
}

func readSet(list val, of *node) (set fieldSet) {
	for name := range elements(list.raw) {
		if f := of.find(unquote(name)); f != unknown {
			set |= 1 << f
		}
	}
	return set
}

// unquote returns the text of a string.
func unquote(v val) []byte {
	if v.shape != isString {
		return nil
	}
	b := v.raw[1 : len(v.raw)-1]
	if v.marks&escaped == 0 {
		return b
	}
	return appendUnescaped(make([]byte, 0, len(b)), b)
}
