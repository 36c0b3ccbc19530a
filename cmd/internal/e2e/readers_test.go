//go:build arrow

package e2e

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	_ "github.com/duckdb/duckdb-go/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/sandbox"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/test"
	"callhouse/internal/wire"
	"callhouse/internal/wire/wiretest"
)

// Stock readers open the files, and read every row and the declared types.
func TestStockReaders(t *testing.T) {
	c := record(t, sandbox.Options{World: sandbox.Config{Seed: 8, Calls: 200, Days: 40}}, found)
	c.mustNight()
	snapshot := current(t, c.warehouse)
	t.Run("arrow-go", func(t *testing.T) {
		for _, table := range schema.Tables {
			var rows int64
			for _, f := range snapshot.Manifest.FilesOf(table.Name) {
				rows += readWithArrow(t, snapshot.Path(f), table)
			}
			if want := snapshot.Manifest.Rows(table.Name); rows != want || rows == 0 {
				t.Errorf("%s: arrow-go reads %d rows, the manifest says %d", table.Name, rows, want)
			}
		}
	})
	t.Run("DuckDB with a glob", func(t *testing.T) {
		db, err := sql.Open("duckdb", "")
		test.OK(t, err)
		defer db.Close()
		for _, table := range schema.CallTables {
			glob := filepath.Join(snapshot.Dir, table.Name, "**", "*.parquet")
			from := fmt.Sprintf("read_parquet('%s', hive_partitioning = true)", glob)
			var rows int64
			test.OK(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM "+from).Scan(&rows))
			if want := snapshot.Manifest.Rows(table.Name); rows != want {
				t.Errorf("%s: DuckDB reads %d rows, the manifest says %d", table.Name, rows, want)
			}
			got, err := db.QueryContext(t.Context(), "DESCRIBE SELECT * FROM "+from)
			test.OK(t, err)
			var types []string
			for got.Next() {
				var name, kind string
				var rest [4]any
				test.OK(t, got.Scan(&name, &kind, &rest[0], &rest[1], &rest[2], &rest[3]))
				types = append(types, name+" "+kind)
			}
			test.OK(t, got.Err())
			var want []string
			for _, col := range table.Columns {
				want = append(want, col.Name+" "+col.Type.DuckDB())
			}
			want = append(want, "month VARCHAR") // from the folder's name
			if g, w := strings.Join(types, "\n"), strings.Join(want, "\n"); g != w {
				t.Errorf("%s: DuckDB sees\n%s\nwant\n%s", table.Name, g, w)
			}
		}
	})
}

// readWithArrow reads a whole file and returns its number of rows.
func readWithArrow(t *testing.T, path string, table *schema.Table) int64 {
	t.Helper()
	f, err := os.Open(path)
	test.OK(t, err)
	p, err := file.NewParquetReader(f)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	defer p.Close()
	r, err := pqarrow.NewFileReader(p, pqarrow.ArrowReadProperties{BatchSize: 1000}, memory.DefaultAllocator)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	data, err := r.ReadTable(t.Context())
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	defer data.Release()
	for i, col := range table.Columns {
		field := data.Schema().Field(i)
		if field.Name != col.Name || field.Nullable == col.Required {
			t.Errorf("%s: column %d is %v, want %s, required %v", path, i, field, col.Name, col.Required)
		}
		if got, _ := field.Metadata.GetValue("PARQUET:field_id"); got != fmt.Sprint(col.ID) {
			t.Errorf("%s: column %s has field id %q, want %d", path, col.Name, got, col.ID)
		}
		if want := arrowType(col.Type); field.Type.String() != want {
			t.Errorf("%s: column %s is %v, want %s", path, col.Name, field.Type, want)
		}
	}
	// Every value is decoded, not only the footer.
	reader := array.NewTableReader(data, 0)
	defer reader.Release()
	var rows int64
	for reader.Next() {
		rows += reader.RecordBatch().NumRows()
	}
	return rows
}

func arrowType(t schema.Type) string {
	switch t {
	case schema.Text, schema.Word:
		return arrow.BinaryTypes.String.String()
	case schema.JSON:
		return "binary" // Arrow has no JSON type: it returns the bytes
	case schema.Int32:
		return "int32"
	case schema.Int64:
		return "int64"
	case schema.Bool:
		return "bool"
	case schema.Timestamp:
		return "timestamp[us, tz=UTC]"
	case schema.Exact:
		return "decimal(38, 18)"
	case schema.Percent:
		return "decimal(18, 4)"
	}
	return "?"
}

// flat is a table as text: the values of its columns by key. Null is "null"; texts and JSON are
// quoted exactly; times are in microseconds, decimals in units of their last place.
type flat map[string][]string

func (f flat) add(t *testing.T, table *schema.Table, values []string) {
	t.Helper()
	key := values[0]
	if table != &schema.Calls && table != &schema.Runs {
		key += "/" + values[1]
	}
	if _, twice := f[key]; twice {
		t.Fatalf("%s: two rows have the key %s", table.Name, key)
	}
	f[key] = values
}

func (f flat) addRow(t *testing.T, table *schema.Table, row parquet.Row) {
	t.Helper()
	var out []string
	for i, v := range row {
		switch {
		case v.IsNull():
			out = append(out, "null")
		case isText(table.Columns[i].Type):
			out = append(out, strconv.Quote(string(v.ByteArray())))
		case table.Columns[i].Type == schema.Exact:
			n := new(big.Int).SetBytes(v.ByteArray())
			if v.ByteArray()[0]&0x80 != 0 {
				n.Sub(n, new(big.Int).Lsh(big.NewInt(1), 128))
			}
			out = append(out, n.String())
		default:
			out = append(out, v.String())
		}
	}
	f.add(t, table, out)
}

func isText(t schema.Type) bool { return t == schema.Text || t == schema.Word || t == schema.JSON }

// DuckDB reads the values of hostile calls from the files to the byte, as the program does:
// TestLossless in calls compares those with what was sent.
func TestHostileValuesAreRead(t *testing.T) {
	c := &company{t: t, warehouse: filepath.Join(t.TempDir(), "w")}
	now := time.Date(2026, 11, 20, 2, 10, 0, 0, time.UTC)
	id := layout.RunID(now, 1)
	w, err := sink.Open(sink.Options{Root: c.warehouse, RunID: id, Now: func() time.Time { return now }})
	test.OK(t, err)
	draw := rapid.Custom(func(t *rapid.T) []byte { return wiretest.DrawCall(t, 20) })
	words := []string{"", "a", "é 한국어 😀", "a\x00b", "';--\u2028", strings.Repeat("long ", 300)}
	records := map[string]bool{}
	var decoder calls.Decoder
	for i := range 400 {
		body := bytes.TrimSpace(draw.Example(i))
		body = fmt.Appendf(body[:len(body)-1], `,"id":"call %d 한 /..%%2F';"}`, i)
		clean, _, err := wire.Redact(schema.CallResource, body)
		call := new(calls.Call)
		if err == nil {
			err = decoder.Decode(clean, schema.KindDetail, call)
		}
		callID := string(call.ID())
		if err != nil || records[callID] {
			continue // a random call may have no id
		}
		records[callID] = true
		at := now.UnixMilli() - int64(i)
		rec := schema.Record{Kind: schema.KindDetail, CallID: callID, FetchedAt: at, Body: clean}
		recording := calls.Recording{CallID: callID, StartAt: call.StartAt()}
		word := words[i%len(words)]
		outcome, err := recording.Record(schema.Recording{State: schema.RecordingStates[i%len(schema.RecordingStates)], Bytes: int64(i) << 40,
			SHA256: word, Format: word, Path: word, FetchedAt: at, Reason: word, Attempts: int32(i)}, at)
		test.OK(t, err)
		test.OK(t, errors.Join(w.Put(t.Context(), rec), w.Put(t.Context(), outcome)))
	}
	if len(records) < 100 {
		t.Fatalf("only %d calls", len(records))
	}
	run := schema.Run{ID: id, StartedAt: now.UnixMilli(), Outcome: schema.OutcomeDone, Error: "a\x00b \"é\"", Requests: 1 << 53,
		TotalCount: schema.Some[int64](-1), BudgetUsedPercent: schema.Some[int64](123456), DriftFields: []byte(`{"a.b: converted":3}`)}
	test.OK(t, w.Commit(t.Context(), func(sink.Stats, int64) schema.Run { return run }))
	test.OK(t, w.Close())
	r := c.reader()
	for _, table := range schema.Tables {
		want := flat{}
		for _, f := range r.Files(table.Name) {
			file, err := r.Open(f)
			test.OK(t, err)
			err = file.All(func(row schema.Row) error { want.addRow(t, table, table.AppendRow(nil, row)); return nil })
			test.OK(t, errors.Join(err, file.Close()))
		}
		got := flatByDuckDB(t, current(t, c.warehouse), table)
		if len(got) == 0 || len(got) != len(want) || table == &schema.Calls && len(got) != len(records) {
			t.Errorf("%s: %d rows, want %d", table.Name, len(got), len(want))
		}
		wrong := 0
		for key, row := range want {
			if !slices.Equal(got[key], row) && wrong < 3 {
				wrong++
				t.Errorf("%s, row %s (-want +got):\n%s", table.Name, key, cmp.Diff(row, got[key]))
			}
		}
	}
}

func flatByDuckDB(t *testing.T, s *layout.Snapshot, table *schema.Table) flat {
	t.Helper()
	db, err := sql.Open("duckdb", "")
	test.OK(t, err)
	defer db.Close()
	var exprs []string
	for _, c := range table.Columns {
		switch c.Type {
		case schema.Text, schema.Word, schema.JSON:
			exprs = append(exprs, fmt.Sprintf("encode(%q::VARCHAR)", c.Name))
		case schema.Timestamp:
			exprs = append(exprs, fmt.Sprintf("epoch_us(%q)", c.Name))
		case schema.Exact:
			exprs = append(exprs, fmt.Sprintf("replace(%q::VARCHAR, '.', '')::HUGEINT", c.Name))
		case schema.Percent:
			exprs = append(exprs, fmt.Sprintf("(%q::DECIMAL(38,4) * 10000)::HUGEINT", c.Name))
		default:
			exprs = append(exprs, fmt.Sprintf("%q", c.Name))
		}
	}
	glob := filepath.Join(s.Dir, table.Name, "**", "*.parquet")
	rows, err := db.QueryContext(t.Context(), fmt.Sprintf("SELECT %s FROM read_parquet('%s')", strings.Join(exprs, ", "), glob))
	test.OK(t, err)
	defer rows.Close()
	out := flat{}
	for rows.Next() {
		values := make([]any, len(exprs))
		to := make([]any, len(exprs))
		for i := range values {
			to[i] = &values[i]
		}
		test.OK(t, rows.Scan(to...))
		var texts []string
		for _, v := range values {
			switch v := v.(type) {
			case nil:
				texts = append(texts, "null")
			case []byte:
				texts = append(texts, strconv.Quote(string(v)))
			case *big.Int:
				texts = append(texts, v.String())
			default:
				texts = append(texts, fmt.Sprint(v))
			}
		}
		out.add(t, table, texts)
	}
	test.OK(t, rows.Err())
	return out
}
