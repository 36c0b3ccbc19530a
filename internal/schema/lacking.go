package schema

// Lacking are the fields, by object, for which a file has no column though
// today's tables have one: the program that wrote it did not know them. What was
// sent for them stands in extra, and no rule says that they were sent as null.
type Lacking [numObjects]fieldSet

// lacking returns what the file of a reader lacks; nil is nothing.
func (r *RowReader) lacking() *Lacking {
	var out *Lacking
	for _, o := range objectsOf(r.table) {
		for f := range o.names {
			col := r.table.Column(o.column(field(f)))
			if col < 0 || r.Has(col) {
				continue
			}
			if out == nil {
				out = new(Lacking)
			}
			out[o.id] |= 1 << f
		}
	}
	return out
}

// objectsOf returns the objects whose fields a table has columns for.
func objectsOf(t *Table) []*object {
	switch t {
	case &Calls:
		return []*object{callObject, agentObject, analysisObject, costObject}
	case &Turns:
		return []*object{turnObject}
	case &Items:
		return []*object{itemObject}
	}
	return nil
}

// column names the column of a field. What is no column's name has none.
func (o *object) column(f field) string {
	name := string(o.names[f])
	switch {
	case o == callObject && f == fCallFrom:
		return "from_number"
	case o == callObject && f == fCallTo:
		return "to_number"
	case o == callObject && f == fStartTimestamp:
		return "start_at"
	case o == callObject && f == fEndTimestamp:
		return "end_at"
	case o == costObject && f == kTotalCredits:
		return "credits_used"
	case o == costObject && f == kDurationSeconds:
		return "billed_seconds"
	case o == turnObject && f == tName:
		return "tool_name"
	}
	return name
}

// Took notes that turns or items of the call come from the file of r.
func (c *Call) Took(r *RowReader) {
	switch {
	case r.lacks == nil || r.lacks == c.Lacks:
	case c.Lacks == nil:
		c.Lacks = r.lacks
	default:
		both := *c.Lacks
		for o := range both {
			both[o] |= r.lacks[o]
		}
		c.Lacks = &both
	}
}

// sent returns those of the fields of an object that the service sends even when
// null, of which the call's file can tell.
func (c *Call) sent(o *object, shown fieldSet) fieldSet {
	if c.Lacks == nil {
		return shown
	}
	return shown &^ c.Lacks[o.id]
}
