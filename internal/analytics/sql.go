package analytics

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/guard"
	"callhouse/internal/analytics/value"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// SQL runs one read-only statement over the views. args are the values of its parameters.
func (w *Warehouse) SQL(ctx context.Context, text string, args ...any) (*Rows, error) {
	return w.runSQL(ctx, text, func(*duck.Stmt) ([]any, error) { return args, nil })
}

// ParamError means that a statement's parameters and the given values do not match.
type ParamError struct {
	Missing []string // parameters without a value
	Unused  []string // values without a parameter
}

func (e *ParamError) Error() string {
	if len(e.Missing) > 0 {
		return "the statement's parameter $" + e.Missing[0] + " has no value"
	}
	return "the statement has no parameter $" + e.Unused[0]
}

// SQLWith is SQL with values of named parameters such as $agent, which DuckDB converts to the type that the context requires.
// It returns a *ParamError if values and parameters do not match.
func (w *Warehouse) SQLWith(ctx context.Context, text string, values map[string]string) (*Rows, error) {
	return w.runSQL(ctx, text, func(stmt *duck.Stmt) ([]any, error) { return arguments(stmt, values) })
}

// arguments returns the values in the order of the statement's parameters.
func arguments(stmt *duck.Stmt, values map[string]string) ([]any, error) {
	var args []any
	e := new(ParamError)
	names := stmt.ParamNames()
	for _, name := range names {
		v, ok := values[name]
		if !ok {
			e.Missing = append(e.Missing, name)
		}
		args = append(args, v)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(names, name) {
			e.Unused = append(e.Unused, name)
		}
	}
	if len(e.Missing) > 0 || len(e.Unused) > 0 {
		return nil, e
	}
	return args, nil
}

// runSQL runs one read-only statement with the values that arguments returns for it.
func (w *Warehouse) runSQL(ctx context.Context, text string, arguments func(*duck.Stmt) ([]any, error)) (*Rows, error) {
	conn, err := w.SQLConn(ctx, text)
	if err != nil {
		return nil, err
	}
	return streamed(conn, func() (*Rows, error) {
		if err := w.Reads(ctx, conn, text); err != nil {
			return nil, err
		}
		stmt, err := conn.Prepare(ctx, text)
		if err != nil {
			return nil, err
		}
		rows, err := query(ctx, stmt, arguments)
		if err != nil {
			stmt.Close()
			return nil, err
		}
		r := &Rows{rows: rows, columns: rows.Columns()}
		for i := range r.columns {
			r.columns[i].Null = "NULL"
		}
		if n := len(r.columns); stmt.Kind() == duck.Explains && n > 0 {
			r.columns[n-1].Kind = value.Drawing
		}
		return r, nil
	})
}

func query(ctx context.Context, stmt *duck.Stmt, arguments func(*duck.Stmt) ([]any, error)) (*duck.Rows, error) {
	if stmt.Kind() == duck.Changes { // the tree disagreed; a statement runs only if both agree
		return nil, guard.ErrNotReading
	}
	args, err := arguments(stmt)
	if err != nil {
		return nil, err
	}
	return stmt.Query(ctx, args...)
}

// Card describes a call in names and values, for people. It includes the place or state of the
// recording if the reader may listen to it.
func (w *Warehouse) Card(ctx context.Context, id string) (*Rows, error) {
	if !w.Rights().MayListen() {
		return w.Facts(ctx, id)
	}
	return w.facts(ctx, `, coalesce((SELECT CASE WHEN state = 'stored' THEN ? || '/' || path ELSE concat_ws(': ', state, reason) END
			FROM recordings WHERE recordings.call_id = calls.call_id),
			recording_url || ' (may expire; extract run --recordings PLACE keeps recordings)') AS recording`,
		layout.ArchivePlace(w.Snapshot().Manifest.Archive), id)
}

// Said returns the summaries of calls, given their starts by id, and what was said in them, as call_id, who (summary, agent or
// user) and what. It returns a Denied error if the reader may not see transcripts.
func (w *Warehouse) Said(ctx context.Context, calls map[string]time.Time) (*Rows, error) {
	if err := cmp.Or(w.Rights().May(schema.Calls.Name), w.Rights().May(schema.Turns.Name)); err != nil {
		return nil, err
	}
	conn, err := w.Conn(ctx, schema.Calls.Name, schema.Turns.Name)
	if err != nil {
		return nil, err
	}
	rows, err := streamed(conn, func() (*Rows, error) {
		rows, err := conn.QuerySmall(ctx, w.planner.Said(calls))
		if err != nil {
			return nil, err
		}
		return &Rows{rows: rows, columns: rows.Columns()}, nil
	})
	if err != nil {
		return nil, fmt.Errorf("read what was said: %w", err)
	}
	return rows, nil
}

// Facts is Card without the place of the recording.
func (w *Warehouse) Facts(ctx context.Context, id string) (*Rows, error) { return w.facts(ctx, "", id) }

func (w *Warehouse) facts(ctx context.Context, recording string, args ...any) (*Rows, error) {
	rows, err := w.SQL(ctx, `SELECT call_id AS call, agent_id AS agent, agent_name_of(agent_id) AS agent_name,
		agent_version AS version, variant_label AS variant, start_at AS started, duration_ms AS duration, call_type AS type,
		status, disconnection_reason AS end_reason,
		from_number AS "from", to_number AS "to", user_sentiment AS sentiment, total_cost AS cost, summary,
		CASE WHEN NOT has_transcript(transcript_state) THEN transcript_state END AS transcript`+recording+`
		FROM calls WHERE call_id = ?`, args...)
	if err != nil {
		return nil, fmt.Errorf("describe the call: %w", err)
	}
	for i, c := range rows.columns {
		switch c.Name {
		case "duration":
			rows.columns[i].Unit = value.Millis
		case "cost":
			rows.columns[i].Unit = value.Money
		}
	}
	nameCurrency(rows.columns, w.currency)
	return rows, nil
}
