package analytics

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/plan"
	"callhouse/internal/analytics/question"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	sqlfiles "callhouse/sql"
)

// namesOf returns the names of a resource's objects by id, including deleted ones; nil if the
// warehouse has no objects of the resource.
func (w *Warehouse) namesOf(ctx context.Context, conn *duck.Conn, of *resource.Resource) (question.Names, error) {
	if len(w.Snapshot().Manifest.FilesOf(of.Name)) == 0 {
		return nil, nil
	}
	rows, err := conn.QuerySmall(ctx, fmt.Sprintf("SELECT %s, name FROM stored.%s WHERE name IS NOT NULL", of.Key[0], of.Name))
	if err != nil {
		return nil, fmt.Errorf("read the names of %s: %w", of.Name, err)
	}
	names := question.Names{}
	if err := rows.Each(ctx, func(row []any) { names[row[0].(string)] = row[1].(string) }); err != nil {
		return nil, fmt.Errorf("read the names of %s: %w", of.Name, err)
	}
	return names, nil
}

// labelsFor returns the labels of agents if a report's rows are about agents, and of campaigns if
// they are grouped by campaign; nil if neither. The connection must have no open answer.
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
	maps.Copy(labels, campaigns.Labels()) // their ids are numbers, so they differ from those of agents
	return labels, err
}

// one reads the numbers of a result with a single row.
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

// agent returns the id of the agent that a text refers to: by its id or name, ignoring case, the beginning of its id, or a
// part of its name. It returns an *AmbiguousError if several match and none has the whole id.
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

// FindAgent returns the id of the agent with this id or whole name, ignoring case in names. It
// returns an *AmbiguousError if several agents have the name, and an *UnknownError if none has.
func (w *Warehouse) FindAgent(ctx context.Context, text string) (string, error) {
	conn, err := w.Conn(ctx, "stored."+schema.Calls.Name, "stored."+resource.Agents.Name)
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

// agentNamed returns the id that find returns for the names of the agents, or an *UnknownError.
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

// campaign returns the id of the campaign with this id or name, ignoring case. It returns the text
// itself if there is none, since calls may have campaigns that are in no list.
func (w *Warehouse) campaign(ctx context.Context, conn *duck.Conn, text string) (string, error) {
	names, err := w.namesOf(ctx, conn, resource.Campaigns)
	if _, known := names[text]; known || err != nil {
		return text, err
	}
	id, err := names.Find("campaign", text)
	return cmp.Or(id, text), err
}

// has returns an *UnknownError if no row of a relation has a text in a column.
func has(ctx context.Context, conn *duck.Conn, what, relation, column, text string) error {
	found, err := conn.Column(ctx, "SELECT "+column+" FROM "+relation+" WHERE "+column+" = ? LIMIT 1", text)
	if err != nil {
		return fmt.Errorf("find the %s: %w", what, err)
	}
	if len(found) > 0 {
		return nil
	}
	known, err := conn.Column(ctx, fmt.Sprintf(`SELECT %[1]s FROM %[2]s WHERE %[1]s IS NOT NULL
		GROUP BY %[1]s ORDER BY count(*) DESC, %[1]s LIMIT 50`, column, relation))
	if err != nil {
		return fmt.Errorf("find the %s: %w", what, err)
	}
	return question.Unknown(what, text, known)
}

// FindCall returns the id and start of the only call whose id is prefix or begins with it, where … stands for any letters, as in
// tables; the start is zero if it has none. Otherwise it returns an *UnknownError or an *AmbiguousError.
func (w *Warehouse) FindCall(ctx context.Context, prefix string) (id string, start time.Time, err error) {
	if err := w.Rights().May(schema.Calls.Name); err != nil {
		return "", start, err
	}
	conn, err := w.Conn(ctx, schema.Calls.Name)
	if err != nil {
		return "", start, err
	}
	defer conn.Close()
	like := strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`, "…", "%").Replace(prefix) + "%"
	// The whole id first: the files' metadata locates it without reading their rows.
	for _, find := range [][2]string{{"call_id = ?", prefix}, {`call_id LIKE ? ESCAPE '\' ORDER BY call_id LIMIT 6`, like}} {
		var ids []string
		rows, err := conn.Query(ctx, "SELECT call_id, start_at FROM calls WHERE "+find[0], find[1])
		if err == nil {
			err = rows.Each(ctx, func(row []any) {
				ids = append(ids, row[0].(string))
				start, _ = row[1].(time.Time)
			})
		}
		if err != nil {
			return "", time.Time{}, fmt.Errorf("find the call: %w", err)
		}
		if id, err := question.Names(nil).Only("call", prefix, question.FitsID, ids); prefix != "" && (id != "" || err != nil) {
			return id, start, err
		}
	}
	return "", time.Time{}, &question.UnknownError{What: "call", Name: prefix}
}

// resolve returns q with ids in place of names and, for a report of events, with the period of the surrounding calls.
func (w *Warehouse) resolve(ctx context.Context, conn *duck.Conn, q question.Question) (question.Question, error) {
	if !q.Report.Selects() && !q.OfCalls() {
		return q, nil
	}
	find := map[string]func(context.Context, *duck.Conn, string) (string, error){"agent": w.agent, "campaign": w.campaign}
	err := q.Resolve(func(what, text string) (string, error) { return find[what](ctx, conn, text) })
	if err != nil {
		return q, err
	}
	if q.Goals, err = w.goalsOf(ctx, conn, q); err != nil {
		return q, err
	}
	if name, _, ok := strings.Cut(q.Field, "="); ok {
		err = has(ctx, conn, "extracted field", schema.Items.Name, "nfc_normalize(name)", name)
	}
	if err == nil && q.Baseline != "" {
		err = has(ctx, conn, "agent version", plan.VersionsOf(q.Agent), "agent_version", q.Baseline)
	}
	if err != nil {
		return q, err
	}
	seen := w.planner.Seen(q)
	if seen == "" {
		return q, nil
	}
	var first, last int64
	err = one(ctx, conn, seen, &first, &last)
	return q.Around(first, last), err
}
