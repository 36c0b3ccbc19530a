package sink

import (
	"context"
	"slices"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/wire/mask"
)

// merge merges a run's records into a new snapshot, and publishes it. segments are those of the
// journal that hold the records.
func (m *maker) merge(ctx context.Context, compact monthsToCompact, segments []layout.Segment,
	row func(Stats) schema.Run) (*commitResult, error) {
	m.made.Details = m.in.details
	return m.publish(ctx, func() ([]*unit, error) {
		moved, err := m.objects() // first: other columns of a call depend on the organisation's numbers
		if err != nil {
			return nil, err
		}
		return m.plan(compact, moved)
	}, row, func(out *layout.Manifest) {
		for _, s := range m.in.Covered {
			// A skipped record may be of one of the span's calls: they are listed again.
			if !slices.ContainsFunc(m.made.Broken, func(l journalLoss) bool { return l.Run == s.Run }) {
				out.Coverage = cover(out.Coverage, s.Span)
			}
		}
		if m.keepFrom > 0 {
			out.Coverage = coveredSince(out.Coverage, m.keepFrom)
		}
		out.Journal = slices.Clone(segments)
	})
}

// compact joins the days of a month into one file per table.
func (m *maker) compact(ctx context.Context, month string) (*commitResult, error) {
	return m.publish(ctx, func() ([]*unit, error) {
		p := newPlan(m.old)
		p.compact(month)
		return p.sorted(), nil
	}, nil, nil)
}

// redact redacts the calls of periods. After the last of them no older snapshot may stay, since
// those hold the data that was redacted.
func (m *maker) redact(ctx context.Context, periods []string, by *mask.Redactor, last bool) (*commitResult, error) {
	m.redactor, m.exclusive = by, last
	unchecked := by.Counts()[mask.Unchecked]
	return m.publish(ctx, func() ([]*unit, error) {
		return newPlan(m.old).rewriting(periods, false), nil
	}, nil, func(out *layout.Manifest) {
		if r := out.Redaction; by.Counts()[mask.Unchecked] == unchecked {
			r.Periods = slices.Compact(slices.Sorted(slices.Values(slices.Concat(r.Periods, periods))))
		}
	})
}

// restore publishes a snapshot with the content of the old one, which may be the current one. The
// table runs keeps its rows and gains one, and forgotten calls stay forgotten.
func (m *maker) restore(ctx context.Context, row func(Stats) schema.Run) (*commitResult, error) {
	m.keeper = m.w.reader()
	return m.publish(ctx, func() ([]*unit, error) { return nil, nil }, row, nil)
}
