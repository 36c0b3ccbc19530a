package sink

import (
	"errors"
	"sync"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// periodReader reads the calls of one period with their turns and items, in
// the tables' common order. Values that it returns stay valid: the Parquet
// reader never reuses the memory of byte arrays.
type periodReader struct {
	calls   *tableReader
	lists   []listReader // as schema.CallResource.Lists
	current bool         // the rows may be written again as they are
}

// listReader reads the rows of one list of a call after the other.
type listReader struct {
	*tableReader             // nil: the period has no such file
	row          parquet.Row // read, not yet taken
	id           []byte      // of its call
}

func (r *listReader) advance() (err error) {
	r.row, r.id = nil, nil
	if r.tableReader == nil {
		return nil
	}
	if r.row, err = r.next(); err == nil && r.row != nil {
		r.id = r.callID(r.row)
	}
	return err
}

// openPeriod opens the old snapshot's files of a period. It returns nil where
// there are none.
func (c *commit) openPeriod(period string) (*periodReader, error) { return c.openTables(period, nil) }

// openTables is openPeriod for a reader of one table's rows; nil is all tables.
// Of the calls to which the rows of another table belong it reads the key.
func (c *commit) openTables(period string, only *schema.Table) (*periodReader, error) {
	p := &periodReader{current: true, lists: make([]listReader, len(schema.CallResource.Lists))}
	for i, table := range schema.CallTables {
		f := c.fileOf(table.Name, period)
		if f == nil || only != nil && table != only && table != &schema.Calls {
			continue
		}
		r, err := c.open(f)
		if err != nil {
			return nil, closing(err, p.close)
		}
		if only != nil && table != only {
			r.pick("call_id", "start_at")
		}
		if p.current = p.current && r.current; i == 0 {
			p.calls = r
		} else {
			p.lists[i-1].tableReader = r
		}
	}
	if p.calls == nil {
		return nil, p.close()
	}
	for i := range p.lists {
		if err := p.lists[i].advance(); err != nil {
			return nil, closing(err, p.close)
		}
	}
	return p, nil
}

// lossless returns an error if the files have columns that would be lost if their
// rows were written anew.
func (p *periodReader) lossless() error {
	for _, r := range p.tables() {
		if len(r.unknown) > 0 {
			return errors.Join(&layout.ColumnError{Column: layout.Column{Table: r.table.Name, Name: r.unknown[0], Since: "what wrote it"}}, p.close())
		}
	}
	return nil
}

// next returns the next call and its row, or nil at the end. The call before

// callPool has memory of calls to use again.
var callPool = sync.Pool{New: func() any { return new(schema.Call) }}

// next returns the next call, without its lists, or nil at the end. The call before
// must have been taken or skipped.
func (p *periodReader) next() (*schema.Call, error) {
	row, err := p.calls.next()
	if err != nil || row == nil {
		return nil, err
	}
	call, _ := callPool.Get().(*schema.Call)
	if err := p.calls.reader.Call(row, call); err != nil {
		return nil, &DamageError{Path: p.calls.path, What: err.Error()}
	}
	return call, nil
}

// take reads the call's turns and items into it.
func (p *periodReader) take(call *schema.Call) error {
	err := p.each(call, func(list int, row parquet.Row) error {
		return p.lists[list].reader.Add(row, &call.Lists[list])
	})
	for _, r := range p.tables() {
		call.Took(r.reader)
	}
	return err
}

// skip passes over the call's turns and items.
func (p *periodReader) skip(call *schema.Call) error {
	return p.each(call, func(int, parquet.Row) error { return nil })
}

// each visits the rows of a call's lists.
func (p *periodReader) each(call *schema.Call, visit func(list int, row parquet.Row) error) error {
	for i := range p.lists {
		for r := &p.lists[i]; r.row != nil && string(r.id) == string(call.ID()); {
			if err := visit(i, r.row); err != nil {
				return err
			}
			if err := r.advance(); err != nil {
				return err
			}
		}
	}
	return nil
}

// done reports rows that belong to no call: then the order of the files is not
// what it must be, and rewriting them would lose rows.
func (p *periodReader) done() error {
	for i := range p.lists {
		if r := &p.lists[i]; r.row != nil {
			return &DamageError{Path: r.path, What: "it holds a row whose call is not where it should be"}
		}
	}
	return nil
}

// tables returns the files that the period has.
func (p *periodReader) tables() (out []*tableReader) {
	if p.calls != nil {
		out = append(out, p.calls)
	}
	for _, r := range p.lists {
		if r.tableReader != nil {
			out = append(out, r.tableReader)
		}
	}
	return out
}

func (p *periodReader) close() error {
	var errs []error
	for _, r := range p.tables() {
		errs = append(errs, r.close())
	}
	return errors.Join(errs...)
}
