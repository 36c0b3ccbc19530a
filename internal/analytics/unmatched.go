package analytics

import (
	"context"
	"fmt"

	"callhouse/internal/analytics/question"
	"callhouse/internal/words"
)

// Unmatched is a value of a condition that no call of the warehouse has.
type Unmatched struct {
	Dimension, Value string
	Nearest          string // the value most like it that some call has; may be empty
}

func (u Unmatched) String() string {
	text := fmt.Sprintf("no call has %s %q", u.Dimension, u.Value)
	if u.Nearest != "" {
		text += fmt.Sprintf("; did you mean %q?", u.Nearest)
	}
	return text
}

// mostValues is how many values are looked at for the nearest.
const mostValues = 10_000

// Unmatched returns the values of p's conditions that no call of the warehouse has, in any
// period: most likely they are misspelt. Hours, days and the like are left out, and what must
// be known to be accepted.
func (w *Warehouse) Unmatched(ctx context.Context, p question.Params) (out []Unmatched, err error) {
	filters, err := question.Filters(p.Where)
	if err != nil || len(filters) == 0 {
		return nil, err
	}
	conn, err := w.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	for _, f := range filters {
		if !f.Open() {
			continue
		}
		for _, v := range f.Values {
			only := question.Filter{Dimension: f.Dimension, Values: []string{v}}
			found, err := conn.Column(ctx, "SELECT '' FROM calls WHERE "+only.Where(f.InCalls())+" LIMIT 1")
			if err != nil {
				return nil, fmt.Errorf("search for %s: %w", f.Name, err)
			}
			if len(found) > 0 || v == "" {
				continue
			}
			known, err := conn.Column(ctx, fmt.Sprintf("SELECT DISTINCT %s AS v FROM calls WHERE v IS NOT NULL ORDER BY v LIMIT %d",
				f.InCalls(), mostValues))
			if err != nil {
				return nil, fmt.Errorf("search for values of %s: %w", f.Name, err)
			}
			out = append(out, Unmatched{f.Name, v, words.Nearest(v, known)})
		}
	}
	return out, nil
}
