package table

import (
	"bytes"
	"errors"

	"callhouse/internal/layout"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
)

// Objects reads the objects of a resource, with the rows of their lists, in the order
// of their keys.
type Objects struct {
	of    *resource.Resource
	rows  *Reader
	lists []objectList // as of.Lists; without a file if there are no rows
}

// objectList reads the rows of one list, object by object.
type objectList struct {
	*Reader
	row  schema.Rows // the row that is read and not yet taken, or none
	keys [][2]int    // its columns that repeat the object's key, and the corresponding key columns
}

// OpenObjects opens the files of a resource. open opens the file of a table, or returns nil.
// OpenObjects returns nil if the resource has no files.
func OpenObjects(of *resource.Resource, open func(*schema.Table) (*Reader, error)) (_ *Objects, err error) {
	o := &Objects{of: of, lists: make([]objectList, len(of.Lists))}
	if o.rows, err = open(of.Table); err != nil || o.rows == nil {
		return nil, err
	}
	for i, t := range of.Lists {
		l := &o.lists[i]
		if l.Reader, err = open(t); err == nil {
			for col := range t.Columns {
				if from := of.Table.Column(t.Columns[col].Parent); from >= 0 && of.IsKey(from) {
					l.keys = append(l.keys, [2]int{col, from})
				}
			}
			err = l.advance(t)
		}
		if err != nil {
			return nil, errors.Join(err, o.Close())
		}
	}
	return o, nil
}

func (l *objectList) advance(t *schema.Table) error {
	l.row.Empty(t)
	if l.Reader == nil {
		return nil
	}
	row, err := l.Next()
	if err != nil || row == nil {
		return err
	}
	return l.Row.Add(row, &l.row)
}

// belongs reports whether the next row belongs to an object.
func (l *objectList) belongs(o *schema.Object) bool {
	if l.row.Len() == 0 {
		return false
	}
	for _, k := range l.keys {
		if !bytes.Equal(l.row.At(0)[k[0]].ByteArray(), o.Row[k[1]].ByteArray()) {
			return false
		}
	}
	return true
}

// Next reads the next object, and returns false if there is none. Its texts stay valid.
func (o *Objects) Next(to *schema.Object) (bool, error) {
	row, err := o.rows.Next()
	if err != nil || row == nil {
		return false, err
	}
	if err := o.rows.Row.Object(row, o.of.Resource, to); err != nil {
		return false, &disk.DamageError{Path: o.rows.Path, What: err.Error()}
	}
	for i := range o.lists {
		l := &o.lists[i]
		for l.belongs(to) {
			copy(to.Lists[i].Add(), l.row.At(0))
			if err := l.advance(o.of.Lists[i]); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// Done returns an error if rows belong to no object.
func (o *Objects) Done() error {
	for i := range o.lists {
		if l := &o.lists[i]; l.row.Len() > 0 {
			return &disk.DamageError{Path: l.Path, What: "it holds a row whose object is not where it should be"}
		}
	}
	return nil
}

// Readers returns the open files, that of the objects first.
func (o *Objects) Readers() []*Reader {
	out := []*Reader{o.rows}
	for i := range o.lists {
		if o.lists[i].Reader != nil {
			out = append(out, o.lists[i].Reader)
		}
	}
	return out
}

// Close closes the files.
func (o *Objects) Close() error {
	var errs []error
	for _, r := range o.Readers() {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}

// ObjectsWriter writes the files of a resource.
type ObjectsWriter struct {
	tables map[*schema.Table]*Writer
	order  []*Writer
}

// NewObjectsWriter returns the writer of a resource's files into a folder.
func NewObjectsWriter(in Folder, of *resource.Resource) *ObjectsWriter {
	w := &ObjectsWriter{tables: map[*schema.Table]*Writer{}}
	for _, t := range of.Tables() {
		w.tables[t] = NewWriter(in, t, "")
		w.order = append(w.order, w.tables[t])
	}
	return w
}

// Write writes an object.
func (w *ObjectsWriter) Write(o *schema.Object) error {
	for t, row := range o.Rows() {
		if err := w.tables[t].Add(row); err != nil {
			return err
		}
	}
	return nil
}

// Close makes the files durable and returns their entries of the manifest.
func (w *ObjectsWriter) Close() (out []layout.File, err error) {
	for _, t := range w.order {
		f, ferr := t.Close()
		if err = errors.Join(err, ferr); f != nil {
			out = append(out, *f)
		}
	}
	return out, err
}

// Discard removes the files.
func (w *ObjectsWriter) Discard() error {
	var errs []error
	for _, t := range w.order {
		errs = append(errs, t.Discard())
	}
	return errors.Join(errs...)
}
