package schema

import (
	"slices"
	"strings"
)

// maskSpellings returns the paths that a path stands for in v3 and in v2.
func maskSpellings(parts []string) [][]string {
	as := func(name string) []string { return append([]string{name}, parts[1:]...) }
	switch parts[0] {
	case "from_number":
		return [][]string{parts, as("call_from")}
	case "to_number":
		return [][]string{parts, as("call_to")}
	case "transcript":
		return [][]string{parts, as("transcript_with_tool_calls")}
	case "extra":
		return [][]string{parts[1:]}
	}
	return [][]string{parts}
}

// maskPath splits a path and checks that it is one.
func maskPath(path string) ([]string, error) {
	parts, ok := splitPath(path)
	if !ok {
		return nil, &MaskPathError{Path: path, Why: "it is not written as a path"}
	}
	if full, ok := maskShort[parts[0]]; ok {
		parts = append(slices.Clone(full), parts[1:]...)
	}
	if parts[0] == "extra" {
		switch {
		case len(parts) < 2 || parts[1] == "*" || parts[1] == "[]":
			return nil, &MaskPathError{Path: path, Why: "extra.NAME is a field of the call that has no column"}
		case findCall([]byte(parts[1])) < numCallFields:
			return nil, &MaskPathError{Path: path, Why: parts[1] + " is no field without a column"}
		}
		return parts, nil
	}
	for _, known := range maskable {
		n := 0
		for n < len(known.parts) && n < len(parts) && known.parts[n] == parts[n] {
			n++
		}
		if n == len(known.parts) && (known.open || len(parts) == n) {
			return parts, nil
		}
	}
	return nil, &MaskPathError{Path: path, Why: "there is no such field, or it is none that can be masked", Known: MaskNames()}
}

// maskShort are names of columns that are deeper in the JSON, and those of v2.
var maskShort = map[string][]string{
	"summary":    {"call_analysis", "summary"},
	"evaluation": {"call_analysis", "evaluation"},
	"call_from":  {"from_number"},
	"call_to":    {"to_number"},
}

// maskable are the places that may be masked: what a person may be known by, and
// nothing that a call's life goes by. open ones may go on.
var maskable = []struct {
	parts []string
	open  bool
}{
	{parts: []string{"from_number"}},
	{parts: []string{"to_number"}},
	{parts: []string{"presentation_number"}},
	{parts: []string{"recording_url"}},
	{parts: []string{"variant_label"}},
	{parts: []string{"metadata"}, open: true},
	{parts: []string{"dynamic_variables"}, open: true},
	{parts: []string{"call_analysis", "summary"}},
	{parts: []string{"call_analysis", "evaluation"}, open: true},
	{parts: []string{"call_analysis", "custom_analysis_data", "[]", "value"}, open: true},
	{parts: []string{"transcript", "[]", "content"}},
	{parts: []string{"transcript", "[]", "arguments"}, open: true},
}

// MaskNames returns the names of what may be masked, as paths spell them.
func MaskNames() []string {
	var out []string
	for _, m := range maskable {
		out = append(out, strings.ReplaceAll(strings.Join(m.parts, "."), ".[]", "[]"))
	}
	return append(out, "summary", "evaluation")
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

// MaskPathError says why a path is none that can be masked.
type MaskPathError struct {
	Path  string
	Why   string
	Known []string // those that can; nil: that is not what is wrong
}

func (e *MaskPathError) Error() string { return "mask " + e.Path + ": " + e.Why }
