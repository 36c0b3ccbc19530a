package schema

// Lacking are the fields, by the object that they are of, for which a file has no
// column though today's tables have one: the program that wrote it did not know
// them. What was sent for them stands in extra, and no rule says that they were
// sent as null.
type Lacking struct{ fields []fieldSet }

// lacking returns what the file of a reader lacks; nil is nothing.
func (r *RowReader) lacking(of *Resource) *Lacking {
	var out *Lacking
	for _, n := range of.nodes {
		for f := range n.slots {
			col := n.slots[f].col
			if n.table != r.table || col < 0 || r.Has(col) {
				continue
			}
			if out == nil {
				out = &Lacking{make([]fieldSet, len(of.nodes))}
			}
			out.fields[n.id] |= 1 << f
		}
	}
	return out
}

// Took notes that rows of the object come from the file of r.
func (o *Object) Took(r *RowReader) {
	switch {
	case r.lacks == nil || r.lacks == o.Lacks:
	case o.Lacks == nil:
		o.Lacks = r.lacks
	default:
		both := &Lacking{append([]fieldSet(nil), o.Lacks.fields...)}
		for i := range both.fields {
			both.fields[i] |= r.lacks.fields[i]
		}
		o.Lacks = both
	}
}

// sent returns those of the fields of an object that the service sends even when
// null, of which the object's file can tell.
func (o *Object) sent(n *node, shown fieldSet) fieldSet {
	if o.Lacks == nil {
		return shown
	}
	return shown &^ o.Lacks.fields[n.id]
}
