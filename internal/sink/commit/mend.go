package commit

import (
	"context"
	"maps"
	"slices"

	"callhouse/internal/layout"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/sink/snapshot"
)

// Loan are files of an older snapshot that replace damaged ones.
type Loan struct {
	From  *layout.Snapshot
	Files []layout.File
}

// Mending describes how a damaged snapshot becomes a sound one.
type Mending struct {
	// Sound is the snapshot with a manifest that names only its intact files, and covers only their
	// content.
	Sound *layout.Snapshot
	Loans []Loan
	// Rewrites are the periods to rewrite, with the lost tables of each. A call that had rows in
	// one of them waits for its own record again. Tallies are recounted.
	Rewrites map[string][]*schema.Table
	Runs     []schema.Run // rows of the table runs that replace lost ones
}

// Mend publishes the intact parts of a damaged snapshot, and adds run to the table runs. It fetches
// nothing: the next listing does, since the manifest no longer covers the rest.
func (c *Commit) Mend(ctx context.Context, run schema.Run, m *Mending) (*layout.Snapshot, error) {
	c.AsIs, c.in = true, new(Intake)
	c.Old = snapshot.NewReader(c.FS, m.Sound, new(snapshot.Proofs))
	return c.publish(func() (*layout.Manifest, error) {
		var numbers []schema.Row // nil: those of the sound snapshot
		for _, l := range m.Loans {
			if slices.ContainsFunc(l.Files, func(f layout.File) bool { return f.Table == resource.Numbers.Name }) {
				var err error
				if numbers, err = numbersOf(snapshot.NewReader(c.FS, l.From, new(snapshot.Proofs))); err != nil {
					return nil, err
				}
			}
		}
		if err := c.setLines(numbers); err != nil {
			return nil, err
		}
		var units []*unit
		for _, period := range slices.Sorted(maps.Keys(m.Rewrites)) {
			units = append(units, &unit{period: period, from: []string{period}, always: true, lost: m.Rewrites[period], progress: c.Progress})
		}
		gone, err := c.rewriteAll(ctx, units)
		if err != nil {
			return nil, err
		}
		if err := c.linkRest(func(f *layout.File) bool { return gone[f.Period] || f.Table == schema.Runs.Name }); err != nil {
			return nil, err
		}
		for _, l := range m.Loans {
			for _, f := range l.Files {
				if err := c.b.Link(l.From, f.Path, f.Bytes); err != nil {
					return nil, err
				}
				c.files = append(c.files, f)
			}
		}
		runs, err := c.Old.Runs()
		if err == nil {
			err = c.writeRuns(c.withRun(append(runs, m.Runs...), run))
		}
		return c.manifest(nil, run.ID), err
	})
}

// loses reports whether a table of the unit's period is lost.
func (u *unit) loses(t *schema.Table) bool { return slices.Contains(u.lost, t) }
