package resource

import (
	"slices"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/schema"
	"callhouse/internal/wire"
)

// Fetched is when something was fetched, and by which run.
type Fetched struct {
	At  int64 // ms UTC
	Run string
}

// MergeItem makes item, as decoded from a list, the object's current state. old is the known state,
// nil for none, and is not changed. It returns false if item has nothing new; old is then still
// current.
func (r *Resource) MergeItem(old, item *schema.Object, f Fetched) (changed bool) {
	row := item.Row
	r.touch(row, f)
	if row[r.firstSeen] = row[r.changed]; old == nil {
		return true
	}
	row[r.firstSeen] = old.Row[r.firstSeen]
	for _, col := range r.own {
		row[col] = old.Row[col]
	}
	return !r.Same(old, item)
}

// MergeRecord adds the data of an object's own record; nil if there is none (any more). Fields that
// only the record has are taken from it. It returns false if nothing changed. The object is
// complete in either case.
func (r *Resource) MergeRecord(o, record *schema.Object, f Fetched) (changed bool) {
	if record != nil {
		record.Row[r.ownExtra] = record.Row[r.extra]
		for _, col := range r.own {
			t := r.Table.Columns[col].Type
			changed = changed || !schema.SameValue(t, o.Row[col], record.Row[col])
			o.Row[col] = record.Row[col]
		}
	}
	if changed {
		r.touch(o.Row, f)
	}
	o.Row[r.completedAt] = schema.InstantValue(f.At)
	return changed
}

// Reopen marks an object as incomplete.
func (r *Resource) Reopen(o *schema.Object) { o.Row[r.completedAt] = parquet.Value{} }

// MergeGone records that a complete list no longer has an object. It returns false if that was
// already known.
func (r *Resource) MergeGone(o *schema.Object, f Fetched) (changed bool) {
	if !o.Row[r.deleted].IsNull() {
		return false
	}
	r.touch(o.Row, f)
	o.Row[r.deleted] = o.Row[r.changed]
	return true
}

func (r *Resource) touch(row schema.Row, f Fetched) {
	row[r.changed], row[r.run] = schema.InstantValue(f.At), schema.TextValue([]byte(f.Run))
}

// Deleted reports whether the lists no longer have an object.
func (r *Resource) Deleted(o *schema.Object) bool { return !o.Row[r.deleted].IsNull() }

// Complete returns when an object's own record and its children's lists were last fetched, ms UTC; 0: still to be
// fetched.
func (r *Resource) Complete(o *schema.Object) int64 { return schema.MillisOf(o.Row[r.completedAt]).V }

// Bare reports whether only the list item of an object is known.
func (r *Resource) Bare(o *schema.Object) bool {
	return !slices.ContainsFunc(r.own, func(col int) bool { return !o.Row[col].IsNull() })
}

// Parts reports whether objects have more data to fetch than their list items.
func (r *Resource) Parts() bool { return r.Record != "" || len(r.Children()) > 0 }

// Same reports whether two states of an object are the same for readers of the warehouse.
func (r *Resource) Same(a, b *schema.Object) bool { return len(r.differing(a, b)) == 0 }

// differing returns the positions of the columns in which two states differ.
func (r *Resource) differing(a, b *schema.Object) (cols []int) {
	for i := range r.Table.Columns {
		if r.Compared(i) && !schema.SameValue(r.Table.Columns[i].Type, a.Row[i], b.Row[i]) {
			cols = append(cols, i)
		}
	}
	return cols
}

// Compared reports whether a column comes from the service and may change.
func (r *Resource) Compared(col int) bool {
	return r.Table.Columns[col].Compared() || col == r.ownExtra
}

// ofItem reports whether a column comes from the items of lists.
func (r *Resource) ofItem(col int) bool {
	c := &r.Table.Columns[col]
	return c.Name == "extra" || c.Name == "source" || c.V3 != "" && !slices.Contains(r.own, col)
}

// ColumnsJSON returns the JSON of an object's columns only. It changes the object.
func (r *Resource) ColumnsJSON(o *schema.Object) []byte {
	o.Row[r.extra] = parquet.Value{}
	return wire.AppendJSON(nil, o)
}
