package schema

import (
	"slices"
	"strings"
)

// maskSpellings returns the paths that a path stands for in v3 and in v2.
func maskSpellings(parts []string) (out [][]string) {
	if parts[0] == "extra" {
		return [][]string{parts[1:]}
	}
	f := wholeCall.byName[parts[0]]
	same := wholeCall.slots[f].group | 1<<f
	if f == transcriptField {
		same |= 1 << toolsField
	}
	for i := range wholeCall.slots {
		if same.has(field(i)) {
			out = append(out, append([]string{string(wholeCall.slots[i].name)}, parts[1:]...))
		}
	}
	return out
}

// maskPath splits a path and checks that it is one.
func maskPath(path string) ([]string, error) {
	parts, ok := splitPath(path)
	if !ok {
		return nil, &MaskPathError{Path: path, Why: "it is not written as a path"}
	}
	known := maskable(CallResource.nodes[0], nil)
	for _, place := range known {
		// A column that lies deeper, or a name of v2.
		if !slices.Contains(place.parts, "[]") && (parts[0] == place.column.Name || parts[0] == place.column.V2) {
			parts = append(slices.Clone(place.parts), parts[1:]...)
			break
		}
	}
	if parts[0] == "extra" {
		switch {
		case len(parts) < 2 || parts[1] == "*" || parts[1] == "[]":
			return nil, &MaskPathError{Path: path, Why: "extra.NAME is a field of the call that has no column"}
		case wholeCall.find([]byte(parts[1])) != unknown:
			return nil, &MaskPathError{Path: path, Why: parts[1] + " is no field without a column"}
		}
		return parts, nil
	}
	for _, place := range known {
		n := len(place.parts)
		if len(parts) >= n && slices.Equal(parts[:n], place.parts) && (place.column.Mask == MaskInside || len(parts) == n) {
			return parts, nil
		}
	}
	return nil, &MaskPathError{Path: path, Why: "there is no such field, or it cannot be masked", Known: MaskNames()}
}

// maskPlace is a place that may be masked: what a person may be known by, and
// nothing that a call's life goes by.
type maskPlace struct {
	column *Column
	parts  []string
}

// maskable returns the places of an object that may be masked, by their names in
// v3. at is where the object lies.
func maskable(n *node, at []string) (out []maskPlace) {
	for f := range n.slots {
		s := &n.slots[f]
		parts := append(slices.Clone(at), string(s.name))
		switch {
		case !s.in[V3] || !s.maskable || s.column != nil && s.column.spare:
		case s.list >= 0:
			out = append(out, maskable(s.inner, append(parts, "[]"))...)
		case s.inner != nil:
			out = append(out, maskable(s.inner, parts)...)
		default:
			out = append(out, maskPlace{s.column, parts})
		}
	}
	return out
}

// MaskNames returns the names of what may be masked, as paths spell them.
func MaskNames() []string {
	var out, short []string
	for _, m := range maskable(wholeCall, nil) {
		path := strings.ReplaceAll(strings.Join(m.parts, "."), ".[]", "[]")
		out = append(out, path)
		if !strings.Contains(path, "[]") && path != m.column.Name {
			short = append(short, m.column.Name)
		}
	}
	return append(out, short...)
}

// splitPath splits at points outside quotes; [] behind a name is a part of its own.
func splitPath(path string) (parts []string, ok bool) {
	for rest := path; ; {
		var name string
		if strings.HasPrefix(rest, `"`) {
			end := strings.IndexByte(rest[1:], '"')
			if end < 0 {
				return nil, false
			}
			name, rest = rest[1:end+1], rest[end+2:]
		} else {
			end := strings.IndexAny(rest, `.["`)
			if end < 0 {
				end = len(rest)
			}
			name, rest = rest[:end], rest[end:]
		}
		if name == "" {
			return nil, false
		}
		parts = append(parts, name)
		for strings.HasPrefix(rest, "[]") {
			parts, rest = append(parts, "[]"), rest[2:]
		}
		if rest == "" {
			return parts, true
		}
		if !strings.HasPrefix(rest, ".") {
			return nil, false
		}
		rest = rest[1:]
	}
}

// MaskPathError says why a path cannot be masked.
type MaskPathError struct {
	Path  string
	Why   string
	Known []string // those that can; nil: that is not what is wrong
}

func (e *MaskPathError) Error() string { return "mask " + e.Path + ": " + e.Why }
