package sink

import (
	"errors"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/bloom"
)

// sought are calls that are looked for in many row groups, as the filters of
// these know them.
type sought struct {
	hashes []uint64
	room   []byte // for a filter
}

func (s *sought) add(id string) { s.hashes = append(s.hashes, bloom.XXH64{}.Sum64([]byte(id))) }

// mayBeIn asks the filter of a row group, read at once, whether any of the calls
// may be in it. Without a filter any may.
func (s *sought) mayBeIn(t *tableReader, g parquet.RowGroup) (bool, error) {
	filter := g.ColumnChunks()[t.id].BloomFilter()
	if filter == nil {
		return true, nil
	}
	size := int(filter.Size())
	s.room = slices.Grow(s.room[:0], size)[:size]
	n, err := filter.ReadAt(s.room, 0)
	if err == nil || errors.Is(err, io.EOF) {
		if err = nil; n < max(size, bloom.BlockSize) { // an empty one cannot be asked
			err = io.ErrUnexpectedEOF
		}
	}
	if err != nil {
		return false, &DamageError{Path: t.path, What: err.Error()}
	}
	return slices.ContainsFunc(s.hashes, bloom.MakeSplitBlockFilter(s.room).Check), nil
}
