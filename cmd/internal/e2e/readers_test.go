//go:build arrow

package e2e

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
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

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/sandbox"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/test"
	"callhouse/internal/wire"
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

// hostile generates unlikely JSON.
type hostile struct{ *rand.Rand }

func (h hostile) one(of ...string) string { return of[h.IntN(len(of))] }

func (h hostile) text() string {
	var b strings.Builder
	for range h.IntN(5) {
		b.WriteString(h.one("a", "é", "한국어", "😀", `\n`, `\"`, `\\`, `\u0000`, `\u001f`, `\uFFFF`, " ", "'", ";--", "\u2028", "\u202e",
			strings.Repeat("long ", 300)))
	}
	return `"` + b.String() + `"`
}

func (h hostile) number() string {
	return h.one("0", "-0", "1", "-1.50", "12345678901234567890", "-98765432109876543210.5", "1e300", "0.1", "9007199254740993")
}

func (h hostile) any(depth int) string {
	switch n := h.IntN(8); {
	case n == 0:
		return "null"
	case n == 1:
		return h.one("true", "false")
	case n <= 3 || depth == 0:
		return h.one(h.number(), h.text())
	case n <= 5:
		var parts []string
		for i := range h.IntN(4) {
			parts = append(parts, fmt.Sprintf(`"%s%d":%s`, h.one("k", "with-hyphen", "키", "", `\u0000`), i, h.any(depth-1)))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	var parts []string
	for range h.IntN(4) {
		parts = append(parts, h.any(depth-1))
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// recording generates the outcome of a call's recording.
func (h hostile) recording() schema.Recording {
	words := func() string {
		return h.one("", "a", "é 한국어 😀", "a\x00b", "';--\u2028", strings.Repeat("long ", 300))
	}
	return schema.Recording{State: h.one(schema.RecordingStates...), Bytes: h.Int64N(3) << h.IntN(60), SHA256: words(), Format: words(),
		Path: words(), FetchedAt: h.Int64N(1 << 42), Reason: words(), Attempts: h.Int32N(3)}
}

// detail generates a call's own record: ordinary, with a few hostile values.
func (h hostile) detail(id string, start int64) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"id":%s,"start_at":%d`, id, start)
	add := func(name string, usual func() string) {
		switch h.IntN(7) {
		case 0:
			fmt.Fprintf(&b, `,%q:null`, name)
		case 1:
			fmt.Fprintf(&b, `,%q:%s`, name, h.any(2))
		case 2: // omitted
		default:
			fmt.Fprintf(&b, `,%q:%s`, name, usual())
		}
	}
	word := func(of ...string) func() string { return func() string { return h.one(of...) } }
	list := func(item func() string) func() string {
		return func() string {
			var parts []string
			for range h.IntN(6) {
				parts = append(parts, item())
			}
			return "[" + strings.Join(parts, ",") + "]"
		}
	}
	add("end_at", func() string { return strconv.FormatInt(start+h.Int64N(1e6), 10) })
	add("status", word(`"ended"`, `"ongoing"`, `"error"`, `"not_connected"`, `""`))
	add("disconnection_reason", word(`"user_hangup"`, `"new \u0000 reason"`))
	add("from_number", h.text)
	add("to_number", h.text)
	add("agent", word(`{"agent_id":"a-1","agent_version":"v1"}`, `{"agent_id":null,"agent_version":7}`))
	add("metadata", func() string { return h.any(4) })
	add("dynamic_variables", func() string { return h.any(3) })
	add("recording_url", h.text)
	add("call_cost", func() string {
		return `{"total_cost":` + h.one(`"200.00"`, `"-0.0001"`, `"0.1234567"`, `0.30000000000000004`, `"-99999999999999.9999"`, `"12345678901234567890"`, `7.5`, `null`) + `}`
	})
	add("call_analysis", func() string {
		items := list(func() string { return `{"type":"string","name":` + h.text() + `,"value":` + h.any(3) + `}` })()
		return `{"summary":` + h.text() + `,"user_sentiment":` + h.one(`"neutral"`, `null`, `""`) + `,"custom_analysis_data":` + items + `}`
	})
	add("transcript", list(func() string {
		switch h.IntN(4) {
		case 0:
			return `{"role":"tool_call_invocation","tool_call_id":"t","name":"lookup","arguments":` + h.any(3) + `}`
		case 1:
			return h.any(2)
		}
		return fmt.Sprintf(`{"role":"user","content":%s,"start_at":%d,"end_at":null}`, h.text(), h.Int64N(4e12)-2e12)
	}))
	add("field_of_tomorrow", func() string { return h.any(4) })
	return b.String() + "}"
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
	h := hostile{rand.New(rand.NewPCG(41, 0))}
	const records = 400
	for i := range records {
		start := now.AddDate(0, 0, -h.IntN(45)).UnixMilli() - h.Int64N(1e7)
		quoted := strconv.Quote(fmt.Sprintf("call %d 한 %s", i, h.one("/..", "%2F", "'", ";", "")))
		body := h.detail(quoted, start)
		clean, _, err := wire.Redact(schema.CallResource, []byte(body))
		if err != nil {
			t.Fatalf("%v in %s", err, body)
		}
		rec := schema.Record{Kind: schema.KindDetail, FetchedAt: now.UnixMilli() - int64(i), Body: clean}
		test.OK(t, json.Unmarshal([]byte(quoted), &rec.CallID))
		recording := calls.Recording{CallID: rec.CallID, StartAt: schema.Some(start)}
		outcome, err := recording.Record(h.recording(), now.UnixMilli()-int64(i))
		test.OK(t, err)
		test.OK(t, errors.Join(w.Put(t.Context(), rec), w.Put(t.Context(), outcome)))
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
		if len(got) == 0 || len(got) != len(want) || table == &schema.Calls && len(got) != records {
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
