package format_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"callhouse/internal/analytics/format"
	"callhouse/internal/analytics/value"
	"callhouse/internal/test"
)

// exact returns a value for every kind of column, and the text that Arrow shows for it.
func exact() ([]value.Column, [][]any, []string) {
	at := time.Date(2026, 11, 19, 23, 30, 0, 123e6, time.UTC)
	columns := []value.Column{
		{Name: "b", Type: "BOOLEAN", Kind: value.Bool}, {Name: "n", Type: "BIGINT", Kind: value.Integer}, {Name: "u", Type: "UBIGINT", Kind: value.Integer},
		{Name: "h", Type: "HUGEINT", Kind: value.Integer}, {Name: "f", Type: "DOUBLE", Kind: value.Float}, {Name: "d", Type: "DECIMAL(18,4)", Kind: value.Exact},
		{Name: "t", Type: "VARCHAR", Kind: value.Text}, {Name: "t", Type: "ENUM", Kind: value.Text}, {Name: "j", Type: "JSON", Kind: value.Document},
		{Name: "x", Type: "BLOB", Kind: value.Bytes}, {Name: "day", Type: "DATE", Kind: value.Day}, {Name: "l", Type: "TIMESTAMP", Kind: value.Local},
		{Name: "at", Type: "TIMESTAMP WITH TIME ZONE", Kind: value.Instant}, {Name: "list", Type: "INTEGER[]", Kind: value.List}, {Name: "clock", Type: "TIME", Kind: value.Clock},
	}
	row := []any{true, int64(-7), uint64(1 << 63), big.NewInt(12), 0.1, value.Decimal{Units: big.NewInt(-1205000), Scale: 4}, "한국어", "Monday",
		value.JSON(`{"b":1.10}`), []byte{0, 255}, value.Date(at.Truncate(24 * time.Hour)), value.LocalTime(at), at, []any{int64(1), nil}, value.Int(value.Clock, 1e6)}
	return columns, [][]any{row, make([]any, len(columns))}, []string{
		"true", "-7", "9223372036854775808", "12", "0.1", "-120.5", "한국어", "Monday", `{"b":1.10}`, "AP8=", "2026-11-19", "2026-11-19T23:30:00.123",
		"2026-11-19T23:30:00.123Z", "[1,null]", "00:00:01",
	}
}

// The columns of both formats have their types and values.
func TestColumnar(t *testing.T) {
	columns, rows, want := exact()
	for _, f := range []format.Format{format.Arrow, format.Parquet} {
		schema, read := readFirst(t, f, write(t, f, 0, columns, rows))
		var got []string
		for i, c := range read {
			got = append(got, c.ValueStr(0))
			if c.IsValid(1) {
				t.Errorf("%s, column %s: the null is %s", f, schema.Field(i).Name, c.ValueStr(1))
			}
		}
		test.Same(t, want, got, "%s (-want +got)", f)
		if schema.Field(7).Name != "t_2" {
			t.Errorf("%s: the second t is called %s", f, schema.Field(7).Name)
		}
	}
}

// readFirst returns the columns of a file's first batch.
func readFirst(t *testing.T, f format.Format, raw string) (*arrow.Schema, []arrow.Array) {
	t.Helper()
	if f == format.Arrow {
		r := readArrow(t, raw)
		rec, err := r.RecordBatch(0)
		test.OK(t, err)
		return r.Schema(), rec.Columns()
	}
	table := readParquet(t, raw)
	var out []arrow.Array
	for i := range int(table.NumCols()) {
		out = append(out, table.Column(i).Data().Chunk(0))
	}
	return table.Schema(), out
}

// readArrow opens text that must be an Arrow file.
func readArrow(t *testing.T, raw string) *ipc.FileReader {
	t.Helper()
	r, err := ipc.NewFileReader(strings.NewReader(raw))
	test.OK(t, err)
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func readParquet(t *testing.T, raw string) arrow.Table {
	t.Helper()
	f, err := file.NewParquetReader(bytes.NewReader([]byte(raw)))
	test.OK(t, err)
	r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	test.OK(t, err)
	table, err := r.ReadTable(context.Background())
	test.OK(t, err)
	return table
}

// The bounds in a Parquet file, by which readers skip rows, are those of its values.
func TestParquetBounds(t *testing.T) {
	columns := []value.Column{{Name: "d", Type: "DECIMAL(9,1)", Kind: value.Exact}, {Name: "h", Type: "HUGEINT", Kind: value.Integer}, {Name: "n", Type: "BIGINT", Kind: value.Integer}, {Name: "f", Type: "DOUBLE", Kind: value.Float}}
	var rows [][]any
	for _, n := range []int64{-3, 2} {
		rows = append(rows, []any{value.Decimal{Units: big.NewInt(10 * n), Scale: 1}, big.NewInt(n), n, float64(n)})
	}
	f, err := file.NewParquetReader(strings.NewReader(write(t, format.Parquet, 0, columns, rows)))
	test.OK(t, err)
	for i, want := range []bool{false, true, true, true} {
		c, err := f.MetaData().RowGroup(0).ColumnChunk(i)
		test.OK(t, err)
		s, err := c.Statistics()
		test.OK(t, err)
		if found := s != nil && s.HasMinMax(); found != want {
			t.Errorf("column %s tells bounds: %v, want %v", columns[i].Name, found, want)
		}
	}
}

// An answer without rows still has its columns.
func TestColumnarEmpty(t *testing.T) {
	columns, _, _ := exact()
	if r := readArrow(t, write(t, format.Arrow, 0, columns, nil)); r.NumRecords() != 0 || r.Schema().NumFields() != len(columns) {
		t.Errorf("%d batches, %d columns", r.NumRecords(), r.Schema().NumFields())
	}
	table := readParquet(t, write(t, format.Parquet, 0, columns, nil))
	defer table.Release()
	if table.NumRows() != 0 || int(table.NumCols()) != len(columns) {
		t.Errorf("%d rows, %d columns", table.NumRows(), table.NumCols())
	}
}

// failing returns a few rows, and then an error.
type failing struct{ counter }

func (f *failing) Values(ctx context.Context) ([]value.Value, error) {
	if f.at == f.n {
		return nil, errBroken
	}
	return f.counter.Values(ctx)
}

// A truncated output is not a valid file.
func TestColumnarBroken(t *testing.T) {
	for f, end := range map[format.Format]string{format.Parquet: "PAR1", format.Arrow: "ARROW1"} {
		var whole, cut bytes.Buffer
		if _, err := format.Write(t.Context(), &whole, f, &counter{n: 70_000}, format.Options{}); err != nil || !strings.HasSuffix(whole.String(), end) {
			t.Errorf("%s: a whole file ends with % x: %v", f, whole.Bytes()[max(0, whole.Len()-8):], err)
		}
		if _, err := format.Write(t.Context(), &cut, f, &failing{counter{n: 70_000}}, format.Options{}); !errors.Is(err, errBroken) || cut.Len() == 0 || strings.HasSuffix(cut.String(), end) {
			t.Errorf("%s: one that is cut after %d bytes has the end of a whole one: %v", f, cut.Len(), err)
		}
	}
}

// Whole numbers that do not fit a BIGINT are refused.
func TestColumnarDigits(t *testing.T) {
	columns := []value.Column{{Name: "h", Type: "HUGEINT", Kind: value.Integer}}
	most := new(big.Int).SetInt64(math.MaxInt64)
	for _, f := range []format.Format{format.Parquet, format.Arrow} {
		for _, n := range []*big.Int{most, new(big.Int).Add(most, big.NewInt(1)), new(big.Int).Lsh(most, 60), new(big.Int).Neg(new(big.Int).Lsh(most, 60))} {
			_, err := format.Write(t.Context(), io.Discard, f, format.NewStatic(columns, [][]any{{n}}), format.Options{})
			if (err == nil) != n.IsInt64() || err != nil && !strings.Contains(err.Error(), n.String()+" does not fit BIGINT") {
				t.Errorf("%s: %v: %v", f, n, err)
			}
		}
	}
}

// Decimals of more than 18 digits become the nearest DOUBLE, which has the same digits up to 15 of
// them. If it has not, a note says so.
func TestColumnarWideDecimals(t *testing.T) {
	columns := []value.Column{{Name: "total_cost", Type: "DECIMAL(38,18)", Kind: value.Exact}}
	var rows [][]any
	for i := range int64(5_000) { // DuckDB's own conversion gets 936 of the whole ones wrong
		units := new(big.Int).Mul(big.NewInt(i), big.NewInt(1e18))
		rows = append(rows, []any{value.Decimal{Units: units, Scale: 18}}, []any{value.Decimal{Units: new(big.Int).Div(units, big.NewInt(1e4)), Scale: 18}})
	}
	few := [][]any{{value.Decimal{Units: big.NewInt(123_456_789_012_345_678), Scale: 18}}, {value.Decimal{Units: big.NewInt(5), Scale: 1}}}
	for _, f := range []format.Format{format.Arrow, format.Parquet} {
		var out bytes.Buffer
		r, err := format.Write(t.Context(), &out, f, format.NewStatic(columns, rows), format.Options{})
		if err != nil || len(r.Notes) > 0 {
			t.Errorf("%s: %v, %q", f, err, r.Notes)
		}
		_, read := readFirst(t, f, out.String())
		costs := read[0].(*array.Float64).Float64Values()
		for i, got := range costs {
			if want := float64(i/2) / []float64{1, 1e4}[i%2]; got != want {
				t.Fatalf("%s: %v, want %v", f, got, want)
			}
		}
		r, err = format.Write(t.Context(), io.Discard, f, format.NewStatic(columns, few), format.Options{})
		if err != nil || len(r.Notes) != 1 || !strings.HasPrefix(r.Notes[0], "total_cost: numbers with more digits than a DOUBLE holds: 1;") {
			t.Errorf("%s: %v, %q", f, err, r.Notes)
		}
	}
}

// Many rows come in batches, each complete.
func TestColumnarBatches(t *testing.T) {
	const n = 200_000
	for _, f := range []format.Format{format.Arrow, format.Parquet} {
		var out bytes.Buffer
		r, err := format.Write(t.Context(), &out, f, &counter{n: n}, format.Options{})
		if err != nil || r.Rows != n {
			t.Fatal(err, r)
		}
		if f == format.Arrow {
			if n := readArrow(t, out.String()).NumRecords(); n < 2 {
				t.Errorf("%d batches", n)
			}
		} else {
			table := readParquet(t, out.String())
			if table.NumRows() != n {
				t.Errorf("%d rows", table.NumRows())
			}
			table.Release()
		}
	}
}

// People get a comparison as one line per figure, without rows that have no figure.
func TestCompared(t *testing.T) {
	points := func(name string) value.Column {
		return value.Column{Name: name, Kind: value.Float, Unit: value.Points, Null: "-"}
	}
	percent := func(name string) value.Column {
		return value.Column{Name: name, Kind: value.Float, Unit: value.Percent, Null: "-"}
	}
	ms := func(name string) value.Column {
		return value.Column{Name: name, Kind: value.Integer, Unit: value.Millis, Null: "-"}
	}
	columns := []value.Column{{Name: "agent", Kind: value.Text, Key: true}, percent("share"), percent("previous_share"), points("change_share"),
		points("change_low_share"), points("change_high_share"), percent("low"), percent("previous_low"), ms("mean"), ms("previous_mean"), ms("change_mean"),
		{Name: "verdict", Kind: value.Text, Null: "(none)"}, {Name: "previous_verdict", Kind: value.Text, Null: "(none)"}}
	src := func(n ...int) format.Source {
		rows := [][]any{
			{"ann", 60.0, 50.0, 10.0, 4.5, 15.5, 1.0, 1.0, int64(1000), int64(61_000), int64(-60_000), "better", nil},
			{"bob", 60.0, 70.0, -10.0, -15.5, -4.5, nil, nil, nil, nil, nil, nil, nil},
			{"eve", 60.0, 59.99, 0.01, -5.0, 5.02, nil, nil, int64(2), nil, nil, nil, nil},
			{"joe", nil, 59.99, nil, nil, nil, nil, nil, int64(62_000), int64(1000), int64(61_000), nil, nil},
		}
		shown := append(n, len(columns))[0]
		for i := range rows {
			rows[i] = rows[i][:shown]
		}
		return format.NewStatic(columns[:shown], rows)
	}
	const want = `agent  figure   before     now   change  verdict    95 % bounds
───────────────────────────────────────────────────────────────
ann    share     50.0%   60.0%    +10.0  more     +4.5 to +15.5
       mean     1m 01s    1.0s  -1m 00s
       verdict  (none)  better
bob    share     70.0%   60.0%    -10.0  less     -15.5 to -4.5
eve    share     60.0%   60.0%      0.0  unclear   -5.0 to +5.0
       mean          -     2ms        -
joe    share     60.0%       -        -
       mean       1.0s  1m 02s  +1m 01s
`
	var b strings.Builder
	of, main := format.Compared(src(), false, time.UTC)
	r, err := format.Write(t.Context(), &b, format.Table, of, format.Options{Width: 80})
	if err != nil || b.String() != want || len(r.Notes) > 0 || main != "" {
		t.Errorf("%v, %q:\n%s", err, r.Notes, b.String())
	}
	b.Reset()
	of, main = format.Compared(src(6), false, time.UTC)
	_, err = format.Write(t.Context(), &b, format.Table, of, format.Options{Width: 80, Heading: main})
	if want := "share\n\nagent  before    now  change  verdict    95 % bounds\n"; err != nil || !strings.HasPrefix(b.String(), want) || strings.Count(b.String(), "\n") != 8 {
		t.Errorf("one figure: %v\n%s", err, b.String())
	}
	b.Reset()
	of, _ = format.Compared(src(6), true, time.UTC)
	if _, err = format.Write(t.Context(), &b, format.Table, of, format.Options{Width: 80}); strings.Contains(b.String(), "more") {
		t.Errorf("verdicts against a sparse period: %v\n%s", err, b.String())
	}
	b.Reset()
	if _, err := format.Write(t.Context(), &b, format.Table, src(), format.Options{}); err != nil || strings.Count(b.String(), "\n") != 5 { // columns that happen to have such names
		t.Errorf("%v\n%s", err, b.String())
	}
}
