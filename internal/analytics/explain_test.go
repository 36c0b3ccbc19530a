package analytics_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/database"
	"callhouse/internal/analytics/question"
	"callhouse/internal/analytics/value"
	"callhouse/internal/longtest"
	"callhouse/internal/test"
	sqlfiles "callhouse/sql"
)

// The SELECT of each report, with every kind of option, gives the same rows in a stock DuckDB that opens the catalog.
func TestExplainedReportsAnswerTheSame(t *testing.T) {
	longtest.Only(t)
	r := longtest.Rand(t)
	d := randomData(r, 80)
	organisation(r, &d)
	d.Compacted = byMonth
	root, path := t.TempDir(), filepath.Join(t.TempDir(), "callhouse.duckdb")
	analyticstest.Write(t, root, 1, d)
	w := open(t, root, zone(t, "America/Sao_Paulo"))
	snap, err := database.CurrentAbsolute(root)
	test.OK(t, err)
	test.OK(t, database.WriteCatalog(t.Context(), snap, w.Location(), path))
	conn := stock(t)
	test.OK(t, conn.Exec(t.Context(), "ATTACH '"+path+"' AS house (READ_ONLY); USE house"))
	since := time.Date(2026, 10, 20, 3, 0, 0, 0, time.UTC)
	options := []question.Params{{Steps: true}, {By: "agent,week"}, {Agent: "a1-one", By: "metadata.n"}, {Since: since, Until: since.AddDate(0, 0, 14), Every: "hour"},
		{Where: []string{"agent=b-three", "outcome=completed", "weekday=Monday"}}, {Field: "colour=true", By: "hour"}, {Sort: "calls", Top: 3, By: "agent"},
		{By: "campaign", Skip: 2, Limit: 5}, question.Params{Since: since, Until: since.AddDate(0, 0, 14), By: "agent"}.WithPrevious(w.Location()),
		question.Params{Since: since, Until: since.AddDate(0, 0, 7), Field: "colour=true", Bounds: true}.WithPrevious(w.Location())}
	n, answered := 0, 0
	for _, f := range sqlfiles.Reports() {
		for _, p := range options {
			p.Call, p.Words = d.Calls[0]["call_id"].(string), []string{"e"}
			if !f.Grouped() || f.Name == "volume" && p.By == "hour" { // it has that group
				p.By = ""
			}
			if _, ok := f.Column("calls"); !ok {
				p.Sort = ""
			}
			if _, compares := p.Previous(); compares && !f.Comparable() {
				continue
			}
			n++
			q := analytics.Question{Report: f.Name, Params: p}
			text, err := w.Explain(t.Context(), q)
			test.OK(t, err)
			got, err := conn.Query(t.Context(), text)
			if err != nil {
				t.Fatalf("%s %+v: %v\n%s", f.Name, p, err, text)
			}
			answer, err := w.Ask(t.Context(), q)
			test.OK(t, err)
			want := texts(t, func(ctx context.Context) ([]any, error) {
				_, err := answer.Values(ctx)
				return answer.Exact(), err
			})
			has := texts(t, func(ctx context.Context) ([]any, error) {
				row, err := got.Values(ctx)
				switch {
				case err != nil || !f.Grouped():
				case p.By == "":
					row = row[1:]
				case len(question.ByNames(p.By)) == 2:
					row = slices.Concat(row[0].Nest.Values, row[1:])
				}
				return value.GoAll(nil, row), err
			})
			got.Close()
			answer.Close()
			answered += len(want)
			if has != want {
				t.Errorf("%s %+v: the catalog has\n%s\nAsk\n%s\n%s", f.Name, p, has, want, text)
			}
		}
	}
	if answered < n {
		t.Errorf("only %d rows are compared", answered)
	}
}
