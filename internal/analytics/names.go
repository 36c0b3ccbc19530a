package analytics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/value"
	"callhouse/internal/resource"
	sqlfiles "callhouse/sql"
)

// namesOf returns what to call the objects of a resource, by id: see [labels]. It returns nil
// where the warehouse holds none.
func (w *Warehouse) namesOf(ctx context.Context, conn *duck.Conn, of *resource.Resource) (map[string]string, error) {
	names, err := w.ownNames(ctx, conn, of)
	return labels(names), err
}

// ownNames returns the names of the objects of a resource, by id, those that are gone as well.
func (w *Warehouse) ownNames(ctx context.Context, conn *duck.Conn, of *resource.Resource) (map[string]string, error) {
	if len(w.Snapshot().Manifest.FilesOf(of.Name)) == 0 {
		return nil, nil
	}
	rows, err := conn.QuerySmall(ctx, fmt.Sprintf("SELECT %s, name FROM stored.%s WHERE name IS NOT NULL", of.Key[0], of.Name))
	if err != nil {
		return nil, fmt.Errorf("read the names of %s: %w", of.Name, err)
	}
	defer rows.Close()
	names := map[string]string{}
	for {
		row, err := rows.Next(ctx)
		if errors.Is(err, io.EOF) {
			return names, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the names of %s: %w", of.Name, err)
		}
		names[row[0].(string)] = row[1].(string)
	}
}

// fold returns what names are compared by: people do not tell apart names that differ in
// case, in white space or in how a letter is composed.
func fold(name string) string {
	return strings.ToLower(norm.NFC.String(strings.Join(strings.Fields(name), " ")))
}

// shortID is how many letters of an id a label has at least.
const shortID = 8

// labels returns what to call objects, by id: their names, and of several with one name each
// with the beginning of its id, as long as it takes for all labels to differ.
func labels(names map[string]string) map[string]string {
	if names == nil {
		return nil
	}
	same, taken, out := map[string][]string{}, map[string]int{}, map[string]string{}
	for id, name := range names {
		key := fold(name)
		same[key] = append(same[key], id)
		taken[key]++
		out[id] = name
	}
	for _, key := range slices.Sorted(maps.Keys(same)) {
		ids := same[key]
		if len(ids) == 1 {
			continue
		}
		longest := 0
		for _, id := range ids {
			longest = max(longest, len([]rune(id)))
		}
		for n := min(shortID, longest); n <= longest; n++ {
			made := map[string]int{}
			for _, id := range ids {
				letters := []rune(id)
				out[id] = names[id] + " (" + string(letters[:min(n, len(letters))]) + ")"
				made[fold(out[id])]++
			}
			if len(made) == len(ids) && !slices.ContainsFunc(slices.Collect(maps.Keys(made)), func(l string) bool { return taken[l] > 0 }) {
				break
			}
		}
		for _, id := range ids {
			taken[fold(out[id])]++
		}
	}
	return out
}

// named returns the ids of the objects whose name or label is text; and of those that have
// text in their label.
func named(names map[string]string, text string) (exactly, partly []string) {
	text = fold(text)
	for id, label := range labels(names) {
		switch {
		case fold(names[id]) == text, fold(label) == text:
			exactly = append(exactly, id)
		case strings.Contains(fold(label), text):
			partly = append(partly, id)
		}
	}
	slices.Sort(exactly)
	slices.Sort(partly)
	return exactly, partly
}

// campaign returns the id of the campaign with that id or name, ignoring case; text itself
// where there is none, since calls may have campaigns that no list has.
func (w *Warehouse) campaign(ctx context.Context, conn *duck.Conn, text string) (string, error) {
	names, err := w.ownNames(ctx, conn, resource.Campaigns)
	if _, known := names[text]; known || err != nil {
		return text, err
	}
	ids, _ := named(names, text)
	switch len(ids) {
	case 0:
		return text, nil
	case 1:
		return ids[0], nil
	}
	return "", &AmbiguousError{What: "campaign", Text: text, Fits: FitsName, IDs: withNames(ids, names)}
}

// withNames returns ids with their names before them.
func withNames(ids []string, names map[string]string) []string {
	out := slices.Clone(ids)
	for i, id := range ids {
		if name, ok := names[id]; ok {
			out[i] = name + ": " + id
		}
	}
	return out
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
