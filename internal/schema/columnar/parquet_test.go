package columnar

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"callhouse/internal/schema"
	"callhouse/internal/wire"
	"callhouse/internal/wire/wiretest"
)

// Every table's file has the declared columns in declared order, with their field ids; no id or
// name occurs twice.
func TestParquetSchema(t *testing.T) {
	t.Parallel()
	for _, table := range schema.Tables {
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

// The file's schema matches the declared one, ids included.
func TestParquetSchemaInFile(t *testing.T) {
	t.Parallel()
	for _, table := range schema.Tables {
		got, _ := wiretest.RoundTrip(t, ParquetSchema(table))
		for i, f := range got.Fields() {
			c := table.Columns[i]
			if f.Name() != c.Name || f.ID() != c.ID {
				t.Errorf("%s: column %d is %s, id %d", table.Name, i, f.Name(), f.ID())
			}
		}
	}
}

// decodeWhole returns the object decoded from a call's JSON, with a value in each required column.
func decodeWhole(t testing.TB, d *wire.Decoder, body []byte, kind schema.Kind, n int) (*schema.Object, error) {
	t.Helper()
	o := new(schema.Object)
	if err := d.Decode(schema.CallResource, body, kind, o); err != nil {
		return nil, err
	}
	o.Own()
	for i, c := range schema.Calls.Columns {
		if c.Required && o.Row[i].IsNull() {
			o.Row[i] = schema.TextValue(fmt.Appendf(nil, "%d", n/7))
			if c.Type == schema.Timestamp {
				o.Row[i] = schema.InstantValue(int64(n))
			}
		}
	}
	return o, nil
}

// subset returns the schema of a file with some of a table's columns: reordered, with prefixed
// names, and with or without ids.
func subset(t *schema.Table, ids bool, prefix string, columns ...int) (*parquet.Schema, []int) {
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
		g = append(g, Field(prefix+c.Name, node))
	}
	return parquet.NewSchema(t.Name, g), columns
}

// Files of an older version, with fewer columns, and of a newer one, with more, are read by field
// id, or by name if they have no ids.
func TestRowReaderOtherFiles(t *testing.T) {
	t.Parallel()
	c, err := decodeWhole(t, new(wire.Decoder), wiretest.Payload(t, "v3_detail"), schema.KindDetail, 7)
	if err != nil {
		t.Fatal(err)
	}
	full := schema.Calls.AppendRow(nil, c.Row)
	want := make(schema.Row, len(full))
	for _, col := range []int{0, 4, 9, 12, 25} {
		want[col] = c.Row[col]
	}
	for name, file := range map[string]func() (*parquet.Schema, []int){
		"by id":   func() (*parquet.Schema, []int) { return subset(&schema.Calls, true, "old_", 25, 9, 12, 0, 4) },
		"by name": func() (*parquet.Schema, []int) { return subset(&schema.Calls, false, "", 25, 9, 12, 0, 4) },
	} {
		s, columns := file()
		var row parquet.Row
		for to, from := range columns {
			v := full[from]
			row = append(row, v.Level(0, v.DefinitionLevel(), to))
		}
		read, rows := wiretest.RoundTrip(t, s, row)
		r, err := NewRowReader(read, &schema.Calls)
		if err != nil {
			t.Fatal(err)
		}
		got := make(schema.Row, len(full))
		if err := r.Read(rows[0], got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, wiretest.SameRows); diff != "" || r.Lacks() == nil {
			t.Errorf("%s (-want +got): %s", name, diff)
		}
	}
	newer := schema.Calls
	newer.Columns = append(append([]schema.Column(nil), schema.Calls.Columns...), schema.Column{ID: 99, Name: "later", Type: schema.Text})
	file, rows := wiretest.RoundTrip(t, ParquetSchema(&newer), append(full.Clone(), schema.TextValue([]byte("x")).Level(0, 1, len(schema.Calls.Columns))))
	r, err := NewRowReader(file, &schema.Calls)
	if err != nil {
		t.Fatal(err)
	}
	got := make(schema.Row, len(full))
	if err := r.Read(rows[0], got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c.Row, got, wiretest.SameRows); diff != "" {
		t.Errorf("newer file: %s", diff)
	}
}

func TestRowReaderRefuses(t *testing.T) {
	t.Parallel()
	wrong := schema.Table{Name: "calls", Columns: []schema.Column{{ID: 1, Name: "call_id", Type: schema.Int64, Required: true}}}
	if _, err := NewRowReader(ParquetSchema(&wrong), &schema.Calls); err == nil {
		t.Error("takes a call_id that is a number")
	}
	if s, _ := subset(&schema.Calls, true, "", 1, 2); true {
		if _, err := NewRowReader(s, &schema.Calls); err == nil {
			t.Error("takes a file without call_id")
		}
	}
	r, err := NewRowReader(ParquetSchema(&schema.Calls), &schema.Calls)
	if err != nil {
		t.Fatal(err)
	}
	row := schema.Row{schema.TextValue([]byte("a")).Level(0, 0, 99)}
	if err := r.Read(row, make(schema.Row, len(schema.Calls.Columns))); err == nil {
		t.Error("takes a value of no column")
	}
}

func TestRunRow(t *testing.T) {
	t.Parallel()
	want := schema.Run{ID: "20261119T093000Z-00000001", StartedAt: 1, EndedAt: schema.Some[int64](2), Outcome: "done", Error: "e",
		Version: "v", DriftFields: []byte(`{"x":1}`), TotalCount: schema.Some[int64](3), BudgetUsedPercent: schema.Some[int64](995000), Commits: 4,
		Bulk: schema.BulkCounts{Requests: 5, Transcripts: 6, Compared: 7, Differing: 8, Unlisted: 9}, Unverified: schema.Some[int64](10),
		RecordingsDue: schema.Some[int64](11)}
	counts := 0
	for i := range reflect.TypeFor[schema.Run]().NumField() {
		if f := reflect.ValueOf(&want).Elem().Field(i); f.Kind() == reflect.Int64 && f.IsZero() {
			counts++
			f.SetInt(int64(100 + i))
		}
	}
	if counts != 21 {
		t.Errorf("%d counts", counts)
	}
	for _, want := range []schema.Run{want, {ID: "r"}} {
		row := schema.Runs.AppendRow(nil, want.Row())
		if len(row) != len(schema.Runs.Columns) {
			t.Fatalf("%d values for %d columns", len(row), len(schema.Runs.Columns))
		}
		file, rows := wiretest.RoundTrip(t, ParquetSchema(&schema.Runs), row)
		r, err := NewRowReader(file, &schema.Runs)
		if err != nil {
			t.Fatal(err)
		}
		var got schema.Run
		today := make(schema.Row, len(schema.Runs.Columns))
		if err := r.Read(rows[0], today); err != nil {
			t.Fatal(err)
		}
		got.Set(today)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}
