package analytics_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/value"
	"callhouse/internal/test"
)

// The tests of duck are here because each test binary that links DuckDB takes long to build.

func connect(t testing.TB) *duck.Conn {
	t.Helper()
	db, err := duck.Open(duck.Config{Threads: 1, MemoryLimit: "1GB"})
	test.OK(t, err)
	conn, err := db.Connect()
	test.OK(t, err)
	t.Cleanup(func() {
		conn.Close()
		test.OK(t, db.Close())
	})
	return conn
}

func query(t testing.TB, conn *duck.Conn, text string, args ...any) *duck.Rows {
	t.Helper()
	rows, err := conn.Query(t.Context(), text, args...)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	t.Cleanup(rows.Close)
	return rows
}

// Every DuckDB type is read exactly, as text and as JSON.
func TestValues(t *testing.T) {
	conn := connect(t)
	seoul, err := time.LoadLocation("Asia/Seoul")
	test.OK(t, err)
	for _, c := range []struct{ expr, typ, text, json string }{
		{"NULL::INTEGER", "INTEGER", "", "null"}, {"true", "BOOLEAN", "true", "true"}, {"(-128)::TINYINT", "TINYINT", "-128", "-128"},
		{"(-32768)::SMALLINT", "SMALLINT", "-32768", "-32768"}, {"(-2147483648)::INTEGER", "INTEGER", "-2147483648", "-2147483648"},
		{"(-9223372036854775808)::BIGINT", "BIGINT", "-9223372036854775808", "-9223372036854775808"},
		{"255::UTINYINT", "UTINYINT", "255", "255"}, {"65535::USMALLINT", "USMALLINT", "65535", "65535"},
		{"4294967295::UINTEGER", "UINTEGER", "4294967295", "4294967295"},
		{"18446744073709551615::UBIGINT", "UBIGINT", "18446744073709551615", "18446744073709551615"},
		{"170141183460469231731687303715884105727::HUGEINT", "HUGEINT", "170141183460469231731687303715884105727", "170141183460469231731687303715884105727"},
		{"(-170141183460469231731687303715884105728)::HUGEINT", "HUGEINT", "-170141183460469231731687303715884105728", "-170141183460469231731687303715884105728"},
		{"(-1)::HUGEINT", "HUGEINT", "-1", "-1"}, {"1.10::DECIMAL(4,2)", "DECIMAL(4,2)", "1.10", "1.10"},
		{"(-0.05)::DECIMAL(9,2)", "DECIMAL(9,2)", "-0.05", "-0.05"},
		{"12345678901234.5678::DECIMAL(18,4)", "DECIMAL(18,4)", "12345678901234.5678", "12345678901234.5678"},
		{"'-12345678901234567890123456789012345.678'::DECIMAL(38,3)", "DECIMAL(38,3)", "-12345678901234567890123456789012345.678", "-12345678901234567890123456789012345.678"},
		{"1.10::DECIMAL(38,18)", "DECIMAL(38,18)", "1.1000", "1.1000"}, // money: no trailing zeros
		{"'-0.1234567'::DECIMAL(38,18)", "DECIMAL(38,18)", "-0.1234567", "-0.1234567"},
		{"'0.000000000000000001'::DECIMAL(38,18)", "DECIMAL(38,18)", "0.000000000000000001", "0.000000000000000001"},
		{"7::DECIMAL(4,0)", "DECIMAL(4,0)", "7", "7"}, {"0.1::FLOAT", "FLOAT", "0.1", "0.1"}, {"0.1::DOUBLE", "DOUBLE", "0.1", "0.1"},
		{"100::DOUBLE / 3", "DOUBLE", "33.333333333333336", "33.333333333333336"},
		{"1e15::DOUBLE", "DOUBLE", "1000000000000000", "1000000000000000"}, {"1e300::DOUBLE", "DOUBLE", "1e+300", "1e+300"},
		{"'nan'::DOUBLE", "DOUBLE", "NaN", `"NaN"`}, {"'-inf'::FLOAT", "FLOAT", "-Infinity", `"-Infinity"`},
		{"'short'", "VARCHAR", "short", `"short"`}, {"'twelve bytes'", "VARCHAR", "twelve bytes", `"twelve bytes"`},
		{"'thirteen bytes'", "VARCHAR", "thirteen bytes", `"thirteen bytes"`},
		{"'안녕하세요 \"q\" \\ ' || chr(10) || chr(1)", "VARCHAR", "안녕하세요 \"q\" \\ \n\x01", `"안녕하세요 \"q\" \\ \n\u0001"`},
		{`'{"b": 1.10, "a":1E5}'::JSON`, "JSON", `{"b": 1.10, "a":1E5}`, `{"b": 1.10, "a":1E5}`},
		{"'a\\x00\\xFF'::BLOB", "BLOB", `a\x00\xFF`, `"a\\x00\\xFF"`},
		{"'123e4567-e89b-12d3-a456-426614174000'::UUID", "UUID", "123e4567-e89b-12d3-a456-426614174000", `"123e4567-e89b-12d3-a456-426614174000"`},
		{"'fedcba98-0000-0000-0000-000000000001'::UUID", "UUID", "fedcba98-0000-0000-0000-000000000001", `"fedcba98-0000-0000-0000-000000000001"`},
		{"'two'::ENUM('one', 'two')", "ENUM", "two", `"two"`}, {"DATE '2026-11-19'", "DATE", "2026-11-19", `"2026-11-19"`},
		{"DATE '0044-03-15 (BC)'", "DATE", "0044-03-15 (BC)", `"0044-03-15 (BC)"`}, {"'infinity'::DATE", "DATE", "infinity", `"infinity"`},
		{"TIME '01:02:03.004'", "TIME", "01:02:03.004", `"01:02:03.004"`},
		{"TIMETZ '01:02:03+09:30'", "TIME WITH TIME ZONE", "01:02:03+09:30", `"01:02:03+09:30"`},
		{"TIMETZ '01:02:03-11'", "TIME WITH TIME ZONE", "01:02:03-11:00", `"01:02:03-11:00"`},
		{"TIMESTAMP '2026-11-19 23:30:00.5'", "TIMESTAMP", "2026-11-19T23:30:00.500", `"2026-11-19T23:30:00.500"`},
		{"TIMESTAMP_S '2026-11-19 23:30:00'", "TIMESTAMP_S", "2026-11-19T23:30:00", `"2026-11-19T23:30:00"`},
		{"TIMESTAMP_MS '2026-11-19 23:30:00.001'", "TIMESTAMP_MS", "2026-11-19T23:30:00.001", `"2026-11-19T23:30:00.001"`},
		{"TIMESTAMP_NS '2026-11-19 23:30:00.000000001'", "TIMESTAMP_NS", "2026-11-19T23:30:00.000000001", `"2026-11-19T23:30:00.000000001"`},
		{"TIMESTAMPTZ '2026-11-19 23:30:00.123456+00'", "TIMESTAMP WITH TIME ZONE", "2026-11-20T08:30:00.123456+09:00", `"2026-11-20T08:30:00.123456+09:00"`},
		{"TIMESTAMPTZ '1890-01-01 00:00:00+00'", "TIMESTAMP WITH TIME ZONE", "1890-01-01T00:00:00Z", `"1890-01-01T00:00:00Z"`}, // local mean time: +08:27:52
		{"'-infinity'::TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE", "-infinity", `"-infinity"`},
		{"INTERVAL '1 year -2 months 3 days 4 hours 5.5 seconds'", "INTERVAL", "P10M3DT4H5.5S", `"P10M3DT4H5.5S"`},
		{"INTERVAL '-90.000001 seconds'", "INTERVAL", "PT-1M-30.000001S", `"PT-1M-30.000001S"`},
		{"INTERVAL '0 seconds'", "INTERVAL", "PT0S", `"PT0S"`}, {"[1, NULL, 3]", "INTEGER[]", "[1,null,3]", "[1,null,3]"},
		{"[]::INTEGER[]", "INTEGER[]", "[]", "[]"}, {"[[1.5], [], NULL]", "DECIMAL(2,1)[][]", "[[1.5],[],null]", "[[1.5],[],null]"},
		{"array_value('a', 'b')", "VARCHAR[2]", `["a","b"]`, `["a","b"]`},
		{"{'z': 1, 'a': {'x': DATE '2026-01-02'}, 'n': NULL}", `STRUCT("z" INTEGER, "a" STRUCT("x" DATE), "n" INTEGER)`, `{"z":1,"a":{"x":"2026-01-02"},"n":null}`, `{"z":1,"a":{"x":"2026-01-02"},"n":null}`},
		{"MAP {'k': 1.50, 'j': 2.00}", "MAP(VARCHAR, DECIMAL(3,2))", `{"k":1.50,"j":2.00}`, `{"k":1.50,"j":2.00}`},
		{"MAP {1: [1], 2: []}", "MAP(INTEGER, INTEGER[])", `{"1":[1],"2":[]}`, `{"1":[1],"2":[]}`},
	} {
		rows := query(t, conn, "SELECT "+c.expr)
		row, err := rows.Values(t.Context())
		if err != nil {
			t.Errorf("%s: %v", c.expr, err)
			continue
		}
		again := value.Of(row[0].Go())
		if typ := rows.Columns()[0].Type; typ != c.typ && c.text != "" {
			t.Errorf("%s has type %s, want %s", c.expr, typ, c.typ)
		}
		if a, b := string(row[0].AppendJSON(nil, seoul)), string(again.AppendJSON(nil, seoul)); a != b {
			t.Errorf("%s as a Go value is %s, want %s", c.expr, b, a)
		}
		if got := string(row[0].AppendText(nil, seoul)); got != c.text {
			t.Errorf("%s as text = %s, want %s", c.expr, got, c.text)
		}
		if got := string(row[0].AppendJSON(nil, seoul)); got != c.json {
			t.Errorf("%s as JSON = %s, want %s", c.expr, got, c.json)
		}
		rows.Close()
	}
}

// Values of every chunk come from their own rows, nulls included.
func TestManyChunks(t *testing.T) {
	conn := connect(t)
	rows := query(t, conn, `SELECT i, [i, i + 1] AS l, {'s': 'row number ' || i, 'n': CASE WHEN i % 3 <> 0 THEN i END} AS s,
		CASE WHEN i % 2 = 0 THEN 'a long enough string ' || i END AS t FROM range(10000) r(i)`)
	for i := int64(0); i < 10_000; i++ {
		row, err := rows.Values(t.Context())
		test.OK(t, err)
		list, s := row[1].Nest.Values, row[2].Nest.Values
		isNull := func(v value.Value) bool { return v.Kind == value.Null }
		if row[0].Int() != i || list[0].Int() != i || list[1].Int() != i+1 || isNull(s[1]) != (i%3 == 0) || isNull(row[3]) != (i%2 != 0) {
			t.Fatalf("row %d is %v", i, row)
		}
	}
	if _, err := rows.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("after the last row: %v", err)
	}
	if _, err := rows.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v", err)
	}
}

// Results are streamed: the first rows of a result of a terabyte arrive, and it need not be read to its end.
func TestStreams(t *testing.T) {
	conn := connect(t)
	rows := query(t, conn, "SELECT i, repeat('x', 1000) FROM range(1000000000) r(i)")
	for range 5000 {
		_, err := rows.Next(t.Context())
		test.OK(t, err)
	}
	rows.Close()
}

func TestErrors(t *testing.T) {
	conn := connect(t)
	var d *duck.Error
	_, err := conn.Query(t.Context(), "SELECT agentid FROM (SELECT 1 AS agent_id)")
	if !errors.As(err, &d) || d.Kind != "Binder" || d.Line != 1 || d.Column != 8 || len(d.Nearest) != 1 || d.Nearest[0] != "agent_id" || !d.Wrong() {
		t.Errorf("unknown column: %#v", err)
	}
	_, err = conn.Query(t.Context(), "SELECT 1\nFROM nowhere")
	if !errors.As(err, &d) || d.Kind != "Catalog" || d.Line != 2 || d.Column != 6 {
		t.Errorf("unknown table: %#v", err)
	}
	if name, ok := d.MissingTable(); !ok || name != "nowhere" {
		t.Errorf("missing table %q", name)
	}
	_, err = conn.Query(t.Context(), "SELECT ) 1")
	if !errors.As(err, &d) || d.Kind != "Parser" || d.Column != 8 {
		t.Errorf("syntax error: %#v", err)
	}
	// An error after some rows comes after them. Under load DuckDB loses it about once in 100
	// times, and then reports that.
	rows := query(t, conn, "SELECT CAST(CASE WHEN i > 500000 THEN 'x' ELSE '1' END AS INTEGER) FROM range(1000000) r(i)")
	for n := 0; ; n++ {
		_, err := rows.Next(t.Context())
		if err == nil {
			continue
		}
		if !errors.As(err, &d) || d.Kind != "Conversion" && !strings.Contains(d.Message, "run it again") || d.Wrong() {
			t.Errorf("after %d rows: %v", n, err)
		}
		break
	}
	_, err = conn.Query(t.Context(), "SELECT ?", 1, 2)
	if err == nil {
		t.Error("two values for one parameter: no error")
	}
}

func TestParameters(t *testing.T) {
	conn := connect(t)
	at := time.Date(2026, 11, 19, 23, 30, 0, 5000, time.UTC)
	rows := query(t, conn, "SELECT ?::BIGINT, ?::VARCHAR, ?::BOOLEAN, ?::DOUBLE, ?::TIMESTAMPTZ, ?::VARCHAR", 7, "it's", true, 1.5, at, nil)
	row, err := rows.Next(t.Context())
	test.OK(t, err)
	for i, want := range []any{int64(7), "it's", true, 1.5, at, nil} {
		if row[i] != want {
			t.Errorf("parameter %d came back as %v, want %v", i+1, row[i], want)
		}
	}
}

func stream(c *duck.Conn) func(context.Context, string) (*duck.Rows, error) {
	return func(ctx context.Context, text string) (*duck.Rows, error) { return c.Query(ctx, text) }
}

// A buffered result has the same rows and errors as a streamed one.
func TestSmall(t *testing.T) {
	conn := connect(t)
	for _, text := range []string{"SELECT i, repeat('x', i % 50), [i], {'a': i} FROM range(5000) r(i)", "SELECT 1 WHERE false", "SELECT 1,\n  nothing", "SELECT )", "SELECT CAST('x' AS INTEGER)"} {
		describe := func(run func(context.Context, string) (*duck.Rows, error)) string {
			rows, err := run(t.Context(), text)
			if err != nil {
				return err.Error()
			}
			defer rows.Close()
			var b strings.Builder
			fmt.Fprintln(&b, rows.Columns())
			for {
				row, err := rows.Next(t.Context())
				if err != nil {
					fmt.Fprintln(&b, err)
					return b.String()
				}
				fmt.Fprintln(&b, row...)
			}
		}
		if a, b := describe(stream(conn)), describe(conn.QuerySmall); a != b {
			t.Errorf("%s: streamed\n%.500s\nas a whole\n%.500s", text, a, b)
		}
	}
}

// A cancelled statement stops, and its connection stays usable.
func TestCancel(t *testing.T) {
	conn := connect(t)
	const endless = "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range * b.range % 7 = 3"
	for _, run := range []func(context.Context, string) (*duck.Rows, error){stream(conn), conn.QuerySmall, stream(conn)} {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		rows, err := run(ctx, endless)
		if err == nil {
			_, err = rows.Next(ctx)
			rows.Close()
		}
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("cancelled: %v", err)
		}
		after := query(t, conn, "SELECT 1")
		if row, err := after.Next(t.Context()); err != nil || row[0] != int64(1) {
			t.Fatalf("after it: %v, %v", row, err)
		}
		after.Close()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := conn.Query(ctx, "SELECT 1"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before: %v", err)
	}
}

// Data that does not fit in memory is spilled to a temporary folder, which is removed.
func TestLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	db, err := duck.Open(duck.Config{Threads: 1, MemoryLimit: "40MB"})
	test.OK(t, err)
	conn, err := db.Connect()
	test.OK(t, err)
	rows, err := conn.Query(t.Context(), "SELECT i, repeat('x', 100) AS s FROM range(400000) r(i) ORDER BY hash(i)")
	test.OK(t, err)
	_, err = rows.Next(t.Context())
	test.OK(t, err)
	if spilled, _ := filepath.Glob(dir + "/*/*"); len(spilled) == 0 {
		t.Error("nothing was spilled, which shows nothing")
	}
	rows.Close()
	conn.Close()
	test.OK(t, db.Close())
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A database needs no folder for temporary data, until a statement exceeds the memory.
func TestWithoutATemporaryFolder(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	db, err := duck.Open(duck.Config{Threads: 1, MemoryLimit: "40MB"})
	test.OK(t, err)
	conn, err := db.Connect()
	test.OK(t, err)
	test.OK(t, conn.Exec(t.Context(), "SELECT sum(range) FROM range(1000)"))
	var e *duck.Error
	err = conn.Exec(t.Context(), "CREATE TABLE t AS SELECT range, random() r FROM range(10_000_000)")
	if !errors.As(err, &e) || e.Kind != "Out of Memory" {
		t.Errorf("beyond the memory: %v", err)
	}
	conn.Close()
	test.OK(t, db.Close())
	if names, _ := filepath.Glob("*.tmp"); len(names) > 0 {
		t.Errorf("written beside the program: %v", names)
	}
}

// DuckDB 1.5.5 and 1.5.6 average intervals inexactly over many rows: by 0.18 s in 1,500 s at
// 300,001 rows. docs/reference/queries.md mentions it; once the last case of this test fails,
// remove that sentence. The Postgres protocol has its own average.
func TestAverageOfIntervals(t *testing.T) {
	conn := connect(t)
	const average = `SELECT epoch(avg(over - start)), avg(i % ?2) FROM (SELECT i, TIMESTAMP '2026-01-01' AS start, start + INTERVAL (i % ?2) SECOND AS over FROM range(?1) t(i))`
	for _, c := range []struct {
		calls, below int64
		exact        bool
	}{{1, 86_400, true}, {2048, 86_400, true}, {4097, 86_400, true}, {10_000, 3001, true}, {300_001, 3001, false}} {
		rows := query(t, conn, average, c.calls, c.below)
		row, err := rows.Next(t.Context())
		test.OK(t, err)
		got, want := row[0].(float64), row[1].(float64)
		if exact := got-want < 1e-6 && want-got < 1e-6; exact != c.exact {
			t.Errorf("%d intervals below %d s: average of %v s, want %v", c.calls, c.below, got, want)
		}
	}
}

// An error has its position, unless DuckDB quotes only a part of a long line.
func TestPlace(t *testing.T) {
	conn := connect(t)
	many := strings.Repeat("'가나다' AS some_name, ", 12)
	for _, c := range []struct {
		text         string
		line, column int
	}{
		{"SELECT nothing FROM range(1)", 1, 8}, {"SELECT 1,\n  nothing FROM range(1)", 2, 3},
		{"SELECT " + many + "nothing FROM range(1)", 0, 0}, {"SELECT " + many + many + "1\n+ nothing FROM range(1)", 2, 3},
	} {
		_, err := conn.Prepare(t.Context(), c.text)
		var e *duck.Error
		if !errors.As(err, &e) || e.Line != c.line || e.Column != c.column {
			t.Errorf("%q: %+v, want line %d, column %d", c.text, err, c.line, c.column)
		}
		if table, column, ok := e.MissingColumn(); !ok || table != "" || column != "nothing" {
			t.Errorf("%q: missing is %q of %q, %t", c.text, column, table, ok)
		}
	}
}
