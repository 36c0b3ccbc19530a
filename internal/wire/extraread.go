package wire

import (
	"bytes"
	"slices"
	"strings"

	"callhouse/internal/schema"
	"callhouse/internal/wire/scan"
)

// FieldOf returns the field of a resource's JSON at a path: of the whole, or of an
// object inside.
func FieldOf(of *schema.Resource, path string) Field {
	n := codecOf(of).nodes[0]
	for {
		name, rest, inside := strings.Cut(path, ".")
		f := n.find([]byte(name))
		if f == unknown {
			panic("wire: " + of.Table.Name + " has no field " + path)
		}
		if !inside {
			return f
		}
		n, path = n.slots[f].inner, rest
	}
}

// IsEmpty says whether the columns and lists of a field, which is an object, have
// nothing.
func IsEmpty(o *schema.Object, f Field) bool {
	return codecOf(o.Of).nodes[0].slots[f].inner.empty(o, o.Row)
}

// Extra is what the column extra of an object says, or the part of it that patches an
// object inside.
type Extra struct {
	of                      *node
	absent, null, empty, as fieldSet
	is                      []byte     // JSON text, nil where there is none
	over                    []override // the patches of inner objects included
	unknown                 []scan.Member
}

// ReadExtra reads the extra of an object.
func ReadExtra(o *schema.Object) Extra {
	n := codecOf(o.Of).nodes[0]
	extra := o.Row[n.extra]
	if extra.IsNull() {
		return Extra{of: n}
	}
	return readPatch(extra.ByteArray(), n)
}

// Absent says that a field was not sent, though the service sends it as a rule.
func (e Extra) Absent(f Field) bool { return e.absent.has(f) }

// Null says that a field was sent as null where the rule is another value.
func (e Extra) Null(f Field) bool { return e.null.has(f) }

// Empty says that a list was sent empty where the rule is null.
func (e Extra) Empty(f Field) bool { return e.empty.has(f) }

// Value returns what extra has for a field: a value as sent, what it says of an
// object inside, or nothing.
func (e Extra) Value(f Field) scan.Value { return *e.at(f) }

// Inside returns what extra says of an object inside.
func (e Extra) Inside(f Field) Extra {
	return readPatch(e.at(f).Raw, e.of.slots[f].inner)
}

// Told says whether a field that columns are for was sent as more than null.
func (e Extra) Told() bool {
	return slices.ContainsFunc(e.over, func(o override) bool { return o.v.Shape > scan.IsNull })
}

// at returns what extra has for a field.
func (e *Extra) at(f Field) *scan.Value {
	for i := range e.over {
		if e.over[i].f == f {
			return &e.over[i].v
		}
	}
	return &noVal
}

var noVal scan.Value // never written

// readPatch reads an extra, or the part of it that patches an inner object. It
// is lenient: what appendPatch did not write is skipped.
func readPatch(text []byte, of *node) Extra {
	e := Extra{of: of}
	for m := range scan.Members(text) {
		switch {
		case string(m.Name) == "$":
			e.readMarks(m.Value.Raw)
		case bytes.HasPrefix(m.Name, []byte("$$")):
			e.unknown = append(e.unknown, scan.Member{Name: m.Name[1:], Value: m.Value})
		default:
			e.add(scan.Member{Name: m.Name, Value: m.Value})
		}
	}
	return e
}

// add takes a member in: by its field, if the name is known.
func (e *Extra) add(m scan.Member) {
	if f := e.of.find(m.Name); f == unknown {
		e.unknown = append(e.unknown, m)
	} else if at := e.at(f); at.Shape != scan.IsAbsent {
		*at = m.Value
	} else {
		e.over = append(e.over, override{f: f, v: m.Value})
	}
}

func (e *Extra) readMarks(text []byte) {
	for m := range scan.Members(text) {
		switch string(m.Name) {
		case "absent":
			e.absent = readSet(m.Value, e.of)
		case "null":
			e.null = readSet(m.Value, e.of)
		case "empty":
			e.empty = readSet(m.Value, e.of)
		case "as":
			e.as = readSet(m.Value, e.of)
		case "is":
			e.is = unquote(m.Value)
		case "raw":
			for text := range scan.Elements(m.Value.Raw) {
				e.addRaw(unquote(text))
			}
		}
	}
}

// addRaw takes in the text of a member, "name":value.
func (e *Extra) addRaw(text []byte) {
	for m := range scan.Members(append(append([]byte{'{'}, text...), '}')) {
		if m.Key.Marks&scan.Lone != 0 {
			e.unknown = append(e.unknown, m)
		} else {
			e.add(m)
		}
	}
}

func readSet(list scan.Value, of *node) (set fieldSet) {
	for name := range scan.Elements(list.Raw) {
		if f := of.find(unquote(name)); f != unknown {
			set |= 1 << f
		}
	}
	return set
}

// unquote returns the text of a string.
func unquote(v scan.Value) []byte {
	if v.Shape != scan.IsString {
		return nil
	}
	b := v.Raw[1 : len(v.Raw)-1]
	if v.Marks&scan.Escaped == 0 {
		return b
	}
	return scan.AppendUnescaped(make([]byte, 0, len(b)), b)
}
