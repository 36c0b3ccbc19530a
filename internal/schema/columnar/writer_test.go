package columnar

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

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
			o, err := decodeWhole(whole, new(wire.Decoder), wiretest.DrawCall(t, kind, 5), kind, n)
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
	var file bytes.Buffer
	w := NewWriter(&file, table, page, "a test", "1")
	for i, row := range want {
		test.OK(t, w.AddRow(row))
		if i%group == group-1 {
			if rows, bytes := w.Held(); rows != int64(group) || bytes == 0 {
				t.Fatalf("%d rows of %d bytes", rows, bytes)
			}
			test.OK(t, w.EndGroup())
		}
	}
	test.OK(t, w.Close())
	f, err := parquet.OpenFile(bytes.NewReader(file.Bytes()), int64(file.Len()))
	test.OK(t, err)
	at := 0
	for _, g := range f.RowGroups() {
		rows := g.Rows()
		buf := make([]parquet.Row, 1)
		for {
			n, err := rows.ReadRows(buf)
			if n == 1 {
				if at == len(want) || !buf[0].Equal(want[at]) {
					t.Fatalf("row %d is %v", at, buf[0])
				}
				at++
			}
			if errors.Is(err, io.EOF) {
				break
			}
			test.OK(t, err)
		}
		test.OK(t, rows.Close())
	}
	if at != len(want) {
		t.Fatalf("%d rows of %d", at, len(want))
	}
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
		if unbounded(&table.Columns[col]) && all.MinValue != nil {
			t.Fatalf("%s: a row group has bounds", name)
		}
	}
}
