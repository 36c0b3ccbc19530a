package table

import (
	"bytes"
	"errors"
	"sync"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
)

// Period reads the calls of one period with their turns and items, in the tables' common order. The
// returned values stay valid: the Parquet reader never reuses the memory of byte arrays.
type Period struct {
	calls   *Reader
	lists   []listReader // as schema.CallResource.Lists
	Current bool         // the rows may be copied unchanged
}

// listReader reads the rows of one list, call by call.
type listReader struct {
	*Reader             // nil: the period has no such file
	row     parquet.Row // read, not yet taken
	id      []byte      // of its call
}

func (r *listReader) advance() (err error) {
	r.row, r.id = nil, nil
	if r.Reader == nil {
		return nil
	}
	if r.row, err = r.Next(); err == nil && r.row != nil {
		r.id = r.callID(r.row)
	}
	return err
}

// OpenPeriod opens the files of a period; nil if there are none. open opens the file of a table, or
// returns nil. only is the one table whose rows are read, with only the keys of the calls; nil: all
// tables.
func OpenPeriod(only *schema.Table, open func(*schema.Table) (*Reader, error)) (*Period, error) {
	p := &Period{Current: true, lists: make([]listReader, len(schema.CallResource.Lists))}
	for i, table := range schema.CallTables {
		if only != nil && table != only && table != &schema.Calls {
			continue
		}
		r, err := open(table)
		if err != nil {
			return nil, errors.Join(err, p.Close())
		}
		if r == nil {
			continue
		}
		if only != nil && table != only {
			r.Pick(parentsOf(only)...)
		}
		if p.Current = p.Current && r.Current; i == 0 {
			p.calls = r
		} else {
			p.lists[i-1].Reader = r
		}
	}
	if p.calls == nil {
		return nil, p.Close()
	}
	for i := range p.lists {
		if err := p.lists[i].advance(); err != nil {
			return nil, errors.Join(err, p.Close())
		}
	}
	return p, nil
}

// parentsOf returns the columns of calls that the rows of a table repeat; the first one is the id.
func parentsOf(list *schema.Table) []string {
	var names []string
	for _, c := range list.Columns {
		if c.Parent != "" && c.Parent != schema.Position {
			names = append(names, c.Parent)
		}
	}
	return names
}

// Lossless returns an error if the files have columns that rewriting their rows would lose.
func (p *Period) Lossless() error {
	for _, r := range p.tables() {
		if len(r.Unknown) > 0 {
			return errors.Join(&layout.ColumnError{Column: layout.Column{Table: r.table.Name, Name: r.Unknown[0],
				Since: "what wrote it"}}, p.Close())
		}
	}
	return nil
}

// callPool has calls whose memory is reused.
var callPool = sync.Pool{New: func() any { return new(calls.Call) }}

// Next returns the next call, without its lists, or nil at the end. The previous call must have
// been taken or skipped.
func (p *Period) Next() (*calls.Call, error) {
	row, err := p.calls.Next()
	if err != nil || row == nil {
		return nil, err
	}
	call, _ := callPool.Get().(*calls.Call)
	return call, p.calls.Call(row, call)
}

// Take reads the call's turns and items into it.
func (p *Period) Take(call *calls.Call) error {
	err := p.each(call, func(list int, row parquet.Row) error {
		return p.lists[list].Row.Add(row, &call.Lists[list])
	})
	for _, r := range p.lists {
		if r.Reader != nil {
			call.Took(r.Row.Lacks())
		}
	}
	return err
}

// Skip skips the call's turns and items.
func (p *Period) Skip(call *calls.Call) error {
	return p.each(call, func(int, parquet.Row) error { return nil })
}

// each visits the rows of a call's lists.
func (p *Period) each(call *calls.Call, visit func(list int, row parquet.Row) error) error {
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

// Done returns an error if rows belong to no call: the files are then in a wrong order, and
// rewriting them would lose rows.
func (p *Period) Done() error {
	for i := range p.lists {
		if r := &p.lists[i]; r.row != nil {
			return &disk.DamageError{Path: r.Path, What: "it holds a row whose call is not where it should be"}
		}
	}
	return nil
}

// tables returns the files that the period has.
func (p *Period) tables() (out []*Reader) {
	if p.calls != nil {
		out = append(out, p.calls)
	}
	for _, r := range p.lists {
		if r.Reader != nil {
			out = append(out, r.Reader)
		}
	}
	return out
}

// Close closes the files.
func (p *Period) Close() error {
	var errs []error
	for _, r := range p.tables() {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}

// Upgrade converts a call from an older file to the current tables: values that are in extra, since
// there was no column for them, move into their column. It needs no request: extra holds the values
// as they were sent, so the call's JSON is rebuilt and decoded again. If the result does not
// reproduce exactly the same JSON, the call stays unchanged: nothing is lost, the values only stay
// in extra.
func Upgrade(dec *calls.Decoder, call *calls.Call) *calls.Call {
	if !call.HasExtra() && call.Lacks == nil {
		return call
	}
	kind := schema.KindItem
	if call.TurnCount().OK {
		kind = schema.KindDetail
	}
	body := call.AppendJSON(nil)
	now := new(calls.Call)
	if err := dec.Decode(body, kind, now); err != nil || now.Source() != call.Source() || now.TurnCount() != call.TurnCount() ||
		!bytes.Equal(now.ID(), call.ID()) || now.StartAt() != call.StartAt() || !bytes.Equal(now.AppendJSON(nil), body) {
		return call
	}
	now.Fetched(call.FirstSeenAt(), call.FetchedAt(), call.RunID())
	now.SetTranscriptState(call.TranscriptState())
	now.SetTranscriptSource(call)
	now.SetSettlement(call.Settlement())
	return now.Clone() // the decoder's memory is reused
}
