package question

import (
	"fmt"
	"slices"
	"strings"

	"callhouse/internal/analytics/stored"
)

// Filter narrows the calls to those that have one of the values.
type Filter struct {
	Dimension
	Values []string
}

// Named reports whether the values are agents or campaigns, which may be given by name.
func (f Filter) Named() bool { return f.Name == "agent" || f.Name == "campaign" }

// Open reports whether the values may be any text.
func (f Filter) Open() bool { return !f.Natural && f.known == nil && !f.Named() }

// Filters reads conditions, as in call_type=outbound. Several of one dimension
// are alternatives.
func Filters(where []string) (out []Filter, err error) {
	for _, text := range where {
		name, v, ok := strings.Cut(text, "=")
		if !ok {
			return nil, &GroupError{fmt.Sprintf("the condition %q has no value", text),
				"write NAME=VALUE, e.g. call_type=outbound; an empty VALUE selects calls without a value"}
		}
		d, err := dimensionOf(name, 2+len(out))
		if err != nil {
			return nil, err
		}
		if d.known != nil && v != "" && !slices.Contains(d.known, v) {
			return nil, Unknown(name, v, d.known)
		}
		if d.valid != nil && v != "" && !d.valid(v) {
			return nil, &GroupError{fmt.Sprintf("invalid %s %q", name, v), "for example " + d.like}
		}
		at := slices.IndexFunc(out, func(f Filter) bool { return f.Name == name })
		if at < 0 {
			out, at = append(out, Filter{Dimension: d}), len(out)
		}
		out[at].Values = append(out[at].Values, v)
	}
	return out, nil
}

// Where returns the condition, with the dimension as expr. An empty value
// stands for none.
func (f Filter) Where(expr string) string {
	text := expr
	if f.Natural {
		text = "CAST(" + expr + " AS VARCHAR)"
	}
	var terms []string
	for _, v := range f.Values {
		if v == "" {
			terms = append(terms, expr+" IS NULL")
			if f.Natural {
				continue
			}
		}
		terms = append(terms, text+" = "+stored.Quote(v))
	}
	return "(" + strings.Join(terms, " OR ") + ")"
}
