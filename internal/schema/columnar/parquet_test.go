package columnar

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/schema"
	"callhouse/internal/test"
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

// A file with other columns than its table's is refused, with the first of them.
func TestOtherColumns(t *testing.T) {
	t.Parallel()
	changed := func(edit func(columns []schema.Column) []schema.Column) *parquet.Schema {
		return ParquetSchema(&schema.Table{Name: "calls", Columns: edit(slices.Clone(schema.Calls.Columns))})
	}
	for want, edit := range map[string]func([]schema.Column) []schema.Column{
		"":                       func(c []schema.Column) []schema.Column { return c },
		"lacks the column moves": func(c []schema.Column) []schema.Column { return c[:len(c)-1] },
		"its column made_up is not in": func(c []schema.Column) []schema.Column {
			return append(c, schema.Column{ID: 99, Name: "made_up", Type: schema.Text})
		},
		"not the column":  func(c []schema.Column) []schema.Column { c[0].Type = schema.Int64; return c },
		"its column 2 is": func(c []schema.Column) []schema.Column { c[1].ID = 98; return c },
	} {
		err := SameColumns(changed(edit), &schema.Calls)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestRunRow(t *testing.T) {
	t.Parallel()
	want := schema.Run{ID: "20261119T093000Z-00000001", StartedAt: 1, EndedAt: schema.Some[int64](2), Outcome: "done", Error: "e",
		Version: "v", DriftFields: []byte(`{"x":1}`), TotalCount: schema.Some[int64](3), BudgetUsedPercent: schema.Some[int64](995000), Commits: 4,
		Bulk: schema.BulkCounts{Requests: 5, Transcripts: 6, Compared: 7, Differing: 8}, Unverified: schema.Some[int64](10),
		RecordingsDue: schema.Some[int64](11)}
	counts := 0
	for i := range reflect.TypeFor[schema.Run]().NumField() {
		if f := reflect.ValueOf(&want).Elem().Field(i); f.Kind() == reflect.Int64 && f.IsZero() {
			counts++
			f.SetInt(int64(100 + i))
		}
	}
	if counts != 20 {
		t.Errorf("%d counts", counts)
	}
	for _, want := range []schema.Run{want, {ID: "r"}} {
		row := schema.Runs.AppendRow(nil, want.Row())
		if len(row) != len(schema.Runs.Columns) {
			t.Fatalf("%d values for %d columns", len(row), len(schema.Runs.Columns))
		}
		file, rows := wiretest.RoundTrip(t, ParquetSchema(&schema.Runs), row)
		test.OK(t, SameColumns(file, &schema.Runs))
		var got schema.Run
		got.Set(rows[0])
		test.Same(t, want, got, "(-want +got)")
	}
}
