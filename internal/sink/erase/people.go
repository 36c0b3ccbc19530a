package erase

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/sink/snapshot"
)

// personal are the resources whose objects are people, or are about calls.
var personal = slices.DeleteFunc(slices.Clone(resource.All), func(r *resource.Resource) bool { return len(r.Contact) == 0 && r.OfCall == "" })

// findPeople adds the customers that the selection is about, in any snapshot.
func (f *erasure) findPeople(ctx context.Context, sel Selection) error {
	for _, key := range sel.Customers {
		f.ids[key] = true
	}
	if len(sel.Numbers) == 0 {
		return nil
	}
	for _, s := range f.all {
		r := snapshot.NewReader(f.w.FS, s, f.w.Proofs)
		for _, of := range personal {
			if len(of.Contact) == 0 {
				continue
			}
			err := r.EachObject(of, func(o *schema.Object) error {
				if slices.ContainsFunc(contacts(of, o), func(text string) bool {
					return slices.ContainsFunc(sel.Numbers, func(number string) bool { return sameNumber(number, text) })
				}) {
					f.ids[of.KeyOf(o.Row)] = true
				}
				return ctx.Err()
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// contacts returns all texts in the columns by which a person can be reached.
func contacts(of *resource.Resource, o *schema.Object) (texts []string) {
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			texts = append(texts, v)
		case json.Number:
			texts = append(texts, v.String())
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	for _, name := range of.Contact {
		if raw := schema.TextOf(o.Row[of.Table.Column(name)]); raw != nil {
			d := json.NewDecoder(strings.NewReader(string(raw)))
			d.UseNumber()
			var v any
			if d.Decode(&v) == nil {
				walk(v)
			}
		}
	}
	return texts
}

// leastNumber is how many digits two spellings of a number must have in common: an area
// code and a number. Of shorter ones the very text must be the same.
const leastNumber = 9

// sameNumber says whether two texts may be one phone number: +821012345678, 82 10 1234
// 5678 and the national 010-1234-5678 are. Of two numbers that differ in their country
// alone it says so as well: rather one customer too many than one too few.
func sameNumber(a, b string) bool {
	if a == b {
		return true
	}
	a, b = digits(a), digits(b)
	return len(a) >= leastNumber && len(b) >= leastNumber && (strings.HasSuffix(a, b) || strings.HasSuffix(b, a))
}

// digits returns the digits of a phone number without zeros in front; empty for a text
// that is none.
func digits(text string) string {
	number := strings.NewReplacer(" ", "", "-", "", "(", "", ")", "", ".", "", "+", "").Replace(text)
	if strings.Trim(number, "0123456789") != "" {
		return ""
	}
	return strings.TrimLeft(number, "0")
}
