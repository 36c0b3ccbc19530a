package sink

import (
	"errors"
	"io"

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
	for _, f := range others {
		if len(found) == len(c.in.changes) {
			return found, nil
		}
		if may, err := c.mayHold(f, found); err != nil {
			return nil, err
		} else if may {
			if err := c.locateIn(f, found); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// mayHold asks a file's filters whether it may hold any changed call that has
// not been found.
func (c *commit) mayHold(f *layout.File, found map[string]located) (bool, error) {
	t, err := openTable(c.fsys, c.old.Path(f), &schema.Calls)
	if err != nil {
		return false, err
	}
	for _, g := range t.groups {
		filter := g.ColumnChunks()[t.id].BloomFilter()
		if filter == nil {
			return true, t.close()
		}
		for id := range c.in.changes {
			if _, ok := found[id]; ok {
				continue
			}
			may, err := filter.Check(parquet.ByteArrayValue([]byte(id)))
			if err != nil {
				return false, closing(&DamageError{Path: t.path, What: err.Error()}, t.close)
			}
			if may {
				return true, t.close()
			}
		}
	}
	return false, t.close()
}

// locateIn reads the ids and starts of a file of calls.
func (c *commit) locateIn(f *layout.File, found map[string]located) error {
	t, err := openTable(c.fsys, c.old.Path(f), &schema.Calls)
	if err != nil {
		return err
	}
	for _, g := range t.groups {
		err := readIDs(g, t.id, t.start, func(id []byte, start schema.Opt[int64]) {
			if _, ok := c.in.changes[string(id)]; ok {
				found[string(id)] = located{period: f.Period, start: start}
			}
		})
		if err != nil {
			return closing(&DamageError{Path: t.path, What: err.Error()}, t.close)
		}
	}
	return t.close()
}

// readIDs reads two columns of a row group of calls side by side; each has one
// value a row.
func readIDs(g parquet.RowGroup, id, start int, visit func(id []byte, start schema.Opt[int64])) (err error) {
	ids := parquet.NewColumnChunkValueReader(g.ColumnChunks()[id])
	starts := parquet.NewColumnChunkValueReader(g.ColumnChunks()[start])
	defer func() { err = errors.Join(err, ids.Close(), starts.Close()) }()
	var a, b [256]parquet.Value
	for left := g.NumRows(); left > 0; {
		n := int(min(left, int64(len(a))))
		if err := readFull(ids, a[:n]); err != nil {
			return err
		}
		if err := readFull(starts, b[:n]); err != nil {
			return err
		}
		for i := range n {
			at := schema.Opt[int64]{}
			if !b[i].IsNull() {
				at = schema.Some(b[i].Int64())
			}
			visit(a[i].ByteArray(), at)
		}
		left -= int64(n)
	}
	return nil
}

func readFull(r parquet.ValueReader, values []parquet.Value) error {
	for len(values) > 0 {
		n, err := r.ReadValues(values)
		if n == 0 {
			if err == nil || errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		values = values[n:]
	}
	return nil
}
