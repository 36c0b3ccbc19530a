package analytics

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/question"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	sqlfiles "callhouse/sql"
)

// namesOf returns the names of the objects of a resource, by id, those that are gone as well; nil
// where the warehouse holds none.
func (w *Warehouse) namesOf(ctx context.Context, conn *duck.Conn, of *resource.Resource) (question.Names, error) {
	if len(w.Snapshot().Manifest.FilesOf(of.Name)) == 0 {
		return nil, nil
	}
	rows, err := conn.QuerySmall(ctx, fmt.Sprintf("SELECT %s, name FROM stored.%s WHERE name IS NOT NULL", of.Key[0], of.Name))
	if err != nil {
		return nil, fmt.Errorf("read the names of %s: %w", of.Name, err)
	}
	defer rows.Close()
	names := question.Names{}
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

// labelsFor returns the labels of agents where a report's rows are about agents, and of
// campaigns where they are by campaign; nil where neither is so. The connection must have
// no answer open.
func (w *Warehouse) labelsFor(ctx context.Context, conn *duck.Conn, f *sqlfiles.File,
	keys []question.Dimension) (labels map[string]string, err error) {
	by := func(name string) bool {
		return slices.ContainsFunc(keys, func(d question.Dimension) bool { return d.Name == name })
	}
	var agents, campaigns question.Names
	if slices.ContainsFunc(f.Columns, func(c sqlfiles.Column) bool { return question.IsAgent(c.Name) }) || by("agent") {
		agents, err = w.namesOf(ctx, conn, resource.Agents)
	}
	if err == nil && by("campaign") {
		campaigns, err = w.namesOf(ctx, conn, resource.Campaigns)
	}
	if labels = agents.Labels(); labels == nil {
		return campaigns.Labels(), err
	}
	maps.Copy(labels, campaigns.Labels()) // their ids are numbers, and no agent's
	return labels, err
}

// one reads the numbers of a result's one row.
func one(ctx context.Context, conn *duck.Conn, text string, into ...*int64) error {
	rows, err := conn.QuerySmall(ctx, text)
	if err != nil {
		return fmt.Errorf("read numbers: %w", err)
	}
	defer rows.Close()
	row, err := rows.Next(ctx)
	if err != nil {
		return fmt.Errorf("read numbers: %w", err)
	}
	for i, v := range row {
		n, ok := v.(int64)
		if !ok {
			return fmt.Errorf("read numbers: column %d is %T", i, v)
		}
		*into[i] = n
	}
	return nil
}

// agent returns the id of the agent that a text stands for: its id or name, the beginning of
// its id, or a part of its name. A text that fits several agents is an *AmbiguousError,
// unless it is the whole id of one of them. Names are compared without regard to case.
func (w *Warehouse) agent(ctx context.Context, conn *duck.Conn, text string) (string, error) {
	ids, err := conn.Column(ctx, `SELECT DISTINCT agent_id FROM `+w.planner.Agents()+` WHERE starts_with(agent_id, ?)
		ORDER BY agent_id <> ?, agent_id`, text, text)
	if err != nil {
		return "", fmt.Errorf("find the agent: %w", err)
	}
	if len(ids) > 0 && ids[0] == text {
		return text, nil
	}
	return w.agentNamed(ctx, conn, text, func(names question.Names) (string, error) { return names.FindLike("agent", text, ids) })
}

// FindAgent returns the id of the agent with that id, or that whole name: an *AmbiguousError
// if several have it, and an *UnknownError if none has. Names are compared without regard to
// case.
func (w *Warehouse) FindAgent(ctx context.Context, text string) (string, error) {
	conn, err := w.Conn(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	ids, err := conn.Column(ctx, "SELECT DISTINCT agent_id FROM "+w.planner.Agents()+" WHERE agent_id = ?", text)
	if err != nil || len(ids) > 0 {
		return text, err
	}
	return w.agentNamed(ctx, conn, text, func(names question.Names) (string, error) { return names.Find("agent", text) })
}

// agentNamed returns the id that find finds among the names of agents, or an *UnknownError.
func (w *Warehouse) agentNamed(ctx context.Context, conn *duck.Conn, text string,
	find func(question.Names) (string, error)) (string, error) {
	names, err := w.namesOf(ctx, conn, resource.Agents)
	if err != nil {
		return "", err
	}
	if id, err := find(names); id != "" || err != nil {
		return id, err
	}
	known, err := conn.Column(ctx, `SELECT agent_id FROM `+w.planner.Agents()+` WHERE agent_id IS NOT NULL
		GROUP BY agent_id ORDER BY sum(calls) DESC, agent_id LIMIT 50`)
	if err != nil {
		return "", fmt.Errorf("find the agent: %w", err)
	}
	labels := names.Labels()
	for i, id := range known {
		known[i] = cmp.Or(labels[id], id)
	}
	return "", question.Unknown("agent", text, known)
}

// campaign returns the id of the campaign with that id or name, ignoring case; text itself
// where there is none, since calls may have campaigns that no list has.
func (w *Warehouse) campaign(ctx context.Context, conn *duck.Conn, text string) (string, error) {
	names, err := w.namesOf(ctx, conn, resource.Campaigns)
	if _, known := names[text]; known || err != nil {
		return text, err
	}
	id, err := names.Find("campaign", text)
	return cmp.Or(id, text), err
}

// hasField returns an *UnknownError where no call has the field of NAME=VALUE.
func hasField(ctx context.Context, conn *duck.Conn, field string) error {
	name, _, ok := strings.Cut(field, "=")
	if !ok {
		return nil
	}
	found, err := conn.Column(ctx, "SELECT name FROM analysis_items WHERE name = ? LIMIT 1", name)
	if err != nil {
		return fmt.Errorf("find the field: %w", err)
	}
	if len(found) > 0 {
		return nil
	}
	known, err := conn.Column(ctx, `SELECT name FROM analysis_items WHERE name IS NOT NULL
		GROUP BY name ORDER BY count(*) DESC, name LIMIT 50`)
	if err != nil {
		return fmt.Errorf("find the field: %w", err)
	}
	return question.Unknown("extracted field", name, known)
}

// FindCall returns the id of the one call whose id is prefix or begins with it,
// an *UnknownError, or an *AmbiguousError.
func (w *Warehouse) FindCall(ctx context.Context, prefix string) (string, error) {
	if err := w.Rights().May(schema.Calls.Name); err != nil {
		return "", err
	}
	conn, err := w.Conn(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	// The whole id first: the files can tell where it is without being read.
	for _, text := range []string{
		"SELECT call_id FROM calls WHERE call_id = ?",
		"SELECT call_id FROM calls WHERE starts_with(call_id, ?) ORDER BY call_id LIMIT 6",
	} {
		ids, err := conn.Column(ctx, text, prefix)
		if err != nil {
			return "", fmt.Errorf("find the call: %w", err)
		}
		if id, err := question.Names(nil).Only("call", prefix, question.FitsID, ids); prefix != "" && (id != "" || err != nil) {
			return id, err
		}
	}
	return "", &question.UnknownError{What: "call", Name: prefix}
}

// resolve returns q with ids in the place of names, and about the time of the calls that its
// report needs.
func (w *Warehouse) resolve(ctx context.Context, conn *duck.Conn, q question.Question) (question.Question, error) {
	find := map[string]func(context.Context, *duck.Conn, string) (string, error){"agent": w.agent, "campaign": w.campaign}
	err := q.Resolve(func(what, text string) (string, error) { return find[what](ctx, conn, text) })
	seen := w.planner.Seen(q)
	if err != nil || seen == "" {
		return q, err
	}
	var first, last int64
	err = one(ctx, conn, seen, &first, &last)
	return q.Around(first, last), err
}
