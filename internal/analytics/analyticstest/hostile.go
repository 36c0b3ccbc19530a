package analyticstest

import "strings"

// Unsafe returns statements that reach outside a warehouse and must be refused in safe mode. out is
// a file that does not exist, file one of the warehouse, and link a link to another file.
func Unsafe(out, file, link string) []string {
	return []string{
		// Files and addresses.
		"FROM '/etc/passwd'", `FROM "/etc/passwd"`, "FROM './calls.csv'", "FROM 'x.parquet'", "FROM '" + link + "'", "FROM '" + file + "'",
		"FROM 'https://example.com/x.parquet'", "FROM 's3://bucket/x.csv'", "DESCRIBE '/etc/passwd'", "SUMMARIZE '/etc/passwd'",
		"EXPLAIN FROM '/etc/passwd'",
		"EXPLAIN ANALYZE FROM '/etc/passwd'", "FROM (DESCRIBE FROM '/etc/passwd')", "WITH x AS (FROM '/etc/passwd') FROM x",
		"FROM read_csv('/etc/passwd')", "FROM read_csv_auto('/etc/passwd')", "FROM read_text('/etc/passwd')",
		"FROM read_blob('/etc/*')", "FROM glob('/*')",
		"FROM read_json('/etc/passwd')", "FROM read_ndjson_objects('/etc/passwd')", "FROM read_parquet('" + file + "')",
		"FROM parquet_scan('" + link + "')",
		"FROM parquet_metadata('" + file + "')", "FROM parquet_schema('" + file + "')", "FROM sniff_csv('/etc/passwd')", "FROM read_duckdb('x')",
		"FROM read_csv('https://example.com/x.csv')", "SELECT (SELECT count(*) FROM read_text('/etc/passwd'))",
		"SELECT 1 WHERE EXISTS (FROM glob('/*'))",
		"SELECT * FROM calls WHERE call_id IN (SELECT content FROM read_text('/etc/passwd'))",
		"SELECT * FROM calls, LATERAL (FROM read_text(call_id))",
		"SELECT 1 UNION ALL SELECT size FROM read_text('/etc/passwd')", "SELECT 1 ORDER BY (SELECT count(*) FROM glob('/*'))",
		// SQL in strings.
		"FROM query('FROM ''/etc/passwd''')", "FROM query_table('/etc/passwd')", "FROM histogram('/etc/passwd', x)",
		"FROM histogram_values('calls', duration_ms)", "FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))",
		"SELECT json_serialize_plan('FROM ''/etc/passwd''')",
		// The process, its settings and its memory.
		"SELECT getenv('HOME')", "SELECT current_setting('temp_directory')", "FROM duckdb_settings()", "FROM duckdb_secrets()",
		"FROM duckdb_logs",
		"FROM enable_logging()", "FROM enable_logging('QueryLog', storage = 'file', storage_path = '" + out + "')",
		"FROM disable_logging()", "FROM truncate_duckdb_logs()",
		"SELECT write_log('x')", "FROM enable_profiling()", "FROM checkpoint()", "FROM force_checkpoint()",
		"FROM duckdb_temporary_files()", "FROM pragma_user_agent()",
		"FROM pragma_database_list", "FROM duckdb_views", "FROM sqlite_master", "FROM pg_catalog.pg_settings",
		"FROM information_schema.tables", "SHOW DATABASES", "SHOW VARIABLES",
		"SHOW ALL TABLES", "FROM arrow_scan(1, 2, 3)", "FROM arrow_scan_dumb(1, 2, 3)", "FROM pandas_scan(1)",
		"FROM seq_scan('calls')", "FROM which_secret('x', 's3')", "FROM system.main.duckdb_views",
		"FROM test_vector_types(1)", "SELECT __internal_decompress_string('x'::UHUGEINT)", "SELECT finalize('x'::BLOB)",
		"SELECT nextval('s')", "FROM other.calls",
		"SELECT '" + strings.Repeat("x", 1<<20) + "'",
	}
}

// Changing returns statements that would change something.
func Changing(out, file string) []string {
	return []string{
		"COPY calls TO '" + out + "'", "COPY (SELECT 1) TO '" + file + "'", "EXPORT DATABASE '" + out + "'",
		"IMPORT DATABASE '" + out + "'", "ATTACH '" + out + "' AS x",
		"ATTACH '" + out + "' AS x (TYPE sqlite)", "DETACH memory", "USE stored", "INSTALL httpfs", "LOAD httpfs",
		"FORCE INSTALL httpfs", "UPDATE EXTENSIONS",
		"SET memory_limit = '100GB'", "SET GLOBAL enable_external_access = true", "SET VARIABLE tz = 'UTC'", "RESET threads",
		"PRAGMA version", "PRAGMA enable_logging",
		"PRAGMA memory_limit = '1TB'", "CALL pragma_version()", "CALL enable_logging()", "PREPARE p AS SELECT 1", "EXECUTE p",
		"DEALLOCATE p", "CREATE TABLE t (a INT)", "CREATE MACRO f() AS TABLE FROM '/etc/passwd'",
		"CREATE TEMP VIEW v AS FROM '/etc/passwd'", "CREATE SECRET s (TYPE s3)", "DROP VIEW calls",
		"INSERT INTO calls SELECT * FROM calls", "UPDATE calls SET call_id = ''",
		"DELETE FROM calls", "MERGE INTO calls USING runs ON true WHEN MATCHED THEN DELETE", "BEGIN", "VACUUM", "ANALYZE",
		"CHECKPOINT", "COMMENT ON VIEW calls IS 'x'", "EXPLAIN COPY calls TO '" + out + "'",
		"EXPLAIN ANALYZE COPY calls TO '" + out + "'", "/* SELECT */ COPY calls TO '" + out + "'",
		"-- SELECT 1\nATTACH '" + out + "' AS x", "PIVOT calls ON status",
	}
}
