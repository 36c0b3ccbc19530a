package commit

import (
	"context"
	"maps"
	"slices"

	"callhouse/internal/layout"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/sink/snapshot"
	"callhouse/internal/wire/mask"
)

// Compact joins the days of months into one file per table.
func (b Base) Compact(ctx context.Context, months []string, progress func(rows int64)) (*Result, error) {
	m := b.begin(rules{progress: progress})
	return m.publish(func() (*layout.Manifest, error) {
		if _, err := m.setLines(nil); err != nil {
			return nil, err
		}
		p := m.planner()
		for _, month := range months {
			p.compact(month)
		}
		return m.fill(ctx, p.sorted(), nil)
	})
}

// Respell rewrites periods and the customers, whose national numbers were read in another region.
func (b Base) Respell(ctx context.Context, periods []string, progress func(rows int64)) (*Result, error) {
	m := b.begin(rules{progress: progress})
	return m.publish(func() (*layout.Manifest, error) {
		if _, err := m.objects(nil); err != nil {
			return nil, err
		}
		p := m.planner()
		for _, period := range periods {
			p.unitOf(period).always = true
		}
		return m.fill(ctx, p.sorted(), nil)
	})
}

// Redact redacts the calls of periods. After the last of them no older snapshot may stay, since
// those hold the data that was redacted.
func (b Base) Redact(ctx context.Context, periods []string, redactor *mask.Redactor, stamp Stamp, last bool,
	progress func(rows int64)) (*Result, error) {
	m := b.begin(rules{redactor: redactor, alone: last, progress: progress})
	return m.publish(func() (*layout.Manifest, error) {
		if _, err := m.setLines(nil); err != nil {
			return nil, err
		}
		p := m.planner()
		for _, period := range periods {
			p.unitOf(period)
		}
		unchecked := redactor.Counts()[mask.Unchecked]
		out, err := m.fill(ctx, p.sorted(), m.Old.Runs)
		if err != nil {
			return nil, err
		}
		stamp.put(out)
		if r := out.Redaction; redactor.Counts()[mask.Unchecked] == unchecked {
			r.Periods = slices.Compact(slices.Sorted(slices.Values(slices.Concat(r.Periods, periods))))
		}
		return out, nil
	})
}

// Restore publishes a snapshot with the content of another one, which may be the current one. The
// table runs keeps its rows and gains one, and forgotten calls stay forgotten.
func (b Base) Restore(ctx context.Context, content *snapshot.Reader, stamp Stamp, row func(Stats) schema.Run) (*Result, error) {
	keeper := b.Old
	b.Old = content
	m := b.begin(rules{})
	m.keeper = keeper
	return m.publish(func() (*layout.Manifest, error) {
		out, err := m.fill(ctx, nil, m.withRow(row))
		if err == nil {
			stamp.put(out)
		}
		return out, err
	})
}

// Erasure lists the data that a snapshot loses.
type Erasure struct {
	Calls map[string]map[string]bool // to remove, by period
	// Resources are rewritten, together with the table of changes. Objects of Personal are removed
	// if they have one of the keys.
	Resources, Personal []*resource.Resource
	Keys                map[string]bool
	Runs                bool                     // whether the table runs is rewritten
	Text                func(text string) string // blanks its texts
}

// Erase rewrites parts of the old snapshot into another one, and returns the files.
func (b Base) Erase(ctx context.Context, to *snapshot.Builder, e *Erasure) ([]layout.File, error) {
	m := b.begin(rules{})
	m.b = to
	if _, err := m.setLines(nil); err != nil {
		return nil, err
	}
	var units []*unit
	for _, period := range slices.Sorted(maps.Keys(e.Calls)) {
		units = append(units, &unit{period: period, from: []string{period}, leaving: e.Calls[period], always: true})
	}
	err := m.rewriteAll(ctx, units)
	if err == nil {
		err = m.eraseObjects(e)
	}
	if err != nil || !e.Runs {
		return m.files, err
	}
	runs, err := m.Old.Runs()
	if err != nil {
		return nil, err
	}
	for i := range runs {
		runs[i].Error = e.Text(runs[i].Error)
		if runs[i].DriftFields != nil {
			runs[i].DriftFields = []byte(e.Text(string(runs[i].DriftFields)))
		}
	}
	err = m.writeRuns(runs)
	return m.files, err
}

// eraseObjects rewrites the resources and the changes.
func (m *maker) eraseObjects(e *Erasure) error {
	gone := func(of *resource.Resource, key string) bool {
		return slices.Contains(e.Personal, of) && of.Forgot(key, func(id string) bool { return e.Keys[id] })
	}
	for _, of := range e.Resources {
		w := m.objectFiles(of)
		err := m.write(w, nil, func() (bool, error) {
			return true, m.Old.EachObject(of, func(o *schema.Object) error {
				if gone(of, of.KeyOf(o.Row)) {
					return nil
				}
				return w.Write(o)
			})
		})
		if err != nil {
			return err
		}
	}
	if len(e.Resources) == 0 {
		return nil
	}
	return m.rewriteChanges(nil, func(row schema.Row) bool {
		of := changeOf(row)
		return gone(resource.ByName(of.resource), of.key)
	})
}
