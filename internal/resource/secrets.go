package resource

import (
	"fmt"
	"slices"

	"callhouse/internal/schema"
	"callhouse/internal/wire/scan"
	"callhouse/internal/wire/secret"
)

// Place is the place of a secret, or of its mark, in an object.
type Place = secret.Place

// rules returns a resource's additional rules for secrets.
func (r *Resource) rules() secret.Rules {
	rules := secret.Rules{Hide: r.Secrets}
	for _, col := range r.keys {
		c := &r.Table.Columns[col]
		rules.Keep = append(rules.Keep, c.Name, c.V3, c.V2)
	}
	return rules
}

// Scrub returns the JSON of an object, as the service sent it, without its secrets.
func (r *Resource) Scrub(body []byte) ([]byte, error) {
	clean, _, err := r.rules().Withhold(body)
	if err != nil {
		return nil, fmt.Errorf("cannot be decoded: %w", err)
	}
	return clean, nil
}

// Withhold returns a stored object without its secrets. If it holds none, which is normal unless an
// older callhouse stored it, the result is the object itself, not a copy. Withhold also returns
// every place where something is or was withheld; its path begins with the name of the column.
// Values that are not JSON stay as they are: they are damaged, which verify reports.
func (r *Resource) Withhold(o *schema.Object) (clean *schema.Object, places []Place) {
	rules := r.rules()
	clean = o
	edit := func(t *schema.Table, old schema.Row, now func() schema.Row) {
		for i := range t.Columns {
			c := &t.Columns[i]
			ours := t == r.Table && r.IsKey(i) || c.V3 == "" && c.Name != "extra" && c.Name != "own_extra"
			isText := c.Type == schema.JSON || c.Type == schema.Text || c.Type == schema.Word
			if ours || !isText || old[i].IsNull() {
				continue
			}
			value, found := withholdIn(rules, c, old[i].ByteArray())
			if places = append(places, found...); secret.AnyClear(found) {
				now()[i] = schema.TextValue(value)
			}
		}
	}
	own := func() *schema.Object {
		if clean == o {
			clean = new(schema.Object)
			clean.Set(o)
		}
		return clean
	}
	edit(r.Table, o.Row, func() schema.Row { return own().Row })
	for i, t := range r.Lists {
		for n := range o.Lists[i].Len() {
			edit(t, o.Lists[i].At(n), func() schema.Row { return own().Lists[i].At(n) })
		}
	}
	return clean, places
}

// withholdIn returns the value of a column without its secrets.
func withholdIn(rules secret.Rules, c *schema.Column, value []byte) (clean []byte, places []Place) {
	body := append(scan.AppendString([]byte{'{'}, []byte(c.Name)), ':')
	if c.Type == schema.JSON {
		body = append(body, value...)
	} else {
		body = scan.AppendString(body, value)
	}
	whole, places, err := rules.Withhold(append(body, '}'))
	if err != nil || !secret.AnyClear(places) {
		return value, places
	}
	for m := range scan.Members(whole) {
		clean = m.Value.Raw
		if c.Type != schema.JSON {
			clean = scan.KeyText(m.Value)
		}
	}
	return slices.Clone(clean), places
}

// WithholdChange returns a row of [Changes] without the secrets that an older callhouse stored in
// it. If there are none, it returns the row itself.
func WithholdChange(row schema.Row) (clean schema.Row, places []Place) {
	var rules secret.Rules
	if of := ByName(string(schema.TextOf(row[Changes.Column("resource")]))); of != nil {
		rules = of.rules()
	}
	clean = row
	for _, name := range []string{"before", "after"} {
		i := Changes.Column(name)
		if row[i].IsNull() {
			continue
		}
		value, found, err := rules.Withhold(row[i].ByteArray())
		if err != nil {
			continue // as above
		}
		for _, p := range found {
			p.Path = name + "." + p.Path
			places = append(places, p)
		}
		if secret.AnyClear(found) {
			if &clean[0] == &row[0] {
				clean = slices.Clone(row)
			}
			clean[i] = schema.TextValue(value)
		}
	}
	return clean, places
}

// AnyClear reports whether one of the places still holds its secret.
func AnyClear(places []Place) bool { return secret.AnyClear(places) }
