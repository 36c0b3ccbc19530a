package commit

import (
	"context"
	"slices"

	"callhouse/internal/layout"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/sink/snapshot"
)

// Loan holds files of an older snapshot that replace damaged ones.
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
	Runs  []schema.Run // rows of the table runs that replace lost ones
}

// Mend publishes the intact parts of a damaged snapshot, and adds run to the table runs. It fetches
// nothing: the next listing does, since the manifest no longer covers the rest.
func (b Base) Mend(ctx context.Context, d *Mending, run schema.Run) (*Result, error) {
	b.Old = snapshot.NewReader(b.FS, d.Sound, new(snapshot.Proofs))
	m := b.begin(rules{})
	return m.publish(func() (*layout.Manifest, error) {
		var numbers []schema.Row // nil: those of the sound snapshot
		for _, l := range d.Loans {
			if slices.ContainsFunc(l.Files, func(f layout.File) bool { return f.Table == resource.Numbers.Name }) {
				var err error
				if numbers, err = numbersOf(snapshot.NewReader(m.FS, l.From, new(snapshot.Proofs))); err != nil {
					return nil, err
				}
			}
			for _, f := range l.Files {
				if err := m.b.Link(l.From, f.Path, f.Bytes); err != nil {
					return nil, err
				}
				m.files = append(m.files, f)
			}
		}
		if _, err := m.setLines(numbers); err != nil {
			return nil, err
		}
		return m.fill(ctx, nil, m.withRow(func(Stats) schema.Run { return run }, d.Runs...))
	})
}
