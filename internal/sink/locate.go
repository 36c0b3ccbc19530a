package sink

import (
	"errors"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/bloom"

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

// missing returns the hashes, as the filters take them, of the changed calls
// that have not been found.
func (c *commit) missing(found map[string]located) []uint64 {
	out := make([]uint64, 0, len(c.in.changes)-len(found))
	for id := range c.in.changes {
		if _, ok := found[id]; !ok {
			out = append(out, bloom.XXH64{}.Sum64([]byte(id)))
		}
	}
	return out
}

// searchIn looks for calls where they are hardly expected: it reads the filter
// of every row group, and the ids of those that may hold one of them.
func (c *commit) searchIn(f *layout.File, missing []uint64, found map[string]located) error {
	t, err := openTable(c.fsys, c.old.Path(f), &schema.Calls)
	if err != nil {
		return err
	}
	var room []byte
	for _, g := range t.groups {
		filter := g.ColumnChunks()[t.id].BloomFilter()
		may := filter == nil
		if !may {
			size := filter.Size()
			if int64(cap(room)) < size {
				room = make([]byte, size)
			}
			if _, err := filter.ReadAt(room[:size], 0); err != nil && !errors.Is(err, io.EOF) {
				return closing(&DamageError{Path: t.path, What: err.Error()}, t.close)
			}
			bits := bloom.MakeSplitBlockFilter(room[:size])
			may = slices.ContainsFunc(missing, bits.Check)
		}
		if !may {
			continue
		}
		if err := c.readInto(t, g, f.Period, found); err != nil {
			return closing(err, t.close)
		}
	}
	return t.close()
}

// locateIn reads the ids and starts of a file of calls.
func (c *commit) locateIn(f *layout.File, found map[string]located) error {
	t, err := openTable(c.fsys, c.old.Path(f), &schema.Calls)
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
	err := readIDs(g, t.id, t.start, func(id []byte, start schema.Opt[int64]) {
		if _, ok := c.in.changes[string(id)]; ok {
			found[string(id)] = located{period: period, start: start}
		}
	})
	if err != nil {
		return &DamageError{Path: t.path, What: err.Error()}
	}
	return nil
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
