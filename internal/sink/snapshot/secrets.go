package snapshot

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/sink/table"
)

// Withheld is a place, in a stored object or in a change of one, whose value was withheld. It holds
// no secret.
type Withheld struct {
	Resource string // the table of the object
	Key      string // the object
	Name     string // its name; empty if it has none
	// ChangeSeen is when the change with the place was seen; nil if the place is in the object.
	ChangeSeen *time.Time
	resource.Place
}

// Secrets yields every place in the resources and changes of a snapshot whose value was withheld,
// or where an older callhouse stored a secret.
func (r *Reader) Secrets(ctx context.Context) iter.Seq2[Withheld, error] {
	return func(yield func(Withheld, error) bool) {
		enough := errors.New("enough")
		tell := func(at Withheld, places []resource.Place) error {
			for _, p := range places {
				at.Place = p
				if !yield(at, nil) {
					return enough
				}
			}
			return ctx.Err()
		}
		var err error
		for _, of := range resource.All {
			name := of.Table.Column("name")
			if err == nil {
				err = r.EachObject(of, func(o *schema.Object) error {
					_, places := of.Withhold(o)
					at := Withheld{Resource: of.Name, Key: of.KeyOf(o.Row)}
					if name >= 0 {
						at.Name = string(schema.TextOf(o.Row[name]))
					}
					return tell(at, places)
				})
			}
		}
		if err == nil {
			err = r.EachChange(func(row schema.Row) error {
				_, places := resource.WithholdChange(row)
				text := func(name string) string { return string(schema.TextOf(row[resource.Changes.Column(name)])) }
				seen := time.UnixMilli(schema.MillisOf(row[resource.Changes.Column("seen_at")]).V).UTC()
				return tell(Withheld{Resource: text("resource"), Key: text("key"), ChangeSeen: &seen}, places)
			})
		}
		if err != nil && !errors.Is(err, enough) {
			yield(Withheld{}, err)
		}
	}
}

// EachChange visits the rows of the table of changes. A row is valid until the next one.
func (r *Reader) EachChange(visit func(schema.Row) error) error {
	for _, f := range r.Files(resource.Changes.Name) {
		var room schema.Rows
		err := r.Read(f, func(t *table.Reader) error {
			return t.All(func(in parquet.Row) error {
				room.Empty(&resource.Changes)
				if err := t.Row.Add(in, &room); err != nil {
					return err
				}
				return visit(room.At(0))
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}
