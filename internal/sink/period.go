package sink

import (
	"slices"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/calls"
	"callhouse/internal/schema"
)

// periodReader reads the calls of one period with their turns and items.
type periodReader struct{ *objectReader }

// openPeriod opens the files of a period; nil if there are none. only are the tables whose rows are
// read, nil: all. If it is Recordings, calls have only the columns that show whether a recording is
// due.
func openPeriod(only []*schema.Table, open func(*schema.Table) (*tableReader, error)) (*periodReader, error) {
	o, err := openObjects(schema.CallResource, func(column int) bool { return column == 0 }, func(t *schema.Table) (*tableReader, error) {
		if only != nil && t != &schema.Calls && !slices.Contains(only, t) {
			return nil, nil
		}
		return open(t)
	})
	if o == nil {
		return nil, err
	}
	if slices.Equal(only, []*schema.Table{&schema.Recordings}) {
		o.rows.Pick(calls.RecordingColumns...)
	}
	return &periodReader{o}, err
}

// Read reads the next call with its lists, reusing the memory of to, and returns false if there is
// none.
func (p *periodReader) Read(to *calls.Call) (bool, error) {
	row, err := p.rows.Next()
	if err != nil {
		return false, err
	}
	if row == nil {
		return false, p.each(nil, func(int, parquet.Row) error { return nil }) // strays
	}
	if err := p.rows.Call(row, to); err != nil {
		return false, err
	}
	return true, p.take(&to.Object)
}

// Each visits the remaining calls. A call is valid until visit returns.
func (p *periodReader) Each(visit func(*calls.Call) error) error {
	var call calls.Call
	for {
		more, err := p.Read(&call)
		if err == nil && more {
			err = visit(&call)
		}
		if err != nil || !more {
			return err
		}
	}
}
