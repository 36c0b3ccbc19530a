// Package plan turns a question into SQL over one snapshot. It has no connection; package analytics runs the plans.
package plan

import (
	"time"

	"callhouse/internal/analytics/sqltext"
	"callhouse/internal/layout"
)

// Planner plans questions over one snapshot.
type Planner struct {
	snap *layout.Snapshot
	loc  *time.Location

	localMicros string // SQL for the local time at which a stored call started, in µs
}

// New returns the planner of a snapshot.
func New(snap *layout.Snapshot, loc *time.Location) *Planner {
	return &Planner{snap: snap, loc: loc, localMicros: sqltext.LocalMicros(loc, snap.Manifest)}
}
