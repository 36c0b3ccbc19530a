package commit

import (
	"cmp"
	"context"
	"time"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink/snapshot"
	"callhouse/internal/wire/mask"
)

// Stamp holds new entries of the manifest; nil keeps the previous entry.
type Stamp struct {
	Mask      *layout.Mask      // masked values
	Redaction *layout.Redaction // redacted personal data
	Origin    *layout.Origin    // owner of the calls
	// Archive is the address of the archive of recordings; empty keeps the previous one.
	Archive string
}

// put sets the entries of a manifest.
func (s *Stamp) put(m *layout.Manifest) {
	if s.Mask != nil {
		m.Mask = s.Mask
	}
	if s.Redaction != nil {
		m.Redaction = s.Redaction.After(m.Redaction)
	}
	if s.Origin != nil {
		m.Origin = s.Origin
	}
	m.Archive = cmp.Or(s.Archive, m.Archive)
}

// Input is the data that a run commits.
type Input struct {
	*Intake
	Segments []layout.Segment       // the segments of the journal that the intake was read from
	Row      func(Stats) schema.Run // the run's row of the table runs
	Stamp
	Masker   *mask.Mask // for data that was not passed through Clean
	KeepFrom int64      // drop calls that started earlier, ms UTC; 0: none
	// Compact returns the months to compact; busy months have new records. nil: no month is
	// compacted.
	Compact func(old *snapshot.Reader, now time.Time, busy map[string]bool) []string
}

// Run merges a run's records into a new snapshot and publishes it.
func (b Base) Run(ctx context.Context, in *Input) (*Result, error) {
	m := b.begin(rules{in: in.Intake, masker: in.Masker, settles: true, keepFrom: in.KeepFrom, links: in.Archive != ""})
	return m.publish(func() (*layout.Manifest, error) {
		moved, err := m.objects(nil) // first: other columns of a call depend on the organisation's numbers
		if err != nil {
			return nil, err
		}
		units, err := m.planUnits(in, moved)
		if err != nil {
			return nil, err
		}
		m.made.Details = in.details
		out, err := m.fill(ctx, units, m.withRow(in.Row))
		if err != nil {
			return nil, err
		}
		in.put(out)
		for _, s := range in.Covered {
			out.Coverage = snapshot.Cover(out.Coverage, s.Span)
		}
		if in.KeepFrom > 0 {
			out.Coverage = snapshot.Since(out.Coverage, in.KeepFrom)
		}
		out.Journal = append([]layout.Segment(nil), in.Segments...)
		return out, nil
	})
}
