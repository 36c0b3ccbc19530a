package analytics

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/plan"
	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/rights"
	sqlfiles "callhouse/sql"
)

// Question is a question to a report.
type Question struct {
	question.Params
	Report  string
	Compare bool      // adds the previous period: see [question.Compare]
	Now     time.Time // for the end of a period that has none, and for the coverage
}

// Answer is the streamed answer to a question. Its connection is closed with it.
type Answer struct {
	*Rows
	Report *sqlfiles.File
	Params question.Params // of the question, with the previous period

	w   *Warehouse
	q   question.Question // with ids in place of names
	now time.Time
}

// Ask answers a question: it reads names and finds the calls of events first if there are any in it,
// then runs one SELECT. It returns a Denied error if a report, its groups or its conditions need a
// table that the reader may not see: an empty answer would look like a result.
func (w *Warehouse) Ask(ctx context.Context, asked Question) (*Answer, error) {
	q, err := w.parse(asked)
	if err != nil {
		return nil, err
	}
	a := &Answer{Report: q.Report, Params: q.Params, w: w, now: asked.Now}
	a.Rows, err = w.stream(ctx, func(conn *duck.Conn) (rows *Rows, err error) {
		if a.q, err = w.resolve(ctx, conn, q); err != nil {
			return nil, err
		}
		return w.run(ctx, conn, a.q)
	})
	if err != nil {
		return nil, err
	}
	return a, nil
}

// parse checks a question and whether the reader may see its answer.
func (w *Warehouse) parse(asked Question) (q question.Question, err error) {
	f, err := question.Report(asked.Report)
	if err != nil {
		return q, err
	}
	p := asked.Params
	if asked.Compare {
		if p, err = question.Compare(f, p, w.Snapshot().Manifest.ListedTo(), asked.Now, w.Location()); err != nil {
			return q, err
		}
	}
	if q, err = question.Of(f, p); err != nil {
		return q, err
	}
	views := question.Views(f)
	for _, d := range q.Asked() {
		if d.Resource != nil {
			views = append(views, d.Resource.Name)
		}
	}
	return q, may(w.Rights(), views)
}

// May returns a Denied error for a report that a reader may not see.
func May(r rights.Rights, f *sqlfiles.File) error { return may(r, question.Views(f)) }

func may(r rights.Rights, views []string) error {
	for _, view := range views {
		if err := r.May(view); err != nil {
			return err
		}
	}
	return nil
}

// Denied reports whether an error means that the reader may not see the requested data.
func Denied(err error) bool {
	_, denied := errors.AsType[*rights.DeniedError](err)
	return denied
}

// run answers a question about ids.
func (w *Warehouse) run(ctx context.Context, conn *duck.Conn, q question.Question) (*Rows, error) {
	if err := hasField(ctx, conn, q.Field); err != nil {
		return nil, err
	}
	made, err := w.planner.Report(q)
	if err != nil {
		return nil, err
	}
	labels, err := w.labelsFor(ctx, conn, made.Report, q.Keys)
	if err != nil {
		return nil, err
	}
	rows, err := start(ctx, conn, made, q)
	if err != nil {
		return nil, err
	}
	r := &Rows{rows: rows, columns: describe(rows.Columns(), made.Report)}
	r.keys(made.Report, q.Keys)
	nameCurrency(r.columns, w.currency)
	r.tellNames(labels, q)
	return r, nil
}

// start runs the statements of a plan.
func start(ctx context.Context, conn *duck.Conn, made plan.Plan, q question.Question) (*duck.Rows, error) {
	if err := conn.Exec(ctx, made.Variables); err != nil {
		return nil, fmt.Errorf("set the variables of report %s: %w", q.Report.Name, err)
	}
	query := conn.QuerySmall
	if !made.Small {
		query = func(ctx context.Context, text string) (*duck.Rows, error) { return conn.Query(ctx, text) }
	}
	rows, err := query(ctx, made.SQL)
	if err != nil {
		return nil, fmt.Errorf("run report %s: %w", q.Report.Name, err)
	}
	return rows, nil
}

// goalsOf returns the goals with their agents' ids, if a report needs them. Goals of agents that
// the reader may not see are left out silently.
func (w *Warehouse) goalsOf(ctx context.Context, conn *duck.Conn, q question.Question) (out []question.Goal, err error) {
	if !strings.Contains(q.Report.SQL, "goals_of(") {
		return nil, nil
	}
	for _, g := range w.goals {
		g.Agent, err = w.agent(ctx, conn, g.Agent)
		if !w.Rights().None() && errors.As(err, new(*question.UnknownError)) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, g)
	}
	return out, nil
}

// Table returns the rows of a table that belong to the calls that p selects, oldest period first; for
// runs, those that started within its bounds.
func (w *Warehouse) Table(ctx context.Context, name string, p question.Params) (*Rows, error) {
	f, err := question.Table(name)
	if err != nil {
		return nil, err
	}
	if err := w.Rights().May(name); err != nil {
		return nil, err
	}
	p.By = ""
	q, err := question.Of(f, p)
	if err != nil {
		return nil, err
	}
	rows, err := w.stream(ctx, func(conn *duck.Conn) (*Rows, error) {
		if q.OfCalls() {
			if q, err = w.resolve(ctx, conn, q); err != nil {
				return nil, err
			}
		}
		text := w.planner.Table(q, w.OldestFirst(name))
		if err := w.NameAgents(ctx, conn, text); err != nil {
			return nil, err
		}
		rows, err := conn.Query(ctx, text)
		if err != nil {
			return nil, err
		}
		return &Rows{rows: rows, columns: rows.Columns()}, nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the table %s: %w", name, err)
	}
	return rows, nil
}
