package analytics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"callhouse/internal/analytics/duck"
)

// Params say which calls a report is over and how they are grouped. The zero
// value is all calls as one group.
type Params struct {
	// Since and Until bound start_at, Since inclusive, Until exclusive; a zero
	// time is no bound. With a bound, calls without a start are left out.
	Since, Until time.Time
	// By names a dimension: see Dimensions.
	By string
	// Agent is an agent's id, or the beginning of one agent's.
	Agent string
}

func (p Params) bounded() bool { return !p.Since.IsZero() || !p.Until.IsZero() }

// selected makes the relation that reports read: the calls that p selects, with
// their group as key. It belongs to the connection.
func (w *Warehouse) selected(ctx context.Context, conn *duck.Conn, p Params) error {
	d, err := dimensionOf(p.By)
	if err != nil {
		return err
	}
	where, err := w.where(ctx, conn, p)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("SET VARIABLE largest_first = %t;\nCREATE OR REPLACE TEMP VIEW selected AS SELECT %s AS key, calls.* FROM calls WHERE %s",
		!d.natural, d.expr, where)
	if err := conn.Exec(ctx, text); err != nil {
		return fmt.Errorf("select the calls: %w", err)
	}
	return nil
}

func (w *Warehouse) where(ctx context.Context, conn *duck.Conn, p Params) (string, error) {
	terms := []string{"true"}
	if !p.Since.IsZero() {
		terms = append(terms, "start_at >= "+instant(p.Since))
	}
	if !p.Until.IsZero() {
		terms = append(terms, "start_at < "+instant(p.Until))
	}
	if p.Agent != "" {
		id, err := agent(ctx, conn, p.Agent)
		if err != nil {
			return "", err
		}
		terms = append(terms, "agent_id = "+quote(id))
	}
	return strings.Join(terms, " AND "), nil
}

// instant returns t as a literal of SQL.
func instant(t time.Time) string {
	return "TIMESTAMPTZ " + quote(t.UTC().Format("2006-01-02 15:04:05.999999")+"+00")
}

// AmbiguousError says that the beginning of an agent's id fits several.
type AmbiguousError struct {
	Prefix string
	IDs    []string // some of them
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("several agents' ids begin with %q", e.Prefix)
}

// agent returns the id of the one agent whose id is prefix or begins with it.
func agent(ctx context.Context, conn *duck.Conn, prefix string) (string, error) {
	ids, err := column(ctx, conn, `SELECT DISTINCT agent_id FROM calls WHERE starts_with(agent_id, ?)
		ORDER BY agent_id <> ?, agent_id LIMIT 6`, prefix, prefix)
	if err != nil {
		return "", fmt.Errorf("find the agent: %w", err)
	}
	switch {
	case len(ids) == 1 || len(ids) > 1 && ids[0] == prefix:
		return ids[0], nil
	case len(ids) > 1:
		return "", &AmbiguousError{Prefix: prefix, IDs: ids}
	}
	known, err := column(ctx, conn, `SELECT agent_id FROM calls WHERE agent_id IS NOT NULL
		GROUP BY agent_id ORDER BY count(*) DESC, agent_id LIMIT 50`)
	if err != nil {
		return "", fmt.Errorf("find the agent: %w", err)
	}
	return "", unknown("agent", prefix, known)
}

// column collects the texts of a short result's one column.
func column(ctx context.Context, conn *duck.Conn, text string, args ...any) ([]string, error) {
	rows, err := conn.Query(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []string
	for {
		row, err := rows.Next(ctx)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		s, _ := row[0].(string)
		out = append(out, s)
	}
}
