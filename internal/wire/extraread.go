package wire

import (
	"bytes"
	"slices"
	"strings"

	"callhouse/internal/schema"
	"callhouse/internal/wire/scan"
)

// FieldOf returns the field at a path in a resource's JSON: of the top level, or of an inner
// object.
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

// IsEmpty reports whether all columns and lists of a field, which is an object, are empty.
func IsEmpty(o *schema.Object, f Field) bool {
	return codecOf(o.Of).nodes[0].slots[f].inner.empty(o, o.Row)
}

// Extra is the parsed column extra of an object, or the part of it that patches an inner object.
type Extra struct {
	of                      *node
	absent, null, empty, as fieldSet
	is                      []byte     // JSON text; nil if there is none
	over                    []override // including the patches of inner objects
	unknown                 []scan.Member
}

// ReadExtra parses the extra of an object.
func ReadExtra(o *schema.Object) Extra {
	n := codecOf(o.Of).nodes[0]
	extra := o.Row[n.extra]
	if extra.IsNull() {
		return Extra{of: n}
	}
	return readPatch(extra.ByteArray(), n)
}

// Absent reports whether a field was not sent, though the service normally sends it.
func (e Extra) Absent(f Field) bool { return e.absent.has(f) }

// Null reports whether a field was sent as null where the rule is another value.
func (e Extra) Null(f Field) bool { return e.null.has(f) }

// Empty reports whether a list was sent empty where the rule is null.
func (e Extra) Empty(f Field) bool { return e.empty.has(f) }

// Value returns the entry of a field in extra: a value as sent, the patch of an inner object, or
// nothing.
func (e Extra) Value(f Field) scan.Value { return *e.at(f) }

// Inside returns the part of extra for an inner object.
func (e Extra) Inside(f Field) Extra {
	return readPatch(e.at(f).Raw, e.of.slots[f].inner)
}

// Told reports whether a field with columns was sent with a value other than null.
func (e Extra) Told() bool {
	return slices.ContainsFunc(e.over, func(o override) bool { return o.v.Shape > scan.IsNull })
}

// at returns the entry of a field in extra.
func (e *Extra) at(f Field) *scan.Value {
	for i := range e.over {
		if e.over[i].f == f {
			return &e.over[i].v
		}
	}
	return &noVal
}

var noVal scan.Value // never written

// readPatch reads an extra, or the part of it that patches an inner object. It is lenient, and
// skips anything that appendPatch did not write.
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

// add adds a member, by its field if the name is known.
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

// addRaw adds the text of a member, "name":value.
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
