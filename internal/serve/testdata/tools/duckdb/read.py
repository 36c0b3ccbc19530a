"""Reads the tables with DuckDB's extension postgres."""
import duckdb, duckdb_extensions

duckdb_extensions.import_extension("postgres_scanner")
db = duckdb.connect()
db.execute("LOAD postgres_scanner")
db.execute("SET TimeZone = 'UTC'")
db.execute("ATTACH 'host=@HOST@ port=@PORT@ user=somebody dbname=callhouse' AS house (TYPE postgres, READ_ONLY)")


def rows(sql):
    return db.execute(sql).fetchall()


print(rows("SELECT count(*) FROM duckdb_tables() WHERE database_name = 'house'")[0][0], "tables")
print(rows("SELECT status, count(*) FROM house.calls GROUP BY 1 ORDER BY 1"))
print(rows("SELECT call_id, start_at::VARCHAR, total_cost, duration_ms FROM house.calls WHERE start_at < '2025-11-01' AND status = 'ended'"))
print(rows("SELECT t.role, t.content FROM house.calls JOIN house.transcript_turns AS t USING (call_id) ORDER BY t.turn"))
db.execute("CREATE TABLE mine AS FROM house.calls")
print(rows("SELECT count(*) FROM (FROM mine EXCEPT FROM house.calls)"), rows("SELECT * FROM postgres_query('house', 'SELECT 1 AS one')"))
db.execute("SET pg_use_text_protocol = true")
print("by text", rows("SELECT count(*) FROM house.calls")[0][0])
