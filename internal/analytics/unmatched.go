package analytics

import (
	"context"
	"fmt"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/question"
	"callhouse/internal/words"
)

// Unmatched is a value of a condition that matches no call in the warehouse.
type Unmatched struct {
	Dimension, Value string
	Nearest          string // the most similar value of any call; may be empty
}

func (u Unmatched) String() string {
	text := fmt.Sprintf("no call has %s %q", u.Dimension, u.Value)
	if u.Nearest != "" {
		text += fmt.Sprintf("; did you mean %q?", u.Nearest)
	}
	return text
}

// maxValues is the maximum number of values compared to find the most similar.
const maxValues = 10_000

// unmatched returns the values of conditions that match no call in any period, most likely because they are misspelt, except
// of dimensions whose values or names are checked elsewhere.
func unmatched(ctx context.Context, conn *duck.Conn, filters []question.Filter) (out []Unmatched, err error) {
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
				f.InCalls(), maxValues))
			if err != nil {
				return nil, fmt.Errorf("search for values of %s: %w", f.Name, err)
			}
			out = append(out, Unmatched{f.Name, v, words.Nearest(v, known)})
		}
	}
	return out, nil
}
