package commit

import (
	"errors"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink/table"
)

// located is where the snapshot holds a call.
type located struct {
	period string
	start  schema.Opt[int64]
}

// locate finds where the old snapshot holds the changed calls. It reads the ids in the
// files where they belong by their start, then in files with calls whose start may still
// change. What is not there is new, or its start changed all the same: the filters of
// the other files say which of them to read.
func (c *Commit) locate(periods map[string]bool) (map[string]located, error) {
	found := map[string]located{}
	if c.Old == nil || len(c.in.changes) == 0 {
		return found, nil
	}
	home := map[string]bool{}
	for _, ch := range c.in.changes {
		if ch.startSent && ch.start.OK {
			home[periodOf(periods, layout.Day(ch.start.V))] = true
		}
	}
	var likely, others []*layout.File
	var missing *table.IDs
	for _, f := range c.Old.Files(schema.Calls.Name) {
		switch {
		case home[f.Period]:
			if err := c.search(f, nil, found); err != nil {
				return nil, err
			}
		case f.Unsettled > 0 || f.Due > 0:
			likely = append(likely, f)
		default:
			others = append(others, f)
		}
	}
	for i, f := range append(likely, others...) {
		if len(found) == len(c.in.changes) {
			break
		}
		if i == len(likely) {
			missing = c.missing(found)
		}
		if err := c.search(f, missing, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// missing returns the changed calls that have not been found.
func (c *Commit) missing(found map[string]located) *table.IDs {
	out := new(table.IDs)
	for id := range c.in.changes {
		if _, ok := found[id]; !ok {
			out.Add(id)
		}
	}
	return out
}

// search finds changed calls in a file. If missing is given, it reads only the row groups
// whose filter says that one of these calls may be there.
func (c *Commit) search(f *layout.File, missing *table.IDs, found map[string]located) (err error) {
	open := c.Old.Open
	if missing != nil {
		open = c.Old.OpenAsIs
	}
	t, err := open(f)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	start := t.Column("start_at")
	for _, g := range t.Groups {
		if missing != nil {
			if may, err := missing.MayBeIn(t, g); err != nil || !may {
				if err != nil {
					return err
				}
				continue
			}
		}
		if err := c.Old.Prove(f); err != nil {
			return err
		}
		err := t.EachOf(g, []string{"call_id", "start_at"}, func(_ int64, row []parquet.Value) bool {
			id := row[0].ByteArray()
			if _, ok := c.in.changes[string(id)]; ok {
				found[string(id)] = located{period: f.Period, start: t.Instant(start, row[1])}
			}
			return true
		})
		if err != nil {
			return err
		}
	}
	return nil
}
