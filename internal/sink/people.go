package sink

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"callhouse/internal/resource"
	"callhouse/internal/schema"
)

// personal are the resources whose objects are people, or are about calls.
var personalResources = slices.DeleteFunc(slices.Clone(resource.All),
	func(r *resource.Resource) bool { return len(r.Contact) == 0 && r.OfCall == "" })

// findPeople adds the selected customers of all snapshots. A shared file is read once.
func (f *erasure) findPeople(ctx context.Context, sel Selection) error {
	for _, key := range sel.Customers {
		f.ids[key] = true
	}
	if len(f.numbers) == 0 {
		return nil
	}
	seen := map[string]bool{}
	for _, s := range f.all {
		r := f.w.read(s)
		for _, of := range personalResources {
			file := r.File(of.Table.Name, "")
			if len(of.Contact) == 0 || file == nil || seen[file.Path] {
				continue
			}
			seen[file.Path] = true
			err := r.EachObject(of, func(o *schema.Object) error {
				texts := contacts(of, o)
				for i := range f.numbers {
					if n := &f.numbers[i]; slices.ContainsFunc(texts, n.is) {
						key := of.KeyOf(o.Row)
						f.ids[key], n.customers[key] = true, true
					}
				}
				return ctx.Err()
			})
			if err := f.excuse(ctx, s, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// contacts returns all texts in the columns with contact data.
func contacts(of *resource.Resource, o *schema.Object) (texts []string) {
	for _, name := range of.Contact {
		d := json.NewDecoder(bytes.NewReader(schema.TextOf(o.Row[of.Table.Column(name)])))
		d.UseNumber()
		for {
			token, err := d.Token()
			if err != nil {
				break
			}
			texts = append(texts, fmt.Sprint(token))
		}
	}
	return texts
}
