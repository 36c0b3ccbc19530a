package analytics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/value"
	"callhouse/internal/resource"
	sqlfiles "callhouse/sql"
)

// agentNames returns what to call the agents, by id: by their names, those that are
// gone as well, and of several with one name each with the beginning of its id. It
// returns nil where the warehouse holds no agents.
func (w *Warehouse) agentNames(ctx context.Context, conn *duck.Conn) (map[string]string, error) {
	if len(w.snap.Manifest.FilesOf(resource.Agents.Name)) == 0 {
		return nil, nil
	}
	rows, err := conn.QuerySmall(ctx, "SELECT agent_id, name FROM stored.agents WHERE name IS NOT NULL")
	if err != nil {
		return nil, fmt.Errorf("read the agents' names: %w", err)
	}
	defer rows.Close()
	names, same := map[string]string{}, map[string]int{}
	for {
		row, err := rows.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read the agents' names: %w", err)
		}
		id, name := row[0].(string), row[1].(string)
		names[id] = name
		same[name]++
	}
	for id, name := range names {
		if same[name] > 1 {
			names[id] = name + " (" + id[:min(8, len(id))] + ")"
		}
	}
	return names, nil
}

// named returns the ids of the agents whose name, or what agentNames calls them, is
// text; or else of those whose name has text in it. Case does not matter.
func named(names map[string]string, text string) (ids []string) {
	text = strings.ToLower(text)
	for _, is := range []func(name string) bool{
		func(name string) bool { return name == text },
		func(name string) bool { return strings.HasPrefix(name, text+" (") },
		func(name string) bool { return strings.Contains(name, text) },
	} {
		for id, name := range names {
			if is(strings.ToLower(name)) {
				ids = append(ids, id)
			}
		}
		if len(ids) > 0 {
			break
		}
	}
	slices.Sort(ids)
	return ids
}

// namesFor returns the agents' names where a report's rows are about agents, and nil
// else. The connection must have no answer open.
func (w *Warehouse) namesFor(ctx context.Context, conn *duck.Conn, f *sqlfiles.File, p Params) (map[string]string, error) {
	if _, has := f.Column("agent_id"); !has && !slices.Contains(ByNames(p.By), "agent") {
		return nil, nil
	}
	return w.agentNames(ctx, conn)
}

// nameAgents has the rows of a report tell the names of agents: in the place of their
// ids for people, and beside them, in the last column, else.
func (r *Rows) nameAgents(names map[string]string, p Params) {
	at := slices.IndexFunc(r.columns, func(c value.Column) bool { return c.Name == "agent_id" })
	if at < 0 {
		at = slices.Index(ByNames(p.By), "agent")
	}
	if names == nil || at < 0 {
		return
	}
	r.agent, r.names, r.inPlace = at, names, p.NamesInPlace
	if !r.inPlace {
		r.columns = append(slices.Clone(r.columns), value.Column{Name: "agent_name", Type: "VARCHAR", Kind: value.Text})
	} else if c := &r.columns[at]; c.Name == "agent_id" {
		c.Label = "agent"
	}
}

// tell adds the agent's name to a row.
func (r *Rows) tell(row []any) []any {
	if r.names == nil {
		return row
	}
	id, _ := row[r.agent].(string)
	name, known := r.names[id]
	if r.inPlace {
		if known {
			row = append(r.told[:0], row...)
			row[r.agent], r.told = name, row
		}
		return row
	}
	r.told = append(r.told[:0], row...)
	if known {
		return append(r.told, name)
	}
	return append(r.told, nil)
}
