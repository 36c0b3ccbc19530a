FROM '/etc/passwd'
FROM "/etc/passwd"
FROM './calls.csv'
FROM 'x.parquet'
FROM '$LINK'
FROM '$FILE'
FROM 'https://example.com/x.parquet'
FROM 's3://bucket/x.csv'
DESCRIBE '/etc/passwd'
SUMMARIZE '/etc/passwd'
EXPLAIN FROM '/etc/passwd'
EXPLAIN ANALYZE FROM '/etc/passwd'
FROM (DESCRIBE FROM '/etc/passwd')
WITH x AS (FROM '/etc/passwd') FROM x
FROM read_csv('/etc/passwd')
FROM read_csv_auto('/etc/passwd')
FROM read_text('/etc/passwd')
FROM read_blob('/etc/*')
FROM glob('/*')
FROM read_json('/etc/passwd')
FROM read_ndjson_objects('/etc/passwd')
FROM read_parquet('$FILE')
FROM parquet_scan('$LINK')
FROM parquet_metadata('$FILE')
FROM parquet_schema('$FILE')
FROM sniff_csv('/etc/passwd')
FROM read_duckdb('x')
FROM read_csv('https://example.com/x.csv')
SELECT (SELECT count(*) FROM read_text('/etc/passwd'))
SELECT 1 WHERE EXISTS (FROM glob('/*'))
SELECT * FROM calls WHERE call_id IN (SELECT content FROM read_text('/etc/passwd'))
SELECT * FROM calls, LATERAL (FROM read_text(call_id))
SELECT 1 UNION ALL SELECT size FROM read_text('/etc/passwd')
SELECT 1 ORDER BY (SELECT count(*) FROM glob('/*'))
FROM query('FROM ''/etc/passwd''')
FROM query_table('/etc/passwd')
FROM histogram('/etc/passwd', x)
FROM histogram_values('calls', duration_ms)
FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))
SELECT json_serialize_plan('FROM ''/etc/passwd''')
SELECT getenv('HOME')
SELECT current_setting('temp_directory')
FROM duckdb_settings()
FROM duckdb_secrets()
FROM duckdb_logs
FROM enable_logging()
FROM enable_logging('QueryLog', storage = 'file', storage_path = '$OUT')
FROM disable_logging()
FROM truncate_duckdb_logs()
SELECT write_log('x')
FROM enable_profiling()
FROM checkpoint()
FROM force_checkpoint()
FROM duckdb_temporary_files()
FROM pragma_user_agent()
FROM pragma_database_list
FROM duckdb_views
FROM sqlite_master
FROM pg_catalog.pg_settings
FROM information_schema.tables
SHOW DATABASES
SHOW VARIABLES
SHOW ALL TABLES
FROM arrow_scan(1, 2, 3)
FROM arrow_scan_dumb(1, 2, 3)
FROM pandas_scan(1)
FROM seq_scan('calls')
FROM which_secret('x', 's3')
FROM system.main.duckdb_views
FROM test_vector_types(1)
SELECT __internal_decompress_string('x'::UHUGEINT)
SELECT finalize('x'::BLOB)
SELECT nextval('s')
FROM other.calls
