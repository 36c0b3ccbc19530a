package schema

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/parquet-go/parquet-go"
)

// Every table's file has the declared columns, in declared order, with their
// field ids; and no id or name is given twice.
func TestParquetSchema(t *testing.T) {
	t.Parallel()
	for _, table := range Tables {
		s := ParquetSchema(table)
		names, ids := map[string]bool{}, map[int]bool{}
		for i, c := range table.Columns {
			leaf, ok := s.Lookup(c.Name)
			if !ok || leaf.ColumnIndex != i || leaf.Node.ID() != c.ID || leaf.Node.Optional() == c.Required {
				t.Errorf("%s.%s: leaf %d, id %d, optional %v", table.Name, c.Name, leaf.ColumnIndex, leaf.Node.ID(), leaf.Node.Optional())
			}
			if names[c.Name] || ids[c.ID] || c.ID <= 0 {
				t.Errorf("%s.%s: name or id %d given twice, or no id", table.Name, c.Name, c.ID)
			}
			names[c.Name], ids[c.ID] = true, true
		}
	}
}

// roundTrip writes rows into a file of a schema, and returns the schema and the
// rows that are read from it.
func roundTrip(t *testing.T, s *parquet.Schema, rows ...parquet.Row) (*parquet.Schema, []parquet.Row) {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[any](&b, s)
	if _, err := w.WriteRows(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	var out []parquet.Row
	for _, g := range f.RowGroups() {
		r := g.Rows()
		buf := make([]parquet.Row, 1)
		for {
			n, err := r.ReadRows(buf)
			if n == 1 {
				out = append(out, buf[0].Clone())
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return f.Schema(), out
}

// The file's schema says what the declared one does, ids included.
func TestParquetSchemaInFile(t *testing.T) {
	t.Parallel()
	for _, table := range Tables {
		got, _ := roundTrip(t, ParquetSchema(table))
		for i, f := range got.Fields() {
			c := table.Columns[i]
			if f.Name() != c.Name || f.ID() != c.ID {
				t.Errorf("%s: column %d is %s, id %d", table.Name, i, f.Name(), f.ID())
			}
		}
	}
}

// subset returns the schema of a file with some of a table's columns, in
// another order, under other names if renamed, with ids or without.
func subset(t *Table, ids bool, prefix string, columns ...int) (*parquet.Schema, []int) {
	g := orderedGroup{}
	for _, i := range columns {
		c := &t.Columns[i]
		node := leafOf(c)
		if !c.Required {
			node = parquet.Optional(node)
		}
		if ids {
			node = parquet.FieldID(node, c.ID)
		}
		g = append(g, &orderedField{Node: node, name: prefix + c.Name})
	}
	return parquet.NewSchema(t.Name, g), columns
}

// Files of an older version, with fewer columns, and of a newer one, with more,
// are read by field id, or by name where there are no ids.
func TestRowReaderOtherFiles(t *testing.T) {
	t.Parallel()
	c := decoded(t, payload(t, "v3_detail"), KindDetail)
	c.Settle(settledAt)
	full := Calls.AppendRow(nil, c.Row)
	want := NewCall("")
	for _, col := range []int{colCallID, colStatus, colStartAt, colTotalCost, colSettlement} {
		want.Row[col] = c.Row[col]
	}
	missing := cmpopts.IgnoreFields(Object{}, "Lacks")
	for name, s := range map[string]func() (*parquet.Schema, []int){
		"by id":   func() (*parquet.Schema, []int) { return subset(&Calls, true, "old_", 25, 9, 12, 0, 4) },
		"by name": func() (*parquet.Schema, []int) { return subset(&Calls, false, "", 25, 9, 12, 0, 4) },
	} {
		schema, columns := s()
		var row parquet.Row
		for to, from := range columns {
			v := full[from]
			row = append(row, v.Level(0, v.DefinitionLevel(), to))
		}
		file, rows := roundTrip(t, schema, row)
		r, err := NewRowReader(file, &Calls)
		if err != nil {
			t.Fatal(err)
		}
		got := NewCall("a")
		set(got, "summary", "left over")
		if err := r.Call(rows[0], got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, sameRows, missing); diff != "" {
			t.Errorf("%s (-want +got): %s", name, diff)
		}
	}
	newer := Calls
	newer.Columns = append(append([]Column(nil), Calls.Columns...), Column{ID: 99, Name: "later", Type: Text})
	file, rows := roundTrip(t, ParquetSchema(&newer), append(full.Clone(), textValue([]byte("x")).Level(0, 1, len(Calls.Columns))))
	r, err := NewRowReader(file, &Calls)
	if err != nil {
		t.Fatal(err)
	}
	var got Call
	if err := r.Call(rows[0], &got); err != nil {
		t.Fatal(err)
	}
	got.Lists = c.Lists
	if diff := cmp.Diff(c, &got, sameRows); diff != "" {
		t.Errorf("newer file: %s", diff)
	}
}

func TestRowReaderRefuses(t *testing.T) {
	t.Parallel()
	wrong := Table{Name: "calls", Columns: []Column{{ID: 1, Name: "call_id", Type: Int64, Required: true}}}
	if _, err := NewRowReader(ParquetSchema(&wrong), &Calls); err == nil {
		t.Error("takes a call_id that is a number")
	}
	if s, _ := subset(&Calls, true, "", 1, 2); true {
		if _, err := NewRowReader(s, &Calls); err == nil {
			t.Error("takes a file without call_id")
		}
	}
	r, err := NewRowReader(ParquetSchema(&Calls), &Calls)
	if err != nil {
		t.Fatal(err)
	}
	row := Calls.AppendRow(nil, NewCall("a").Row)
	row[25] = textValue([]byte("finished")).Level(0, 0, 25)
	if err := r.Call(row, new(Call)); err == nil {
		t.Error("takes a settlement that is none")
	}
	row[25] = textValue([]byte("ended")).Level(0, 0, 99)
	if err := r.Call(row[:26], new(Call)); err == nil {
		t.Error("takes a value of no column")
	}
}

func TestRunRow(t *testing.T) {
	t.Parallel()
	want := Run{ID: "20261119T093000Z-00000001", StartedAt: 1, EndedAt: Some[int64](2), Outcome: "done", Error: "e",
		Version: "v", DriftFields: []byte(`{"x":1}`), TotalCount: Some[int64](3), BudgetUsedPercent: Some[int64](995000), Commits: 4}
	for i, n := range want.counts() {
		*n = int64(100 + i)
	}
	for _, want := range []Run{want, {ID: "r"}} {
		row := Runs.AppendRow(nil, want.Row())
		if len(row) != len(Runs.Columns) {
			t.Fatalf("%d values for %d columns", len(row), len(Runs.Columns))
		}
		file, rows := roundTrip(t, ParquetSchema(&Runs), row)
		r, err := NewRowReader(file, &Runs)
		if err != nil {
			t.Fatal(err)
		}
		var got Run
		if err := r.Run(rows[0], &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	if Runs.Columns[firstCount].Name != "requests" || Runs.Columns[lastCount].Name != "drift" {
		t.Error("the counts are not where they are said to be")
	}
}

// In the steady state nothing is allocated: neither by decoding a call that is
// as observed, nor by merging it, nor by making its rows, but for the bytes of its
// cost.
func TestNoAllocations(t *testing.T) { // not parallel: it counts them
	body := observedDetail(t)
	item := payload(t, "v3_item")
	var d Decoder
	var c Call
	old := decoded(t, body, KindDetail)
	n := testing.AllocsPerRun(100, func() {
		if err := d.Decode(body, KindDetail, &c); err != nil {
			t.Fatal(err)
		}
		c.Settle(settledAt)
		c.Complete()
		if err := d.Decode(item, KindItem, &c); err != nil {
			t.Fatal(err)
		}
		Merge(old, &c, KindItem)
		c.Settle(settledAt)
		if Same(old, &c) {
			t.Fatal("the item has another cost")
		}
	})
	if n > 1 {
		t.Errorf("%v allocations", n)
	}
	if c.Extra() != nil || len(d.Drift) != 0 {
		t.Errorf("extra %s, drift %v", c.Extra(), d.Drift)
	}
}

// A clone is the same call in memory of its own.
func TestClone(t *testing.T) {
	t.Parallel()
	body := payload(t, "v3_detail_unknown_fields")
	c := decoded(t, body, KindDetail)
	clone, want := c.Clone(), rowsText(c, nil)
	clear(body)
	clear(c.Extra())
	clear(c.Turns().At(0))
	clear(c.Items().At(0))
	if got := rowsText(clone, nil); got != want {
		t.Error(cmp.Diff(want, got))
	}
	if n := clone.Size(); n < len(want)/4 || n > 1<<14 {
		t.Errorf("size %d", n)
	}
	if e := NewCall("").Clone(); e.ID() == nil || e.Status() != nil {
		t.Error("null and empty are not the same")
	}
}
