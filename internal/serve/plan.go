package serve

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"callhouse/internal/analytics/value"
	"callhouse/internal/postgres"
	"callhouse/internal/postgres/cell"
)

// planColumn is the only column of a plan, with Postgres' name.
var planColumn = postgres.Column{Name: "QUERY PLAN", Type: cell.Text}

// planRows are the lines of a plan. Clients such as postgres_fdw look for the estimate at the end
// of the first line.
type planRows struct {
	*rows
	lines []string
	begun bool
}

var estimateRE = regexp.MustCompile(`~([0-9,]+) rows?`)

// Values implements postgres.Rows.
func (r *planRows) Values(ctx context.Context) ([]value.Value, error) {
	for len(r.lines) == 0 {
		row, err := r.rows.Values(ctx)
		if err != nil {
			return nil, err
		}
		plan := strings.Clone(row[len(row)-1].Text) // the first column is the kind of plan
		if strings.HasPrefix(strings.TrimSpace(plan), "[") || strings.HasPrefix(strings.TrimSpace(plan), "{") {
			r.lines = []string{plan} // JSON
			break
		}
		if r.lines = strings.Split(strings.TrimSpace(plan), "\n"); !r.begun {
			n := "1000" // Postgres' default for an unknown table
			if m := estimateRE.FindStringSubmatch(plan); m != nil {
				n = strings.ReplaceAll(m[1], ",", "")
			}
			r.lines = append([]string{fmt.Sprintf("DuckDB  (cost=0.00..%s.00 rows=%s width=64)", n, n)}, r.lines...)
		}
		r.begun = true
	}
	line := r.lines[0]
	r.lines = r.lines[1:]
	return []value.Value{value.Of(line)}, nil
}
