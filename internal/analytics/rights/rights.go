// Package rights limits what a reader may see of a warehouse: some tables, the calls of some agents, some columns without
// values. It writes the SQL of the stored tables under every view, and runs none.
package rights

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"callhouse/internal/analytics/sqltext"
	"callhouse/internal/layout"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	sqlfiles "callhouse/sql"
)

// Rights are the limits of a reader. The zero value allows everything.
type Rights struct {
	// Tables are the readable views; nil: all.
	Tables []string `json:",omitempty"`
	// Agents are the ids of the agents whose calls, and rows that belong to them, are visible; nil:
	// all. If set, tables without a link to an agent are hidden.
	Agents []string `json:",omitempty"`
	// Masked are columns that are null, such as from_number in every table, or transcript_turns.content in one.
	Masked []string `json:",omitempty"`
}

// None reports whether there are no limits.
func (r Rights) None() bool { return r.Tables == nil && r.Agents == nil && r.Masked == nil }

// Key identifies rights: equal keys mean equal rights.
func (r Rights) Key() string {
	if r.None() {
		return ""
	}
	for _, list := range []*[]string{&r.Tables, &r.Agents, &r.Masked} {
		*list = slices.Compact(slices.Sorted(slices.Values(*list)))
	}
	raw, _ := json.Marshal(r) // lists of strings always encode
	return string(raw)
}

// DeniedError reports a table that the reader may not see.
type DeniedError struct{ Table string }

func (e *DeniedError) Error() string { return "permission denied for table " + e.Table }

// Check validates the names. An unknown name is an error, since it can only be a mistake.
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
			return slices.ContainsFunc(t.Columns, func(c schema.Column) bool { return !c.Required && c.Parent != "call_id" && is(name, t, c) })
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

// Holds reports whether rows of a stored table are visible through a view that the reader may see.
func (r Rights) Holds(t *schema.Table) bool {
	return r.None() || slices.ContainsFunc(sqlfiles.Views(),
		func(v *sqlfiles.File) bool { return slices.Contains(under(v.Name), t) && r.May(v.Name) == nil })
}

// MayListen reports whether the reader may listen to recordings. A recording reveals what was said, so
// the transcripts must be visible as well, and not masked.
func (r Rights) MayListen() bool {
	for _, t := range []*schema.Table{&schema.Calls, &schema.Turns, &schema.Recordings} {
		if r.May(t.Name) != nil {
			return false
		}
	}
	return !r.masks(&schema.Turns, schema.Turns.Columns[schema.Turns.Column("content")]) &&
		!r.masks(&schema.Recordings, schema.Recordings.Columns[schema.Recordings.Column("path")])
}

// is reports whether the name of a masked column refers to this column of a table, or to one from which it is derived.
func is(name string, t *schema.Table, c schema.Column) bool {
	return slices.ContainsFunc(append(slices.Clone(c.Made), c.Name), func(column string) bool {
		_, inOther, ofOther := strings.Cut(column, ".")
		return name == column || name == t.Name+"."+column || ofOther && name == inOther
	})
}

// under returns the stored tables that a view reads.
func under(view string) (out []*schema.Table) {
	f, _ := sqlfiles.View(view)
	for _, name := range f.Reads {
		if t := resource.Stored(name); t != nil {
			out = append(out, t)
		} else {
			out = append(out, under(name)...)
		}
	}
	return out
}

// link returns the column that assigns rows of a table to an agent: the agent's id, or the call's; empty if there is none.
func link(t *schema.Table) string {
	for _, name := range []string{"agent_id", "call_id"} {
		if t.Column(name) >= 0 {
			return name
		}
	}
	return ""
}

// Relation returns a SELECT of the rows of some of a table's files with the reader's limits applied. isForeign means that
// others write the statements over it. DuckDB may evaluate their conditions before the filter, and an error or the time
// taken could reveal a value of a hidden row, so all of its values are null as well.
func (r Rights) Relation(snap *layout.Snapshot, files []*layout.File, t *schema.Table, isForeign bool) string {
	all := sqltext.Relation(snap, files, t)
	switch {
	case r.None():
		return all
	case !r.Holds(t):
		return sqltext.Empty(t)
	}
	condition := r.agentsCondition(snap, t)
	var columns []string
	for _, c := range t.Columns {
		name := sqltext.Ident(c.Name)
		switch {
		case r.masks(t, c):
			columns = append(columns, fmt.Sprintf("CAST(NULL AS %s) AS %s", c.Type.DuckDB(), name))
		case isForeign && condition != "":
			columns = append(columns, fmt.Sprintf("CASE WHEN is_theirs THEN %s END AS %s", name, name))
		default:
			columns = append(columns, name)
		}
	}
	if t.ByMonth() { // a property of the file alone
		columns = append(columns, schema.Month)
	}
	text := "SELECT " + strings.Join(columns, ", ") + " FROM "
	switch {
	case condition == "":
		return text + "(" + all + ")"
	case isForeign:
		return text + "(SELECT *, " + condition + " AS is_theirs FROM (" + all + ")) WHERE is_theirs"
	}
	return text + "(" + all + ") WHERE " + condition
}

// masks reports whether a column is null. The columns for unknown fields may hold the same value in
// another form, so they are masked with the first masked column.
func (r Rights) masks(t *schema.Table, c schema.Column) bool {
	extra := c.Name == "extra" || c.Name == "own_extra"
	return !c.Required && slices.ContainsFunc(t.Columns, func(masked schema.Column) bool {
		return (extra || masked.ID == c.ID) && slices.ContainsFunc(r.Masked, func(name string) bool { return is(name, t, masked) })
	})
}

// agentsCondition returns the condition that selects the rows of the agents; empty: no condition.
func (r Rights) agentsCondition(snap *layout.Snapshot, t *schema.Table) string {
	if r.Agents == nil {
		return ""
	}
	ids := make([]string, len(r.Agents))
	for i, id := range r.Agents {
		ids[i] = sqltext.Quote(id)
	}
	agents := "agent_id IN (" + strings.Join(ids, ", ") + ")"
	if link(t) == "agent_id" {
		return agents
	}
	calls := sqltext.Relation(snap, snap.Manifest.FilesOf(schema.Calls.Name), &schema.Calls)
	return "call_id IN (SELECT call_id FROM (" + calls + ") WHERE " + agents + ")"
}
