package analytics

import (
	"context"
	"errors"
	"fmt"
	"io"

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
func (w *Warehouse) Unmatched(ctx context.Context, p Params) (out []Unmatched, err error) {
	if len(p.Where) == 0 {
		return nil, nil
	}
	conn, err := w.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	s, err := w.selection(ctx, conn, p)
	if err != nil {
		return nil, err
	}
	for _, f := range s.filters {
		if f.natural || f.known != nil || f.named() {
			continue
		}
		for _, v := range f.values {
			only := filter{f.dimension, f.name, []string{v}}
			rows, err := conn.QuerySmall(ctx, "SELECT 1 FROM calls WHERE "+only.where(f.inCalls())+" LIMIT 1")
			if err != nil {
				return nil, fmt.Errorf("search for %s: %w", f.name, err)
			}
			_, err = rows.Next(ctx)
			rows.Close()
			if err == nil || v == "" {
				continue
			}
			if !errors.Is(err, io.EOF) {
				return nil, fmt.Errorf("search for %s: %w", f.name, err)
			}
			known, err := conn.Column(ctx, fmt.Sprintf("SELECT DISTINCT %s AS v FROM calls WHERE v IS NOT NULL ORDER BY v LIMIT %d",
				f.inCalls(), mostValues))
			if err != nil {
				return nil, fmt.Errorf("search for values of %s: %w", f.name, err)
			}
			out = append(out, Unmatched{f.name, v, words.Nearest(v, known)})
		}
	}
	return out, nil
}
