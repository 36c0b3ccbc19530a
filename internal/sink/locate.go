package sink

import (
	"github.com/parquet-go/parquet-go"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// located is where the snapshot holds a call.
type located struct {
	period string
	start  schema.Opt[int64]
}

// locate finds where the old snapshot holds the changed calls. It reads the
// ids of the files that they belong to by their start, then, for those that
// are not there, of the files with calls whose start may well change. What is
// found in none of them is new, or its start changed after all: the filters of
// the other files say which of them to read.
func (c *commit) locate(periods map[string]bool) (map[string]located, error) {
	found := map[string]located{}
	if c.old == nil || len(c.in.changes) == 0 {
		return found, nil
	}
	home := map[string]bool{}
	for _, ch := range c.in.changes {
		if ch.told && ch.start.OK {
			home[periodOf(periods, layout.Day(ch.start.V))] = true
		}
	}
	var likely, others []*layout.File
	for _, f := range c.oldFiles(schema.Calls.Name) {
		switch {
		case home[f.Period]:
			if err := c.locateIn(f, found); err != nil {
				return nil, err
			}
		case f.Unsettled > 0 || f.Due > 0:
			likely = append(likely, f)
		default:
			others = append(others, f)
		}
	}
	for _, f := range likely {
		if len(found) == len(c.in.changes) {
			return found, nil
		}
		if err := c.locateIn(f, found); err != nil {
			return nil, err
		}
	}
	missing := c.missing(found)
	for _, f := range others {
		if len(found) == len(c.in.changes) {
			return found, nil
		}
		if err := c.searchIn(f, missing, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// missing returns the changed calls that have not been found.
func (c *commit) missing(found map[string]located) *sought {
	out := &sought{hashes: make([]uint64, 0, len(c.in.changes)-len(found))}
	for id := range c.in.changes {
		if _, ok := found[id]; !ok {
			out.add(id)
		}
	}
	return out
}

// searchIn looks for calls where they are hardly expected: it reads the filter
// of every row group, and the ids of those that may hold one of them.
func (c *commit) searchIn(f *layout.File, missing *sought, found map[string]located) error {
	t, err := openTable(c.fsys, c.old.Path(f), &schema.Calls)
	if err != nil {
		return err
	}
	for _, g := range t.groups {
		may, err := missing.mayBeIn(t, g)
		if err != nil {
			return closing(err, t.close)
		}
		if !may {
			continue
		}
		if err := c.proofs.prove(c.fsys, c.old, f); err != nil {
			return closing(err, t.close)
		}
		if err := c.readInto(t, g, f.Period, found); err != nil {
			return closing(err, t.close)
		}
	}
	return t.close()
}

// locateIn reads the ids and starts of a file of calls.
func (c *commit) locateIn(f *layout.File, found map[string]located) error {
	t, err := c.open(f)
	if err != nil {
		return err
	}
	for _, g := range t.groups {
		if err := c.readInto(t, g, f.Period, found); err != nil {
			return closing(err, t.close)
		}
	}
	return t.close()
}

// readInto notes which changed calls a row group of a period holds.
func (c *commit) readInto(t *tableReader, g parquet.RowGroup, period string, found map[string]located) error {
	err := eachRow(g, []int{t.id, t.start}, func(_ int64, row []parquet.Value) bool {
		id, start := row[0].ByteArray(), schema.Opt[int64]{}
		if _, ok := c.in.changes[string(id)]; ok {
			if !row[1].IsNull() {
				start = schema.Some(t.reader.Millis(t.start, row[1]))
			}
			found[string(id)] = located{period: period, start: start}
		}
		return true
	})
	if err != nil {
		return &DamageError{Path: t.path, What: err.Error()}
	}
	return nil
}
