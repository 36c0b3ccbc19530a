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
	s := scanner{b: text}
	s.space()
	if s.p >= len(text) || text[s.p] != '{' {
		return v
	}
	s.p++
	for first := true; ; first = false {
		key, st := s.key(first)
		if st != stepNext {
			return v
		}
		value, ok := s.value(1)
		if !ok {
			return v
		}
		name := unquote(key)
		switch {
		case string(name) == "$":
			v.readMarks(value.raw, of)
		case bytes.HasPrefix(name, []byte("$$")):
			v.unknown = append(v.unknown, member{name: name[1:], v: value})
		default:
			v.add(of, member{name: name, v: value})
		}
	}
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
	s := scanner{b: text}
	if len(text) == 0 || text[0] != '{' {
		return
	}
	s.p++
	for first := true; ; first = false {
		key, st := s.key(first)
		if st != stepNext {
			return
		}
		value, ok := s.value(1)
		if !ok {
			return
		}
		switch string(unquote(key)) {
		case "absent":
			v.absent = readSet(value, of)
		case "null":
			v.null = readSet(value, of)
		case "empty":
			v.empty = readSet(value, of)
		case "as":
			v.as = readSet(value, of)
		case "is":
			v.is = unquote(value)
		case "raw":
			eachString(value, func(text []byte) { v.addRaw(text, of) })
		}
	}
}

// addRaw takes in the text of a member, "name":value.
func (v *patchView) addRaw(text []byte, of *node) {
	s := scanner{b: append(append([]byte{'{'}, text...), '}'), p: 1}
	key, st := s.key(true)
	if st != stepNext {
		return
	}
	value, ok := s.value(1)
	if !ok {
		return
	}
	m := member{name: unquote(key), key: key, v: value}
	if key.marks&lone != 0 {
		v.unknown = append(v.unknown, m)
		return
	}
	v.add(of, m)
}

func readSet(list val, of *node) (set fieldSet) {
	eachString(list, func(name []byte) {
		if f := of.find(name); f != unknown {
			set |= 1 << f
		}
	})
	return set
}

// eachString calls do with every string of an array.
func eachString(list val, do func([]byte)) {
	if list.shape != isArray {
		return
	}
	s := scanner{b: list.raw, p: 1}
	for first := true; s.element(first) == stepNext; first = false {
		v, ok := s.value(1)
		if !ok {
			return
		}
		if v.shape == isString {
			do(unquote(v))
		}
	}
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
