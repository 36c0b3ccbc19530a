package analytics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/question"
	"callhouse/internal/resource"
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
