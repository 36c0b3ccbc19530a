package table

import (
	"slices"
	"sync"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/calls"
	"callhouse/internal/schema"
)

// Period reads the calls of one period with their turns and items.
type Period struct {
	*Objects
	last *calls.Call // the call whose lists were not taken yet
}

// OpenPeriod opens the files of a period; nil if there are none. See OpenObjects for the
// parameters. If only is Recordings, calls also have the columns that show whether a recording is
// due.
func OpenPeriod(only []*schema.Table, open func(*schema.Table) (*Reader, error)) (*Period, error) {
	o, err := OpenObjects(schema.CallResource, func(column int) bool { return column == 0 }, only, open)
	if o == nil {
		return nil, err
	}
	if slices.Equal(only, []*schema.Table{&schema.Recordings}) {
		o.rows.Pick(calls.RecordingColumns...)
	}
	return &Period{Objects: o}, err
}

// callPool holds calls whose memory is reused.
var callPool = sync.Pool{New: func() any { return new(calls.Call) }}

// Next returns the next call, without its lists, or nil at the end. Lists not taken are skipped.
func (p *Period) Next() (*calls.Call, error) {
	if p.last != nil {
		if err := p.each(&p.last.Object, skip); err != nil {
			return nil, err
		}
		p.last = nil
	}
	row, err := p.rows.Next()
	if err != nil || row == nil {
		return nil, err
	}
	p.last, _ = callPool.Get().(*calls.Call)
	return p.last, p.rows.Call(row, p.last)
}

func skip(int, parquet.Row) error { return nil }

// Read reads the next call with its lists, reusing the memory of to, and returns false if there is
// none.
func (p *Period) Read(to *calls.Call) (bool, error) {
	row, err := p.rows.Next()
	if err != nil {
		return false, err
	}
	if row == nil {
		return false, p.each(nil, skip)
	}
	if err := p.rows.Call(row, to); err != nil {
		return false, err
	}
	return true, p.Take(to)
}

// Each visits the remaining calls.
func (p *Period) Each(visit func(*calls.Call) error) error {
	for {
		call, err := p.Next()
		if err != nil || call == nil {
			return err
		}
		if err := visit(call); err != nil {
			return err
		}
	}
}

// Take reads the turns and items of the call last returned by Next.
func (p *Period) Take(call *calls.Call) error {
	p.last = nil
	return p.Objects.Take(&call.Object)
}
