package calls

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"callhouse/internal/longtest"
	"callhouse/internal/schema"
	"callhouse/internal/test"
	"callhouse/internal/wire/scan"
	"callhouse/internal/wire/wiretest"
)

// The tests use little memory, and garbage collection took a quarter of their time.
func init() {
	debug.SetGCPercent(400)
	longtest.Checks(30, 100)
}

// roundTrip writes rows into a file of a schema, and returns the schema and the rows that are read from it.
func roundTrip(t rapid.TB, s *parquet.Schema, rows ...parquet.Row) (*parquet.Schema, []parquet.Row) {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[any](&b, s)
	_, err := w.WriteRows(rows)
	test.OK(t, errors.Join(err, w.Close()))
	f, err := parquet.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
	test.OK(t, err)
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
			test.OK(t, err)
		}
		test.OK(t, r.Close())
	}
	return f.Schema(), out
}

// viaRows writes calls into Parquet files of the three tables and reads them back.
func viaRows(t rapid.TB, calls []*Call) (out []*Call) {
	t.Helper()
	written := map[*schema.Table][]parquet.Row{}
	for _, c := range calls {
		for table, row := range rows(c) {
			if len(row) != len(table.Columns) {
				t.Fatalf("%s: a row of %d values", table.Name, len(row))
			}
			written[table] = append(written[table], row)
		}
	}
	read := func(table *schema.Table) []parquet.Row {
		file, rows := roundTrip(t, schema.ParquetSchema(table), written[table]...)
		test.OK(t, schema.SameColumns(file, table))
		return rows
	}
	for _, row := range read(&schema.Calls) {
		var c Call
		test.OK(t, c.Read(row))
		out = append(out, c.Clone())
	}
	for l, table := range schema.CallResource.Lists {
		at := 0
		for _, row := range read(table) {
			var one Call
			one.Begin(schema.CallResource)
			one.Lists[l].AddRow(row)
			for calls[at].Lists[l].Len() == out[at].Lists[l].Len() {
				at++
			}
			got, to := one.Clone().Lists[l].At(0), &out[at].Lists[l]
			if position := got[1].Int32(); string(got[0].ByteArray()) != string(out[at].ID()) || int(position) != to.Len() {
				t.Fatalf("%s: row %d of %q stands where row %d of %q should", table.Name, position, got[0].ByteArray(), to.Len(), out[at].ID())
			}
			copy(to.Add(), got)
		}
	}
	return out
}

// checkLost checks that every value of a body is in the call's columns or in extra.
func checkLost(t rapid.TB, body []byte, c *Call) {
	t.Helper()
	if c.OptedOut() {
		return // see TestOptOut
	}
	bare := c.Copy()
	bare.SetSource(schema.V2) // so that the duration is printed even if it equals that from start to end
	bare.Row[colExtra] = parquet.Value{}
	if lost := wiretest.Lost(t, &schema.Calls, body, bare.AppendJSON(nil), c.Text("extra")); len(lost) > 0 {
		t.Fatalf("%s\nloses %s\ncolumns %s\nextra   %s", body, lost, bare.AppendJSON(nil), c.Text("extra"))
	}
}

// checkFit checks what all readers of the files rely on: valid UTF-8, and JSON columns that any parser accepts.
func checkFit(t rapid.TB, c *Call) {
	t.Helper()
	eachText(c, func(text *parquet.Value, isJSON bool) {
		b := text.ByteArray()
		switch {
		case !utf8.Valid(b):
			t.Fatalf("not UTF-8: %q", b)
		case isJSON && !json.Valid(b):
			t.Fatalf("not JSON: %s", b)
		case isJSON && bytes.Contains(b, []byte(`\ud`)) && !bytes.Equal(scan.AppendWhole(nil, b), b):
			t.Fatalf("half a surrogate pair in %s", b)
		}
	})
}

// Every value that the service sends is in a column or in extra, also once it is read from files.
func TestLossless(t *testing.T) {
	t.Parallel()
	for _, wild := range []int{0, 20, 60} {
		t.Run(fmt.Sprint(wild), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				var d Decoder
				var bodies [][]byte
				var calls []*Call
				for range rapid.IntRange(1, 4).Draw(t, "calls") {
					kind := wiretest.DrawKind(t)
					body := wiretest.DrawCall(t, wild)
					c := new(Call)
					if err := d.Decode(body, kind, c); err != nil {
						continue // a random call may have no id
					}
					checkFit(t, c)
					checkLost(t, body, c)
					bodies, calls = append(bodies, body), append(calls, c.Clone())
				}
				for i, c := range viaRows(t, calls) {
					if diff := cmp.Diff(calls[i], c, sameRows); diff != "" {
						t.Fatalf("from the files: %s", diff)
					}
					checkLost(t, bodies[i], c)
				}
			})
		})
	}
}

// sameRows compares calls by the values of their rows.
var sameRows = cmp.Options{
	cmp.Comparer(func(a, b schema.Rows) bool {
		return cmp.Equal(a.Cells(), b.Cells(), cmpopts.EquateEmpty(), cmp.Comparer(parquet.Equal))
	}),
	cmp.Comparer(func(a, b parquet.Row) bool { return slices.EqualFunc(a, b, parquet.Equal) }),
	cmpopts.IgnoreFields(schema.Object{}, "Of", "Sent"),
}
