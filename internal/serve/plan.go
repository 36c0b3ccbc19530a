package serve

import (
	"context"
	"strings"

	"callhouse/internal/analytics/value"
	"callhouse/internal/postgres"
)

// planColumn is the only column of a plan, with Postgres' name.
var planColumn = postgres.Column{Name: "QUERY PLAN", Type: postgres.TextType}

// planRows are the lines of a plan.
type planRows struct {
	*rows
	lines []string
}

// Values implements postgres.Rows.
func (r *planRows) Values(ctx context.Context) ([]value.Value, error) {
	if len(r.lines) == 0 {
		row, err := r.rows.Values(ctx)
		if err != nil {
			return nil, err
		}
		plan := strings.TrimSpace(row[len(row)-1].Text) // the first column is the kind of plan
		if r.lines = strings.Split(plan, "\n"); strings.HasPrefix(plan, "[") || strings.HasPrefix(plan, "{") {
			r.lines = []string{plan} // JSON
		}
	}
	line := r.lines[0]
	r.lines = r.lines[1:]
	return []value.Value{value.Of(line)}, nil
}
