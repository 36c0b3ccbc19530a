package columnar

import (
	"bytes"
	"errors"
	"io"
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

// TestVectors writes calls through vectors, in small pages and row groups, one
// file after the other through the same vectors, and reads the same rows.
func TestVectors(t *testing.T) {
	t.Parallel()
	used := map[*schema.Table]*Vectors{}
	for _, table := range schema.CallTables {
		used[table] = NewVectors(table)
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
			checkVectors(t, table, used[table], want[table], page, group)
		}
	})
}

func checkVectors(t *rapid.T, table *schema.Table, v *Vectors, want []parquet.Row, page, group int) {
	t.Helper()
	var file bytes.Buffer
	options := []parquet.WriterOption{v.Schema(), parquet.PageBufferSize(page), parquet.BloomFilters(parquet.SplitBlockFilter(10, "call_id"))}
	for _, c := range table.Columns { // of which sink has no bounds told of row groups
		if c.Type == schema.JSON || c.Type == schema.Exact || c.Name == "summary" || c.Name == "content" || c.Name == "tool_call_id" {
			options = append(options, parquet.SkipPageBounds(c.Name))
		}
	}
	w := parquet.NewGenericWriter[any](&file, options...)
	g := w.BeginRowGroup()
	commit := func() {
		err := v.Settle()
		if err == nil {
			_, err = g.Commit()
		}
		if err != nil {
			t.Fatal(err)
		}
		v.Begin(g.ColumnWriters())
	}
	v.Begin(g.ColumnWriters())
	for i, row := range want {
		if v.AddRow(row); i%group == group-1 {
			if v.Bytes() == 0 {
				t.Fatal("rows of no bytes")
			}
			commit()
		}
	}
	commit()
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
}

// checkBounds reads every page of a file, and whether its values lie within the
// bounds that the file tells of it.
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

// A short bound of a text is not below it.
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
