// Package rights says what a reader may see of a warehouse: some of its tables, the calls
// of some agents, and columns without their values. It writes the SQL of the stored tables
// as such a reader has them, below every view, and runs none.
package rights

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"callhouse/internal/analytics/stored"
	"callhouse/internal/layout"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	sqlfiles "callhouse/sql"
)

// Rights are those of a reader. The zero value is everything.
type Rights struct {
	// Tables are what may be read, by the names of views; nil: all.
	Tables []string `json:",omitempty"`
	// Agents are the ids of those whose calls there are, with what belongs to these calls;
	// nil: all. Then tables that have nothing to do with an agent are closed.
	Agents []string `json:",omitempty"`
	// Masked are columns that are null, as from_number of every table that has it, or
	// transcript_turns.content of one.
	Masked []string `json:",omitempty"`
}

// None says that there are no limits.
func (r Rights) None() bool { return r.Tables == nil && r.Agents == nil && r.Masked == nil }

// Key tells rights from others: those with the same key are the same.
func (r Rights) Key() string {
	if r.None() {
		return ""
	}
	for _, list := range []*[]string{&r.Tables, &r.Agents, &r.Masked} {
		*list = slices.Compact(slices.Sorted(slices.Values(*list)))
	}
	raw, _ := json.Marshal(r) // lists of texts always encode
	return string(raw)
}

// DeniedError says that a reader may not see a table.
type DeniedError struct{ Table string }

func (e *DeniedError) Error() string { return "permission denied for table " + e.Table }

// Check returns what is wrong with the names. A limit that names nothing is no limit that
// somebody can have meant.
func (r Rights) Check() error {
	for what, list := range map[string][]string{"tables": r.Tables, "agents": r.Agents, "masked columns": r.Masked} {
		if list != nil && len(list) == 0 || slices.Contains(list, "") {
			return fmt.Errorf("the list of %s is empty or has an empty name", what)
		}
	}
	for _, name := range r.Tables {
		if _, ok := sqlfiles.View(name); !ok {
			return fmt.Errorf("unknown table %q", name)
		}
		if err := r.May(name); err != nil {
			return fmt.Errorf("rows of the table %s cannot be assigned to an agent, so a user limited to agents cannot read it", name)
		}
	}
	for _, name := range r.Masked {
		if !slices.ContainsFunc(resource.Tables, func(t *schema.Table) bool {
			return slices.ContainsFunc(t.Columns, func(c schema.Column) bool { return !c.Required && is(name, t, c) })
		}) {
			return fmt.Errorf("%q is not a nullable stored column; to mask a column of a view, mask the columns it is computed from", name)
		}
	}
	return nil
}

// May returns a *DeniedError for a view that the reader may not see.
func (r Rights) May(view string) error {
	if r.Tables != nil && !slices.Contains(r.Tables, view) {
		return &DeniedError{view}
	}
	for _, t := range under(view) {
		if r.Agents != nil && link(t) == "" {
			return &DeniedError{view}
		}
	}
	return nil
}

// Holds says whether rows of a stored table are there: whether a view that the reader may
// see is made of them.
func (r Rights) Holds(t *schema.Table) bool {
	return r.None() || slices.ContainsFunc(sqlfiles.Views(),
		func(v *sqlfiles.File) bool { return slices.Contains(under(v.Name), t) && r.May(v.Name) == nil })
}

// Tallied says whether counts of all calls tell nothing more than the reader may know.
func (r Rights) Tallied() bool {
	if r.Agents != nil {
		return false
	}
	return !slices.ContainsFunc(schema.Calls.Columns, func(c schema.Column) bool {
		counted := c.Mask == schema.NeverMasked && c.Made == nil ||
			slices.ContainsFunc(schema.TallyTables, func(t *schema.Table) bool { return t.Column(c.Name) >= 0 })
		return counted && slices.ContainsFunc(r.Masked, func(name string) bool { return is(name, &schema.Calls, c) })
	})
}

// is says whether a name of a masked column means the column of a table, or one that it is made of.
func is(name string, t *schema.Table, c schema.Column) bool {
	return slices.ContainsFunc(append(c.Made, c.Name), func(column string) bool { return name == column || name == t.Name+"."+column })
}

// under returns the stored tables that a view is made of.
func under(view string) (out []*schema.Table) {
	f, _ := sqlfiles.View(view)
	for _, name := range f.Reads {
		table, isStored := strings.CutPrefix(name, "stored.")
		if !isStored {
			out = append(out, under(name)...)
			continue
		}
		at := slices.IndexFunc(resource.Tables, func(t *schema.Table) bool { return t.Name == table })
		out = append(out, resource.Tables[at])
	}
	return out
}

// link is the column by which the rows of a table are an agent's: its own id, or that of
// its call. Without one nothing says whose they are.
func link(t *schema.Table) string {
	for _, name := range []string{"agent_id", "call_id"} {
		if t.Column(name) >= 0 {
			return name
		}
	}
	return ""
}

// Relation returns a SELECT of the rows of some of a table's files as the reader has them.
//
// With isForeign somebody else writes the statements over it. DuckDB may then evaluate what
// these say of a row before it looks whether the row is theirs, and tell by an error, or by
// the time that it takes, what stands in it. So of a row that is not theirs every value is
// null as well, whatever is evaluated first.
func (r Rights) Relation(snap *layout.Snapshot, files []*layout.File, t *schema.Table, isForeign bool) string {
	all := stored.Relation(snap, files, t, false)
	switch {
	case r.None():
		return all
	case !r.Holds(t):
		return stored.Empty(t)
	}
	theirs := r.theirs(snap, t)
	var columns []string
	for _, c := range t.Columns {
		name := stored.Ident(c.Name)
		switch {
		case r.masks(t, c):
			columns = append(columns, fmt.Sprintf("CAST(NULL AS %s) AS %s", c.Type.DuckDB(), name))
		case isForeign && theirs != "":
			columns = append(columns, fmt.Sprintf("CASE WHEN is_theirs THEN %s END AS %s", name, name))
		default:
			columns = append(columns, name)
		}
	}
	if t.ByMonth() { // which tells of the file alone
		columns = append(columns, schema.Month)
	}
	text := "SELECT " + strings.Join(columns, ", ") + " FROM "
	switch {
	case theirs == "":
		return text + "(" + all + ")"
	case isForeign:
		return text + "(SELECT *, " + theirs + " AS is_theirs FROM (" + all + ")) WHERE is_theirs"
	}
	return text + "(" + all + ") WHERE " + theirs
}

// masks says whether a column is null. What a table keeps beside its columns may hold the
// same value in another shape, so it goes with the first of them.
func (r Rights) masks(t *schema.Table, c schema.Column) bool {
	beside := c.Name == "extra" || c.Name == "own_extra"
	return !c.Required && slices.ContainsFunc(t.Columns, func(masked schema.Column) bool {
		return (beside || masked.ID == c.ID) && slices.ContainsFunc(r.Masked, func(name string) bool { return is(name, t, masked) })
	})
}

// theirs returns the condition that a row is one of the agents'; empty: there is none.
func (r Rights) theirs(snap *layout.Snapshot, t *schema.Table) string {
	if r.Agents == nil {
		return ""
	}
	ids := make([]string, len(r.Agents))
	for i, id := range r.Agents {
		ids[i] = stored.Quote(id)
	}
	agents := "agent_id IN (" + strings.Join(ids, ", ") + ")"
	if link(t) == "agent_id" {
		return agents
	}
	calls := stored.Relation(snap, snap.Manifest.FilesOf(schema.Calls.Name), &schema.Calls, false)
	return "call_id IN (SELECT call_id FROM (" + calls + ") WHERE " + agents + ")"
}
