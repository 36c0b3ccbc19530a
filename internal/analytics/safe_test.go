package analytics_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/guard"
)

func safeWarehouse(t *testing.T) *analytics.Warehouse {
	t.Helper()
	root := t.TempDir()
	analyticstest.Write(t, root, 1, analyticstest.Data{
		Calls: []row{{"call_id": "c1", "start_at": int64(1_760_000_000_000), "metadata": `{"a":[1,2]}`}},
		Turns: []row{{"call_id": "c1", "turn": int64(0), "role": "agent", "content": "hello"}},
	})
	w, err := analytics.Open(t.Context(), root, analytics.Options{Safe: &analytics.Limits{Memory: 256 << 20, Temp: 1 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// What people ask for passes.
func TestSafePasses(t *testing.T) {
	w := safeWarehouse(t)
	for _, text := range []string{
		"SELECT count(*) FROM calls", "FROM main.calls", "FROM stored.calls", "FROM memory.main.calls", "FROM Calls", "DESCRIBE calls", "SUMMARIZE calls",
		"SHOW TABLES", "EXPLAIN SELECT 1", "EXPLAIN ANALYZE SELECT count(*) FROM calls", "VALUES (1)",
		`WITH "my calls" AS (FROM calls) SELECT * FROM "my calls"`, "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 9) FROM r",
		"SELECT * FROM range(3), generate_series(1, 2), unnest([1, 2])", "SELECT j.value FROM calls, json_each(metadata, '$.a') AS j",
		"SELECT sum(duration_ms) OVER (ORDER BY start_at) FROM calls", "PIVOT calls ON status IN ('ended') USING count(*)",
		"SELECT list_transform([1], lambda x: x + 1), getvariable('tz'), local_time(start_at), percent_of(1, 2) FROM calls",
		"SELECT (SELECT max(turn) FROM transcript_turns t WHERE t.call_id = c.call_id) FROM calls c", "SELECT 'read_csv(''/etc/passwd'')'",
		"SELECT regexp_replace(content, 'l+', 'L') FROM transcript_turns -- COPY calls TO 'x'",
		"FROM costs", "FROM tool_calls", "FROM analysis_items", "FROM runs",
	} {
		rows, err := w.SQL(t.Context(), text)
		if err != nil {
			t.Errorf("SQL(%q): %v", text, err)
			continue
		}
		all(t, rows, nil)
	}
}

// What reaches out of the warehouse does not pass, and does nothing.
func TestSafeRefuses(t *testing.T) {
	w := safeWarehouse(t)
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	snapshot := w.Snapshot().Dir
	link := filepath.Join(snapshot, "calls", "link.parquet")
	if err := os.Symlink("/etc/passwd", link); err != nil {
		t.Fatal(err)
	}
	file := w.Snapshot().Path(w.Snapshot().Manifest.FilesOf("calls")[0])
	var unsafe *guard.UnsafeError
	for _, text := range []string{
		// Files and addresses.
		"FROM '/etc/passwd'", `FROM "/etc/passwd"`, "FROM './calls.csv'", "FROM 'x.parquet'", "FROM '" + link + "'", "FROM '" + file + "'",
		"FROM 'https://example.com/x.parquet'", "FROM 's3://bucket/x.csv'", "DESCRIBE '/etc/passwd'", "SUMMARIZE '/etc/passwd'", "EXPLAIN FROM '/etc/passwd'",
		"EXPLAIN ANALYZE FROM '/etc/passwd'", "FROM (DESCRIBE FROM '/etc/passwd')", "WITH x AS (FROM '/etc/passwd') FROM x",
		"FROM read_csv('/etc/passwd')", "FROM read_csv_auto('/etc/passwd')", "FROM read_text('/etc/passwd')", "FROM read_blob('/etc/*')", "FROM glob('/*')",
		"FROM read_json('/etc/passwd')", "FROM read_ndjson_objects('/etc/passwd')", "FROM read_parquet('" + file + "')", "FROM parquet_scan('" + link + "')",
		"FROM parquet_metadata('" + file + "')", "FROM parquet_schema('" + file + "')", "FROM sniff_csv('/etc/passwd')", "FROM read_duckdb('x')",
		"FROM read_csv('https://example.com/x.csv')", "SELECT (SELECT count(*) FROM read_text('/etc/passwd'))", "SELECT 1 WHERE EXISTS (FROM glob('/*'))",
		"SELECT * FROM calls WHERE call_id IN (SELECT content FROM read_text('/etc/passwd'))", "SELECT * FROM calls, LATERAL (FROM read_text(call_id))",
		"SELECT 1 UNION ALL SELECT size FROM read_text('/etc/passwd')", "SELECT 1 ORDER BY (SELECT count(*) FROM glob('/*'))",
		// SQL in texts.
		"FROM query('FROM ''/etc/passwd''')", "FROM query_table('/etc/passwd')", "FROM histogram('/etc/passwd', x)", "FROM histogram_values('calls', duration_ms)", "FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))",
		"SELECT json_serialize_plan('FROM ''/etc/passwd''')",
		// The process, its settings and its memory.
		"SELECT getenv('HOME')", "SELECT current_setting('temp_directory')", "FROM duckdb_settings()", "FROM duckdb_secrets()", "FROM duckdb_logs",
		"FROM enable_logging()", "FROM enable_logging('QueryLog', storage = 'file', storage_path = '" + out + "')", "FROM disable_logging()", "FROM truncate_duckdb_logs()",
		"SELECT write_log('x')", "FROM enable_profiling()", "FROM checkpoint()", "FROM force_checkpoint()", "FROM duckdb_temporary_files()", "FROM pragma_user_agent()",
		"FROM pragma_database_list", "FROM duckdb_views", "FROM sqlite_master", "FROM pg_catalog.pg_settings", "FROM information_schema.tables", "SHOW DATABASES", "SHOW VARIABLES",
		"SHOW ALL TABLES", "FROM arrow_scan(1, 2, 3)", "FROM arrow_scan_dumb(1, 2, 3)", "FROM pandas_scan(1)", "FROM seq_scan('calls')", "FROM which_secret('x', 's3')", "FROM system.main.duckdb_views",
		"FROM test_vector_types(1)", "SELECT __internal_decompress_string('x'::UHUGEINT)", "SELECT finalize('x'::BLOB)", "SELECT nextval('s')", "FROM other.calls",
		"SELECT '" + strings.Repeat("x", 1<<20) + "'",
	} {
		_, err := w.SQL(t.Context(), text)
		if !errors.As(err, &unsafe) {
			t.Errorf("SQL(%.80q): %v, want it refused", text, err)
		} else if s := err.Error(); strings.ContainsAny(s, "\n\r") || len(s) > 200 {
			t.Errorf("SQL(%.80q): %q is not one short line", text, s)
		}
	}
	for _, text := range []string{
		"COPY calls TO '" + out + "'", "COPY (SELECT 1) TO '" + file + "'", "EXPORT DATABASE '" + out + "'", "IMPORT DATABASE '" + out + "'", "ATTACH '" + out + "' AS x",
		"ATTACH '" + out + "' AS x (TYPE sqlite)", "DETACH memory", "USE stored", "INSTALL httpfs", "LOAD httpfs", "FORCE INSTALL httpfs", "UPDATE EXTENSIONS",
		"SET memory_limit = '100GB'", "SET GLOBAL enable_external_access = true", "SET VARIABLE tz = 'UTC'", "RESET threads", "PRAGMA version", "PRAGMA enable_logging",
		"PRAGMA memory_limit = '1TB'", "CALL pragma_version()", "CALL enable_logging()", "PREPARE p AS SELECT 1", "EXECUTE p", "DEALLOCATE p", "CREATE TABLE t (a INT)", "CREATE MACRO f() AS TABLE FROM '/etc/passwd'",
		"CREATE TEMP VIEW v AS FROM '/etc/passwd'", "CREATE SECRET s (TYPE s3)", "DROP VIEW calls", "INSERT INTO calls SELECT * FROM calls", "UPDATE calls SET call_id = ''",
		"DELETE FROM calls", "MERGE INTO calls USING runs ON true WHEN MATCHED THEN DELETE", "BEGIN", "VACUUM", "ANALYZE", "CHECKPOINT", "COMMENT ON VIEW calls IS 'x'", "EXPLAIN COPY calls TO '" + out + "'",
		"EXPLAIN ANALYZE COPY calls TO '" + out + "'", "/* SELECT */ COPY calls TO '" + out + "'", "-- SELECT 1\nATTACH '" + out + "' AS x", "PIVOT calls ON status",
	} {
		if _, err := w.SQL(t.Context(), text); !errors.Is(err, guard.ErrNotReading) {
			t.Errorf("SQL(%q): %v, want ErrNotReading", text, err)
		}
	}
	for _, text := range []string{"SELECT 1; SELECT 2", "SELECT 1; COPY calls TO '" + out + "'", "SELECT 1;;ATTACH '" + out + "' AS x;"} {
		if _, err := w.SQL(t.Context(), text); !errors.Is(err, duck.ErrManyStatements) && !errors.Is(err, guard.ErrNotReading) {
			t.Errorf("SQL(%q): %v, want it refused", text, err)
		}
	}
	var d *duck.Error
	for _, text := range []string{"WITH x AS (COPY calls TO '" + out + "') FROM x", "SELECT * FROM (DROP VIEW calls)", "SELECT 1\x00; COPY calls TO '" + out + "'"} {
		if _, err := w.SQL(t.Context(), text); !errors.As(err, &d) || d.Kind != "Parser" {
			t.Errorf("SQL(%q): %v, want an error of the parser", text, err)
		}
	}
	// A table that is not there is a mistake and no attack: DuckDB says what was meant.
	if _, err := w.SQL(t.Context(), "FROM callz"); !errors.As(err, &d) || d.Kind != "Catalog" {
		t.Errorf("FROM callz: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("files were written: %v, %v", left, err)
	}
}
