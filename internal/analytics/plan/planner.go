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
	country string // whose public holidays have fewer calls; empty: none

	localMicros string // in SQL, the local time of a stored call's start, in µs
	// Every offset of the zone is a multiple of a quarter of an hour, so that counts by quarter
	// of an hour suffice for local times.
	inQuarters bool
}

// New returns the planner of a snapshot for a reader. safe: others write the statements over it.
func New(snap *layout.Snapshot, loc *time.Location, r rights.Rights, safe bool, country string) *Planner {
	return &Planner{snap: snap, loc: loc, rights: r, safe: safe, country: country,
		localMicros: localtime.Micros(loc, snap.Manifest), inQuarters: localtime.InQuarters(loc, snap.Manifest)}
}

// relation returns a SELECT of the calls of some files as the reader has them.
func (p *Planner) relation(files []*layout.File) string {
	return p.rights.Relation(p.snap, files, &schema.Calls, p.safe)
}
