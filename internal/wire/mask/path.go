package mask

import (
	"cmp"
	"slices"
	"strings"

	"callhouse/internal/schema"
)

// field is a field of a call.
type field struct {
	names    []string // its own names, and those of fields with the same meaning
	phone    bool
	link     bool
	turns    bool // it is a transcript
	maskable bool // at least a part of it may be masked
}

// callFields are the fields of a call, under all their names.
var callFields = func() map[string]*field {
	fields := map[string]*field{}
	lists := map[*schema.Table]*field{}
	for i := range schema.Calls.Fields {
		c := &schema.Calls.Fields[i]
		f := &field{phone: c.Phone, link: c.Link, turns: c.List == &schema.Turns, maskable: len(placesIn([]schema.Column{*c}, nil)) > 0}
		if c.List != nil && lists[c.List] != nil { // another field with the same rows
			f = lists[c.List]
		}
		for _, path := range []string{c.V3, c.V2} {
			name := namesIn(path)[0]
			switch known := fields[name]; {
			case name == "" || known == f:
			case known == nil:
				f.names, fields[name] = append(f.names, name), f
			default:
				f.names, f.maskable = append(f.names, known.names...), f.maskable || known.maskable
				for _, n := range known.names {
					fields[n] = f
				}
			}
		}
		if c.List != nil {
			lists[c.List] = f
		}
	}
	return fields
}()

// namesIn returns the names in a place of the JSON.
func namesIn(place string) []string { return strings.Split(strings.TrimSuffix(place, "?"), ".") }

// spellings returns the forms of a path in v3 and in v2.
func spellings(parts []string) (out [][]string) {
	if parts[0] == "extra" {
		return [][]string{parts[1:]}
	}
	for _, name := range callFields[parts[0]].names {
		out = append(out, append([]string{name}, parts[1:]...))
	}
	return out
}

// parsePath splits and checks a path.
func parsePath(path string) ([]string, error) {
	parts, ok := splitPath(path)
	if !ok {
		return nil, &PathError{Path: path, Why: "it is not written as a path"}
	}
	known := placesIn(schema.Calls.Fields, nil)
	for _, place := range known {
		// A nested column, or a name in v2.
		if !slices.Contains(place.parts, "[]") && (parts[0] == place.column.Name || parts[0] == place.column.V2) {
			parts = append(slices.Clone(place.parts), parts[1:]...)
			break
		}
	}
	if parts[0] == "extra" {
		switch {
		case len(parts) < 2 || parts[1] == "[]":
			return nil, &PathError{Path: path, Why: "extra.NAME is a field of the call that has no column"}
		case callFields[parts[1]] != nil:
			return nil, &PathError{Path: path, Why: parts[1] + " is no field without a column"}
		}
		return parts, nil
	}
	for _, place := range known {
		n := len(place.parts)
		if len(parts) >= n && slices.Equal(parts[:n], place.parts) && (place.column.Mask == schema.MaskInside || len(parts) == n) {
			return parts, nil
		}
	}
	return nil, &PathError{Path: path, Why: "there is no such field, or it cannot be masked", Known: Names()}
}

// place is a place that may be masked: it may identify a person, and the call's life cycle does not
// depend on it.
type place struct {
	column *schema.Column
	parts  []string
}

// placesIn returns the places that may be masked in an object with these fields, by their names in
// v3. at is the object's own place.
func placesIn(fields []schema.Column, at []string) (out []place) {
	seen := map[*schema.Table]bool{}
	for i := range fields {
		c := &fields[i]
		parts := append(slices.Clone(at), namesIn(cmp.Or(c.V3, c.V2))...)
		switch {
		case c.List != nil && !seen[c.List]:
			seen[c.List] = true
			out = append(out, placesIn(c.List.Fields, append(parts, "[]"))...)
		case c.List == nil && c.Mask != schema.NeverMasked:
			out = append(out, place{c, parts})
		}
	}
	return out
}

// Names returns the names of the maskable fields, as paths spell them.
func Names() []string {
	var out, short []string
	for _, m := range placesIn(schema.Calls.Fields, nil) {
		path := strings.ReplaceAll(strings.Join(m.parts, "."), ".[]", "[]")
		out = append(out, path)
		if !strings.Contains(path, "[]") && path != m.column.Name {
			short = append(short, m.column.Name)
		}
	}
	return append(out, short...)
}

// splitPath splits at points. [] after a name is a part of its own.
func splitPath(path string) (parts []string, ok bool) {
	for name := range strings.SplitSeq(path, ".") {
		bare := strings.TrimRight(name, "[]")
		lists := strings.Count(name[len(bare):], "[]")
		if bare == "" || len(bare)+2*lists != len(name) || strings.ContainsAny(bare, `[]"*`) {
			return nil, false
		}
		parts = append(append(parts, bare), slices.Repeat([]string{"[]"}, lists)...)
	}
	return parts, true
}

// PathError is the reason why a path cannot be masked.
type PathError struct {
	Path  string
	Why   string
	Known []string // maskable paths; nil if they would not help
}

func (e *PathError) Error() string { return "mask " + e.Path + ": " + e.Why }
