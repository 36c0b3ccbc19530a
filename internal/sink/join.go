package sink

import (
	"errors"
	"fmt"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// copies says whether a unit makes one file a table of several, and nothing else:
// no call of it changes (a month that is compacted is settled, and of its days
// those that are kept no longer are left out whole), and all rows may be copied
// as they are.
func (c *commit) copies(u *unit) (bool, error) {
	if !u.always || len(u.from) < 2 || len(u.changes) > 0 || len(u.moved) > 0 {
		return false, nil
	}
	for _, period := range u.from {
		for _, table := range schema.CallTables {
			f := c.fileOf(table.Name, period)
			if f == nil {
				continue
			}
			r, err := openTable(c.fsys, c.old.Path(f), table)
			if err != nil {
				return false, err
			}
			if err := r.close(); err != nil {
				return false, fmt.Errorf("close a data file: %w", err)
			}
			if !r.current {
				return false, nil
			}
		}
	}
	return true, nil
}

// join writes such a unit a table at a time: a month's pages of all tables at
// once, read and written, would be more than anything else that a run holds.
func (m *merger) join(u *unit) (files []layout.File, err error) {
	for _, table := range schema.CallTables {
		f, err := m.joinTable(u, table)
		if err != nil {
			return nil, err
		}
		files = append(files, f...)
	}
	return files, nil
}

func (m *merger) joinTable(u *unit, table *schema.Table) ([]layout.File, error) {
	old := newSources(m.c, u.from, table)
	w := newPeriodWriter(m.c.b, m.c.codec, u.period)
	w.only = table
	feed := newFeed(w)
	err := copyAll(u, old, feed)
	if werr := feed.close(); werr != nil {
		err = werr
	}
	if err = errors.Join(err, old.close()); err != nil {
		return nil, errors.Join(err, w.discard())
	}
	return w.close()
}

// copyAll takes over the rows of one table.
func copyAll(u *unit, old *sources, to *feed) error {
	for {
		call, err := old.next()
		if err != nil || call == nil {
			return err
		}
		if err := to.copy(old.cur.periodReader, call); err != nil {
			return err
		}
		if u.tell != nil && old.only == &schema.Turns { // they take the longest
			u.tell(1)
		}
	}
}
