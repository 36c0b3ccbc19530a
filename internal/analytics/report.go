package analytics

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/rights"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
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

	remarks *Remarks // read once
}

// Ask answers a question with one SELECT, after reading the names and events in it. It returns a Denied error if it needs a
// table that the reader may not see: an empty answer would look like a result.
func (w *Warehouse) Ask(ctx context.Context, request Question) (*Answer, error) {
	q, err := w.parse(request)
	if err != nil {
		return nil, err
	}
	a := &Answer{Report: q.Report, Params: q.Params, w: w, now: request.Now}
	conn, err := w.Conn(ctx, viewsOf(q)...)
	if err != nil {
		return nil, err
	}
	a.Rows, err = streamed(conn, func() (rows *Rows, err error) {
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

// Found returns the number of calls or turns that a report with pages finds on all of them, after the last row is read.
func (a *Answer) Found(ctx context.Context) (n int64, err error) {
	a.rows.Close()
	return n, one(ctx, a.conn, a.w.planner.Found(a.q), &n)
}

// Explain returns the SELECT that answers a question: over the warehouse, and in any DuckDB over a catalog of the snapshot.
func (w *Warehouse) Explain(ctx context.Context, request Question) (string, error) {
	q, err := w.parse(request)
	if err != nil {
		return "", err
	}
	conn, err := w.Conn(ctx, viewsOf(q)...)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if q, err = w.resolve(ctx, conn, q); err != nil {
		return "", err
	}
	made, err := w.planner.Report(q)
	return made.SQL, err
}

// parse checks a question and whether the reader may see its answer.
func (w *Warehouse) parse(request Question) (q question.Question, err error) {
	f, err := question.Report(request.Report)
	if err != nil {
		return q, err
	}
	p := request.Params
	if request.Compare {
		if p, err = question.Compare(f, p, w.Snapshot().Manifest.ListedTo(), request.Now, w.Location()); err != nil {
			return q, err
		}
	}
	if q, err = question.Of(f, p); err != nil {
		return q, err
	}
	views := question.Views(f)
	for _, d := range q.Dimensions() {
		if d.Resource != nil {
			views = append(views, d.Resource.Name)
		}
	}
	return q, may(w.Rights(), views)
}

// viewsOf returns the stored tables and views that the statements of a question name.
func viewsOf(q question.Question) []string {
	out := append(question.Views(q.Report), "stored."+schema.Calls.Name, "stored."+resource.Agents.Name, "stored."+resource.Campaigns.Name)
	for _, d := range q.Dimensions() {
		if d.Resource != nil {
			out = append(out, "stored."+d.Resource.Name)
		}
	}
	for _, name := range question.Accompanying {
		if slices.Contains(q.Report.Reads, name) {
			out = append(out, name)
		}
	}
	if q.Field != "" {
		out = append(out, schema.Items.Name)
	}
	return out
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

func (w *Warehouse) run(ctx context.Context, conn *duck.Conn, q question.Question) (*Rows, error) {
	made, err := w.planner.Report(q)
	if err != nil {
		return nil, err
	}
	labels, err := w.labelsFor(ctx, conn, made.Report, q.Keys)
	if err != nil {
		return nil, err
	}
	query := conn.QuerySmall
	if !made.Small {
		query = func(ctx context.Context, text string) (*duck.Rows, error) { return conn.Query(ctx, text) }
	}
	rows, err := query(ctx, made.SQL)
	if err != nil {
		return nil, fmt.Errorf("run report %s: %w", q.Report.Name, err)
	}
	r := &Rows{rows: rows, columns: describe(rows.Columns(), made.Report)}
	r.keys(made.Report, q.Keys)
	nameCurrency(r.columns, w.currency)
	for i, c := range r.columns {
		if c.Name == "best_hour" { // others are keys, next to times of the same zone
			r.columns[i].Label += " (" + path.Base(w.Location().String()) + ")"
		}
	}
	r.addNames(labels, q)
	if q.MarkParts {
		m, from, until := w.Snapshot().Manifest, q.Since, q.Until
		if first, last := m.Starts(); first <= last && from.Before(time.UnixMilli(first)) {
			from = time.UnixMilli(first)
		}
		if to := m.ListedTo(); until.IsZero() || !to.IsZero() && to.Before(until) {
			until = to
		}
		r.markParts(q.Parts(from, until, w.Location()), q)
	}
	return r, nil
}

// goalsOf returns the goals with their agents' ids, if a report needs them. Goals of agents that
// the reader may not see are left out silently.
func (w *Warehouse) goalsOf(ctx context.Context, conn *duck.Conn, q question.Question) (out []question.Goal, err error) {
	if !strings.Contains(q.Report.SQL, "$goals") {
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

// Table returns the rows of a table that belong to the calls that p selects; for runs, those that started within its bounds.
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
	conn, err := w.SQLConn(ctx, "")
	if err != nil {
		return nil, err
	}
	rows, err := streamed(conn, func() (*Rows, error) {
		if q, err = w.resolve(ctx, conn, q); err != nil {
			return nil, err
		}
		rows, err := conn.Query(ctx, w.planner.Table(q))
		if err != nil {
			return nil, err
		}
		return &Rows{rows: rows, columns: describe(rows.Columns(), f)}, nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the table %s: %w", name, err)
	}
	return rows, nil
}
