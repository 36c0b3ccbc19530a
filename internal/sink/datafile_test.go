package sink

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/test"
	"callhouse/internal/wire"
	"callhouse/internal/wire/wiretest"
)

// TestWriter writes calls in small pages and row groups, and reads the same rows.
func TestWriter(t *testing.T) {
	t.Parallel()
	whole := t
	rapid.Check(t, func(t *rapid.T) {
		want := map[*schema.Table][]parquet.Row{}
		for n := range rapid.IntRange(0, 40).Draw(t, "calls") {
			kind := wiretest.DrawKind(t)
			o, err := decodeWhole(whole, new(wire.Decoder), wiretest.DrawCall(t, 5), kind, n)
			if err != nil {
				continue
			}
			for table, row := range o.Rows() {
				want[table] = append(want[table], table.AppendRow(nil, row))
			}
		}
		page, group := rapid.SampledFrom([]int{64, 1 << 10, 1 << 20}).Draw(t, "page"), rapid.IntRange(1, 50).Draw(t, "group")
		for _, table := range schema.CallTables {
			checkWriter(t, table, want[table], page, group)
		}
	})
}

func checkWriter(t *rapid.T, table *schema.Table, want []parquet.Row, page, group int) {
	t.Helper()
	fsys := newMemFS()
	file, err := fsys.Create("file")
	test.OK(t, err)
	w := &dataFile{table: table, file: file}
	w.begin(page)
	for i, row := range want {
		test.OK(t, w.Add(row))
		if i%group == group-1 {
			if w.held != group || w.bytes == 0 {
				t.Fatalf("%d rows of %d bytes", w.held, w.bytes)
			}
			test.OK(t, w.endGroup())
		}
	}
	_, err = w.Close()
	test.OK(t, err)
	r, err := openTable(fsys, "file", table)
	test.OK(t, err)
	at := 0
	test.OK(t, r.All(func(row parquet.Row) error {
		if at == len(want) || !row.Equal(want[at]) {
			t.Fatalf("row %d is %v", at, row)
		}
		at++
		return nil
	}))
	if at != len(want) {
		t.Fatalf("%d rows of %d", at, len(want))
	}
	raw, err := fsys.ReadFile("file")
	test.OK(t, err)
	f, err := parquet.OpenFile(bytes.NewReader(raw), int64(len(raw)))
	test.OK(t, err)
	checkBounds(t, table, f)
}

// checkBounds reads every page of a file and checks that its values are within the file's bounds.
func checkBounds(t *rapid.T, table *schema.Table, f *parquet.File) {
	t.Helper()
	for n, index := range f.ColumnIndexes() {
		col := n % len(table.Columns)
		name, exact := table.Columns[col].Name, table.Columns[col].Type == schema.Exact
		chunk := f.RowGroups()[n/len(table.Columns)].ColumnChunks()[col]
		kind := chunk.Type().Kind()
		compare := func(v parquet.Value, bound []byte) int {
			if exact {
				return schema.ExactOf(v).Cmp(schema.ExactOf(parquet.ByteArrayValue(bound)))
			}
			return chunk.Type().Compare(v, kind.Value(bound))
		}
		all := f.Metadata().RowGroups[n/len(table.Columns)].Columns[col].MetaData.Statistics
		pages := chunk.Pages()
		at := 0
		for ; ; at++ {
			page, err := pages.ReadPage()
			if errors.Is(err, io.EOF) {
				break
			}
			test.OK(t, err)
			values := make([]parquet.Value, page.NumValues())
			if _, err := page.Values().ReadValues(values); err != nil && !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			if at >= len(index.NullPages) || len(index.MinValues) != len(index.NullPages) || len(index.MaxValues) != len(index.NullPages) {
				t.Fatalf("%s: bounds of %d pages, from %d to %d, and there are more", name, len(index.NullPages), len(index.MinValues), len(index.MaxValues))
			}
			for _, v := range values {
				switch {
				case v.IsNull():
				case index.NullPages[at]:
					t.Fatalf("%s: a page with %v is said to hold nothing but nulls", name, v)
				case all.MinValue != nil && (compare(v, all.MinValue) < 0 || compare(v, all.MaxValue) > 0):
					t.Fatalf("%s: %q lies in a row group that is said to go from %q to %q", name, v.Bytes(), all.MinValue, all.MaxValue)
				case compare(v, index.MinValues[at]) < 0 || compare(v, index.MaxValues[at]) > 0:
					t.Fatalf("%s: %q lies in a page that is said to go from %q to %q", name, v.Bytes(), index.MinValues[at], index.MaxValues[at])
				}
			}
		}
		test.OK(t, pages.Close())
		if at != len(index.NullPages) {
			t.Fatalf("%s: bounds of %d pages, and there are %d", name, len(index.NullPages), at)
		}
		if table.Columns[col].Unbounded() && all.MinValue != nil {
			t.Fatalf("%s: a row group has bounds", name)
		}
	}
}

// The ids and types of the columns in files are permanent.
func TestParquetSchema(t *testing.T) {
	var all strings.Builder
	for _, table := range resource.Tables {
		all.WriteString(schema.ParquetSchema(table).String() + "\n")
	}
	test.Golden(t, filepath.Join("testdata", "schema.golden"), all.String())
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
		return schema.ParquetSchema(&schema.Table{Name: "calls", Columns: edit(slices.Clone(schema.Calls.Columns))})
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
		err := schema.SameColumns(changed(edit), &schema.Calls)
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
	test.Same(t, 20, counts, "counts")
	for _, want := range []schema.Run{want, {ID: "r"}} {
		row := schema.Runs.AppendRow(nil, want.Row())
		if len(row) != len(schema.Runs.Columns) {
			t.Fatalf("%d values for %d columns", len(row), len(schema.Runs.Columns))
		}
		var got schema.Run
		got.Set(row)
		test.Same(t, want, got, "(-want +got)")
	}
}
