package erase

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"

	"github.com/parquet-go/parquet-go"
	"github.com/sourcegraph/conc/pool"

	"callhouse/internal/layout"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/sink/snapshot"
	"callhouse/internal/sink/table"
)

// Place is a column that holds forgotten ids or numbers in other rows.
type Place struct {
	Table  string `json:"table,omitempty"`
	Column string `json:"column,omitempty"`
	Path   string `json:"path,omitempty"` // instead of a table: a file without rows
	Rows   int64  `json:"rows,omitempty"`
	Calls  int64  `json:"calls,omitempty"` // number of calls of these rows
	// Key means that the column identifies rows, and is never blanked.
	Key bool `json:"key,omitempty"`
}

// places are the places of one file.
type places struct {
	list  []Place
	calls map[string]bool // calls of these rows
}

// add sums the places of several files.
func add(sum, more []Place) []Place {
	for _, p := range more {
		i := slices.IndexFunc(sum, func(s Place) bool { return s.Table == p.Table && s.Column == p.Column && s.Path == p.Path })
		if i < 0 {
			sum = append(sum, p)
			continue
		}
		sum[i].Rows += p.Rows
		sum[i].Calls += p.Calls
	}
	slices.SortStableFunc(sum, func(a, b Place) int {
		return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Path, b.Path))
	})
	return sum
}

// findPlaces searches all texts of the current snapshot for ids and numbers, except rows that are
// erased.
func (f *erasure) findPlaces(ctx context.Context) error {
	work := pool.New().WithContext(ctx).WithCancelOnError().WithFirstError().WithMaxGoroutines(runtime.GOMAXPROCS(0))
	var mu sync.Mutex
	in := snapshot.NewReader(f.w.FS, f.w.Current, f.w.Proofs)
	for i := range in.Manifest.Files {
		file := &in.Manifest.Files[i]
		if table.ByName(file.Table) == nil {
			continue
		}
		work.Go(func(ctx context.Context) error {
			return in.Read(file, func(r *table.Reader) error {
				found, err := f.traces.file(ctx, r, file.Table, f.erases(r, file.Table))
				mu.Lock()
				defer mu.Unlock()
				f.places[placeKey(file)] = found
				return err
			})
		})
	}
	return work.Wait()
}

// placeKey identifies a file: the file of runs has the same path in every snapshot.
func placeKey(f *layout.File) string { return f.Path + " " + f.SHA256 }

// erases returns the owner that decides, from the values of some columns, whether a row is erased;
// nil if no row is.
func (f *erasure) erases(r *table.Reader, name string) *owner {
	column := idColumn(name)
	numbers := map[string]string{schema.CallerTallies.Name: "caller", schema.AttemptEdges.Name: "number"}
	if numbers[name] != "" { // counted again without the calls of the number
		return &owner{[]string{numbers[name]}, func(row []parquet.Value) bool {
			return slices.ContainsFunc(f.numbers, func(n number) bool { return n.spelled(string(row[0].ByteArray())) })
		}}
	}
	if column == "" || r.Column(column) < 0 {
		return nil
	}
	o := &owner{columns: []string{column}}
	switch {
	case name == resource.Changes.Name:
		o.columns = append(o.columns, "resource")
		o.gone = func(row []parquet.Value) bool {
			of := resource.ByName(string(row[1].ByteArray()))
			return of != nil && slices.Contains(personal, of) && of.Forgot(string(row[0].ByteArray()), func(id string) bool { return f.ids[id] })
		}
	case column == "call_id":
		o.gone = func(row []parquet.Value) bool { return f.ids[string(row[0].ByteArray())] }
	default: // a key
		o.gone = func(row []parquet.Value) bool { return f.ids[resource.Part(string(row[0].ByteArray()))] }
	}
	return o
}

// owner decides to whom a row belongs.
type owner struct {
	columns []string
	gone    func(row []parquet.Value) bool
}

// file searches the texts of a data file. Erased rows do not count.
func (t *traces) file(ctx context.Context, r *table.Reader, name string, erases *owner) (*places, error) {
	out := &places{calls: map[string]bool{}}
	declared := table.ByName(name)
	var columns []string
	var json []bool
	call := -1
	for _, column := range r.Texts() {
		if column == "call_id" {
			call = len(columns)
		}
		columns = append(columns, column)
		i := declared.Column(column)
		json = append(json, i >= 0 && declared.Columns[i].Type == schema.JSON)
	}
	from := len(columns)
	if erases != nil {
		columns = append(columns, erases.columns...)
	}
	found := make([]Place, from)
	last := make([]string, from) // the call that a place was last counted for
	err := r.Each(columns, func(row []parquet.Value) {
		if ctx.Err() != nil || erases != nil && erases.gone(row[from:]) {
			return
		}
		for i := range found {
			if row[i].IsNull() || !t.in(row[i].ByteArray(), json[i]) {
				continue
			}
			found[i].Rows++
			if call < 0 {
				continue
			}
			if id := string(row[call].ByteArray()); last[i] != id {
				last[i], out.calls[id] = id, true
				found[i].Calls++
			}
		}
	})
	for i, p := range found {
		if p.Rows > 0 {
			p.Table, p.Column, p.Key = name, columns[i], isKey(name, columns[i])
			out.list = append(out.list, p)
		}
	}
	return out, cmp.Or(err, ctx.Err())
}

// isKey reports whether a column identifies the rows of a table, or joins them to others.
func isKey(name, column string) bool {
	of := resource.Owner(name)
	switch {
	case of != nil && name == of.Name:
		return of.IsKey(of.Table.Column(column))
	case name == resource.Changes.Name:
		return column == "key"
	}
	t := table.ByName(name)
	return column == "call_id" || column == "run_id" || t != nil && t.Columns[t.Column(column)].Parent != ""
}

// blankRow blanks the texts of a row, except its keys.
func (t *traces) blankRow(of *schema.Table, row schema.Row) {
	for i := range of.Columns {
		c := &of.Columns[i]
		switch c.Type {
		case schema.Text, schema.Word, schema.JSON:
		default:
			continue
		}
		if row[i].IsNull() || isKey(of.Name, c.Name) {
			continue
		}
		if text := row[i].ByteArray(); t.in(text, c.Type == schema.JSON) {
			row[i] = schema.TextValue(t.blank(text, c.Type == schema.JSON))
		}
	}
}
