package sink

import (
	"errors"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// periodReader reads the calls of one period with their turns and items, in
// the tables' common order. Values that it returns stay valid: the Parquet
// reader never reuses the memory of byte arrays.
type periodReader struct {
	calls, turns, items *tableReader // turns and items are nil where there is no file
	current             bool         // the rows may be copied as they are
	turn, item          parquet.Row  // read, not yet taken
	turnID, itemID      []byte
}

// openPeriod opens the old snapshot's files of a period. It returns nil where
// there are none.
func (c *commit) openPeriod(period string) (*periodReader, error) { return c.openTables(period, nil) }

// openTables is openPeriod for a reader of one table's rows; nil is all tables.
// Of the calls to which the rows of another table belong it reads the key.
func (c *commit) openTables(period string, only *schema.Table) (*periodReader, error) {
	p := &periodReader{current: true}
	for _, t := range []struct {
		table *schema.Table
		to    **tableReader
	}{{&schema.Calls, &p.calls}, {&schema.Turns, &p.turns}, {&schema.Items, &p.items}} {
		f := c.fileOf(t.table.Name, period)
		if f == nil || only != nil && t.table != only && t.table != &schema.Calls {
			continue
		}
		r, err := c.open(f)
		if err != nil {
			return nil, closing(err, p.close)
		}
		if only != nil && t.table != only {
			r.pick("call_id", "start_at")
		}
		*t.to = r
		p.current = p.current && r.current
	}
	if p.calls == nil {
		return nil, p.close()
	}
	return p, errors.Join(p.advanceTurn(), p.advanceItem())
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
// must have been taken, copied or skipped.
func (p *periodReader) next() (*schema.Call, parquet.Row, error) {
	row, err := p.calls.next()
	if err != nil || row == nil {
		return nil, nil, err
	}
	call := new(schema.Call)
	if err := p.calls.reader.Call(row, call); err != nil {
		return nil, nil, &DamageError{Path: p.calls.path, What: err.Error()}
	}
	return call, row, nil
}

func (p *periodReader) advanceTurn() (err error) {
	p.turn, p.turnID = nil, nil
	if p.turns == nil {
		return nil
	}
	if p.turn, err = p.turns.next(); err != nil || p.turn == nil {
		return err
	}
	p.turnID = p.turns.callID(p.turn)
	return nil
}

func (p *periodReader) advanceItem() (err error) {
	p.item, p.itemID = nil, nil
	if p.items == nil {
		return nil
	}
	if p.item, err = p.items.next(); err != nil || p.item == nil {
		return err
	}
	p.itemID = p.items.callID(p.item)
	return nil
}

// take reads the call's turns and items into it.
func (p *periodReader) take(call *schema.Call) (*schema.Call, error) {
	err := p.each(call, func(row parquet.Row) error {
		call.Turns = append(call.Turns, schema.Turn{})
		_, _, err := p.turns.reader.Turn(row, &call.Turns[len(call.Turns)-1])
		return err
	}, func(row parquet.Row) error {
		call.Items = append(call.Items, schema.Item{})
		_, _, err := p.items.reader.Item(row, &call.Items[len(call.Items)-1])
		return err
	})
	for _, r := range p.tables() {
		call.Took(r.reader)
	}
	return call, err
}

// skip passes over the call's turns and items.
func (p *periodReader) skip(call *schema.Call) error {
	nothing := func(parquet.Row) error { return nil }
	return p.each(call, nothing, nothing)
}

// each calls turn and item for the rows of a call.
func (p *periodReader) each(call *schema.Call, turn, item func(parquet.Row) error) error {
	for p.turn != nil && string(p.turnID) == string(call.ID) {
		if err := turn(p.turn); err != nil {
			return err
		}
		if err := p.advanceTurn(); err != nil {
			return err
		}
	}
	for p.item != nil && string(p.itemID) == string(call.ID) {
		if err := item(p.item); err != nil {
			return err
		}
		if err := p.advanceItem(); err != nil {
			return err
		}
	}
	return nil
}

// done reports rows that belong to no call: then the order of the files is not
// what it must be, and rewriting them would lose rows.
func (p *periodReader) done() error {
	if p.turn != nil {
		return &DamageError{Path: p.turns.path, What: "it holds a turn whose call is not where it should be"}
	}
	if p.item != nil {
		return &DamageError{Path: p.items.path, What: "it holds an analysis item whose call is not where it should be"}
	}
	return nil
}

// tables returns the files that the period has.
func (p *periodReader) tables() (out []*tableReader) {
	for _, r := range []*tableReader{p.calls, p.turns, p.items} {
		if r != nil {
			out = append(out, r)
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
