package analytics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/value"
	"callhouse/internal/resource"
	sqlfiles "callhouse/sql"
)

// namesOf returns what to call the objects of a resource, by id: by their names, those
// that are gone as well, and of several with one name each with the beginning of its id.
// It returns nil where the warehouse holds none.
func (w *Warehouse) namesOf(ctx context.Context, conn *duck.Conn, of *resource.Resource) (map[string]string, error) {
	if len(w.snap.Manifest.FilesOf(of.Name)) == 0 {
		return nil, nil
	}
	rows, err := conn.QuerySmall(ctx, fmt.Sprintf("SELECT %s, name FROM stored.%s WHERE name IS NOT NULL", of.Key[0], of.Name))
	if err != nil {
		return nil, fmt.Errorf("read the names of %s: %w", of.Name, err)
	}
	defer rows.Close()
	names, same := map[string]string{}, map[string]int{}
	for {
		row, err := rows.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read the names of %s: %w", of.Name, err)
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

// named returns the ids of the agents whose name, or what namesOf calls them, is
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

// namesFor returns the names of agents where a report's rows are about agents, and of
// campaigns where they are by campaign; nil where neither is so. The connection must have
// no answer open.
func (w *Warehouse) namesFor(ctx context.Context, conn *duck.Conn, f *sqlfiles.File, p Params) (names map[string]string, err error) {
	groups := ByNames(p.By)
	if slices.ContainsFunc(f.Columns, func(c sqlfiles.Column) bool { return isAgent(c.Name) }) || slices.Contains(groups, "agent") {
		if names, err = w.namesOf(ctx, conn, resource.Agents); err != nil {
			return nil, err
		}
	}
	if !slices.Contains(groups, "campaign") {
		return names, nil
	}
	campaigns, err := w.namesOf(ctx, conn, resource.Campaigns)
	if names == nil {
		return campaigns, err
	}
	maps.Copy(names, campaigns) // their ids are numbers, and no agent's
	return names, err
}

// isAgent says whether a column of a report is an agent, as agent_id or inbound_agent_id.
func isAgent(column string) bool { return strings.HasSuffix(column, "agent_id") }

// tellNames has the rows of a report tell the names of agents and campaigns: in the place
// of their ids for people, and beside them, in the last columns, else.
func (r *Rows) tellNames(names map[string]string, p Params) {
	if names == nil {
		return
	}
	r.names, r.inPlace = names, p.NamesInPlace
	r.columns = slices.Clone(r.columns)
	groups := ByNames(p.By)
	for i, c := range r.columns {
		if i < len(groups) && groups[i] != "agent" && groups[i] != "campaign" || i >= len(groups) && !isAgent(c.Name) {
			continue
		}
		what := strings.TrimSuffix(c.Name, "_id")
		named := value.Column{Name: what + "_name", Type: "VARCHAR", Kind: value.Text}
		switch {
		case r.inPlace && what != c.Name:
			r.columns[i].Label = strings.ReplaceAll(what, "_", " ")
		case !r.inPlace && slices.ContainsFunc(r.columns, func(c value.Column) bool { return c.Name == named.Name }):
			continue // the group's is that of its rows
		case !r.inPlace:
			r.columns = append(r.columns, named)
		}
		r.named = append(r.named, i)
	}
}

// tell adds the names to a row.
func (r *Rows) tell(row []any) []any {
	r.exact = row
	if len(r.named) == 0 {
		return row
	}
	r.told = append(r.told[:0], row...)
	for _, at := range r.named {
		id, _ := row[at].(string)
		name, known := r.names[id]
		switch {
		case r.inPlace && known:
			r.told[at] = name
		case r.inPlace:
		case known:
			r.told = append(r.told, name)
		default:
			r.told = append(r.told, nil)
		}
	}
	return r.told
}
