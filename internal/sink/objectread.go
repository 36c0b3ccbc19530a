package sink

import (
	"bytes"
	"errors"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
)

// objectReader reads the objects of a resource with the rows of their lists, in the tables' common
// order. Texts stay valid: the Parquet reader never reuses the memory of byte arrays.
type objectReader struct {
	of    *schema.Resource
	rows  *tableReader
	lists []objectList // as of.Lists
	// Skip reports whether to skip a row that does not belong to the object of (nil: to any
	// object). If it returns false or is nil, the row waits for the next object.
	Skip func(list int, row parquet.Row, of *schema.Object) bool
}

// objectList reads the rows of one list, object by object.
type objectList struct {
	*tableReader             // nil: there is no such file
	row          parquet.Row // read, but not yet taken
	keys         [][2]int    // its columns that repeat the object's key, and the corresponding columns of the object
}

// openObjects opens the files of a resource; nil if there are none. isKey reports whether a column
// identifies an object. open opens the file of a table, or returns nil.
func openObjects(of *schema.Resource, isKey func(column int) bool,
	open func(*schema.Table) (*tableReader, error)) (_ *objectReader, err error) {
	o := &objectReader{of: of, lists: make([]objectList, len(of.Lists))}
	if o.rows, err = open(of.Table); err != nil || o.rows == nil {
		return nil, err
	}
	for i, t := range of.Lists {
		l := &o.lists[i]
		if l.tableReader, err = open(t); err == nil && l.tableReader != nil {
			for col, from := range of.Repeats(i) {
				if from >= 0 && isKey(from) {
					l.keys = append(l.keys, [2]int{l.Column(t.Columns[col].Name), from})
				}
			}
			l.row, err = l.Next()
		}
		if err != nil {
			return nil, errors.Join(err, o.Close())
		}
	}
	return o, nil
}

// belongs reports whether the next row belongs to an object.
func (l *objectList) belongs(o *schema.Object) bool {
	for _, k := range l.keys {
		if o == nil || !bytes.Equal(l.row[k[0]].ByteArray(), o.Row[k[1]].ByteArray()) {
			return false
		}
	}
	return true
}

// Next reads the next object, and returns false if there is none.
func (o *objectReader) Next(to *schema.Object) (bool, error) {
	row, err := o.rows.Next()
	if err != nil || row == nil {
		return false, err
	}
	to.Begin(o.of)
	schema.SetRow(to.Row, row)
	return true, o.take(to)
}

// isCallID is isKey for calls.
func isCallID(column int) bool { return column == 0 }

// ReadCall reads the next call with its lists, reusing the memory of to, and returns false if there is
// none.
func (o *objectReader) ReadCall(to *calls.Call) (bool, error) {
	row, err := o.rows.Next()
	if err != nil {
		return false, err
	}
	if row == nil {
		return false, o.each(nil, func(int, parquet.Row) error { return nil }) // strays
	}
	if err := o.rows.Call(row, to); err != nil {
		return false, err
	}
	return true, o.take(&to.Object)
}

// EachCall visits the remaining calls. A call is valid until visit returns.
func (o *objectReader) EachCall(visit func(*calls.Call) error) error {
	var call calls.Call
	for {
		more, err := o.ReadCall(&call)
		if err == nil && more {
			err = visit(&call)
		}
		if err != nil || !more {
			return err
		}
	}
}

// take reads the rows of an object's lists into it.
func (o *objectReader) take(to *schema.Object) error {
	return o.each(to, func(i int, row parquet.Row) error { to.Lists[i].AddRow(row); return nil })
}

// each visits the rows of an object's lists; those of no object for nil.
func (o *objectReader) each(of *schema.Object, visit func(list int, row parquet.Row) error) error {
	for i := range o.lists {
		for l := &o.lists[i]; l.row != nil; {
			var err error
			if l.belongs(of) {
				err = visit(i, l.row)
			} else if o.Skip == nil || !o.Skip(i, l.row, of) {
				break
			}
			if err == nil {
				l.row, err = l.Next()
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Done returns an error if some rows belong to no object: the files are then in the wrong order,
// and rewriting them would lose rows.
func (o *objectReader) Done() error {
	for _, l := range o.lists {
		if l.row != nil {
			return &layout.DamageError{Path: l.Path, What: "it has a row without its object, or out of order"}
		}
	}
	return nil
}

// Close closes the files.
func (o *objectReader) Close() error {
	errs := []error{o.rows.Close()}
	for _, l := range o.lists {
		if l.tableReader != nil {
			errs = append(errs, l.Close())
		}
	}
	return errors.Join(errs...)
}
