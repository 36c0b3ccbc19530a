package analytics

import (
	"context"

	"callhouse/internal/analytics/opened"
)

// Options set how a warehouse is opened, and what its reports assume. The zero value is ready
// to use.
type Options struct {
	opened.Options
	// Currency is that of the costs, for headings; empty: headings name none.
	Currency string
	// Country is the one whose public holidays have fewer calls, as two letters; empty: none.
	Country string
	// Goals define success for agents whose success is not a completed call.
	Goals []Goal
}

// Warehouse is one snapshot, open for reports and SQL. It may be used by several goroutines at
// once.
type Warehouse struct {
	*opened.DB
	currency string
	country  string
	goals    []Goal
	views    []View
}

// Open opens the current snapshot of the warehouse at root. Its errors are those of
// [opened.Open].
func Open(ctx context.Context, root string, o Options) (*Warehouse, error) {
	db, err := opened.Open(ctx, root, o.Options)
	if err != nil {
		return nil, err
	}
	return &Warehouse{DB: db, currency: o.Currency, country: o.Country, goals: o.Goals}, nil
}
