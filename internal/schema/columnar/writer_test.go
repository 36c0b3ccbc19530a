package columnar

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"reflect"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
	"pgregory.net/rapid"

	"callhouse/internal/schema"
	"callhouse/internal/schema/decimal"
	"callhouse/internal/wire"
	"callhouse/internal/wire/wiretest"
)

// TestWriter writes calls in small pages and row groups, several files with the same writer, and
// reads the same rows.
func TestWriter(t *testing.T) {
	t.Parallel()
	used := map[*schema.Table]*Writer{}
	for _, table := range schema.CallTables {
		used[table] = NewWriter(table, formOf(table))
	}
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
			checkWriter(t, table, used[table], want[table], page, group)
		}
	})
}

// formOf returns the form of a table's files, as used by the sink.
func formOf(table *schema.Table) Form {
	f := Form{CreatedBy: "a test", Compress: parquet.Zstd.Encode, FilterBits: 10}
	for _, c := range table.Columns {
		if c.Type == schema.JSON || c.Type == schema.Exact || c.Name == "summary" || c.Name == "content" || c.Name == "tool_call_id" {
			f.Unbounded = append(f.Unbounded, c.Name)
		}
	}
	if table == &schema.Calls {
		f.Filter = "call_id"
	}
	return f
}

func checkWriter(t *rapid.T, table *schema.Table, w *Writer, want []parquet.Row, page, group int) {
	t.Helper()
	var file bytes.Buffer
	w.Begin(&file, page)
	for i, row := range want {
		if w.AddRow(row); i%group == group-1 {
			if w.Bytes() == 0 {
				t.Fatal("rows of no bytes")
			}
			if err := w.EndGroup(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
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
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if at != len(want) {
		t.Fatalf("%d rows of %d", at, len(want))
	}
	checkBounds(t, table, f)
	if page == 1<<20 {
		compareFiles(t, table, f, file.Bytes(), byLibrary(t, table, want, page, group))
	}
}

// byLibrary writes rows with the library's own writer.
func byLibrary(t *rapid.T, table *schema.Table, rows []parquet.Row, page, group int) []byte {
	t.Helper()
	var file bytes.Buffer
	form := formOf(table)
	options := []parquet.WriterOption{ParquetSchema(table), parquet.PageBufferSize(page), parquet.DataPageStatistics(false), parquet.Compression(&parquet.Zstd)}
	for _, name := range form.Unbounded {
		options = append(options, parquet.SkipPageBounds(name))
	}
	if form.Filter != "" {
		options = append(options, parquet.BloomFilters(parquet.SplitBlockFilter(form.FilterBits, form.Filter)))
	}
	w := parquet.NewGenericWriter[any](&file, options...)
	for part := range slices.Chunk(rows, group) {
		_, err := w.WriteRows(part)
		if err = errors.Join(err, w.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// compareFiles compares the metadata of two files' row groups, and the bytes of their pages and
// filters.
func compareFiles(t *rapid.T, table *schema.Table, f *parquet.File, file, other []byte) {
	t.Helper()
	o, err := parquet.OpenFile(bytes.NewReader(other), int64(len(other)))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := f.Metadata(), o.Metadata(); got.NumRows != want.NumRows || len(got.RowGroups) != len(want.RowGroups) ||
		!reflect.DeepEqual(got.Schema, want.Schema) || !reflect.DeepEqual(got.ColumnOrders, want.ColumnOrders) {
		t.Fatalf("the file is %v, the library's %v", got, want)
	}
	for n, g := range f.Metadata().RowGroups {
		for i, c := range g.Columns {
			got, want := c.MetaData, o.Metadata().RowGroups[n].Columns[i].MetaData
			begin := func(m format.ColumnMetaData) int64 {
				return cmp.Or(m.DictionaryPageOffset, m.DataPageOffset)
			}
			if !bytes.Equal(file[begin(got):][:got.TotalCompressedSize], other[begin(want):][:want.TotalCompressedSize]) {
				t.Fatalf("pages of %s differ from the library's", table.Columns[i].Name)
			}
			if !bytes.Equal(file[got.BloomFilterOffset:][:got.BloomFilterLength], other[want.BloomFilterOffset:][:want.BloomFilterLength]) {
				t.Fatalf("the filter of %s differs from the library's", table.Columns[i].Name)
			}
			got.DataPageOffset, got.DictionaryPageOffset, got.BloomFilterOffset = want.DataPageOffset, want.DictionaryPageOffset, want.BloomFilterOffset
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: %+v, the library has %+v", table.Columns[i].Name, got, want)
			}
			places, index := f.OffsetIndexes()[n*len(table.Columns)+i], f.ColumnIndexes()[n*len(table.Columns)+i]
			if len(places.PageLocations) != 1 || places.PageLocations[0].Offset != c.MetaData.DataPageOffset ||
				!reflect.DeepEqual(index.DefinitionLevelHistogram, o.ColumnIndexes()[n*len(table.Columns)+i].DefinitionLevelHistogram) {
				t.Fatalf("%s: places %v, index %v", table.Columns[i].Name, places, index)
			}
		}
	}
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
				return decimal.FromBytes(v.ByteArray()).Compare(decimal.FromBytes(bound))
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
			if err != nil {
				t.Fatal(err)
			}
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
		if err := pages.Close(); err != nil {
			t.Fatal(err)
		}
		if at != len(index.NullPages) {
			t.Fatalf("%s: bounds of %d pages, and there are %d", name, len(index.NullPages), at)
		}
		if exact && index.BoundaryOrder != format.Unordered {
			t.Fatalf("%s: the order of its bounds is told", name)
		}
	}
}

// A shortened upper bound of a text is not below it.
func TestBoundsOfTexts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(rapid.StringOf(rapid.RuneFrom([]rune{'a', 0x7f, 'é', '\ud7ff', '\ue000', '한', '😀', utf8.MaxRune})).Draw(t, "text"))
		low, high := Cut(text, boundBytes), Above(text, boundBytes)
		if bytes.Compare(low, text) > 0 || bytes.Compare(high, text) < 0 || !utf8.Valid(low) || !utf8.Valid(high) {
			t.Fatalf("%q has the bounds %q and %q", text, low, high)
		}
		if len(low) > boundBytes || len(high) > boundBytes+utf8.UTFMax && bytes.ContainsFunc(text[:len(Cut(text, boundBytes))], func(r rune) bool { return r != utf8.MaxRune }) {
			t.Fatalf("%q has the long bounds %q and %q", text, low, high)
		}
	})
}
