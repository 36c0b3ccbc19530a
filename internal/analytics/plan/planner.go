// Package plan turns a question into SQL over one snapshot: it chooses between tallies and
// calls, and names the files that must be read. It has no connection; package analytics runs the
// plans.
package plan

import (
	"time"

	"callhouse/internal/analytics/localtime"
	"callhouse/internal/analytics/rights"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// Planner plans questions over one snapshot.
type Planner struct {
	snap    *layout.Snapshot
	loc     *time.Location
	rights  rights.Rights
	safe    bool
	country string // the country whose public holidays count; empty: none

	localMicros string // SQL for the local time at which a stored call started, in µs
	// Every offset of the zone is a multiple of 15 minutes, so counts by quarter of an hour suffice
	// for local times.
	inQuarters bool
}

// New returns the planner of a snapshot for a reader. safe: untrusted users write the statements
// that run over it.
func New(snap *layout.Snapshot, loc *time.Location, r rights.Rights, safe bool, country string) *Planner {
	return &Planner{snap: snap, loc: loc, rights: r, safe: safe, country: country,
		localMicros: localtime.Micros(loc, snap.Manifest), inQuarters: localtime.InQuarters(loc, snap.Manifest)}
}

// relation returns a SELECT of the calls in the given files that the reader may see.
func (p *Planner) relation(files []*layout.File) string {
	return p.rights.Relation(p.snap, files, &schema.Calls, p.safe)
}
