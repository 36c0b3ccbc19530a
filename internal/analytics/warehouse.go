// Package analytics answers questions about a warehouse: it runs the named reports, and SQL, on one snapshot opened by
// package database. The files of package sqlfiles define terms and figures. It prints nothing: package format writes the rows.
package analytics

import (
	"context"

	"callhouse/internal/analytics/database"
	"callhouse/internal/analytics/plan"
	"callhouse/internal/analytics/question"
)

// Options configure how a warehouse is opened, and the assumptions of its reports. The zero value is ready to use.
type Options struct {
	database.Options
	// Currency is the currency of the costs, for headings; empty: headings name none.
	Currency string
	// Goals define success for agents whose success is not a completed call.
	Goals []question.Goal
}

// Warehouse is one snapshot, open for reports and SQL. It may be used by several goroutines at once.
type Warehouse struct {
	*database.DB
	planner  *plan.Planner
	currency string
	goals    []question.Goal
}

// Open opens the current snapshot of the warehouse at root. It returns the errors of [database.Open].
func Open(ctx context.Context, root string, o Options) (*Warehouse, error) {
	db, err := database.Open(ctx, root, o.Options)
	if err != nil {
		return nil, err
	}
	planner := plan.New(db.Snapshot(), db.Location())
	return &Warehouse{DB: db, planner: planner, currency: o.Currency, goals: o.Goals}, nil
}
