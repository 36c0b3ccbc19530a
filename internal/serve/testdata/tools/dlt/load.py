"""dlt copies three tables into a DuckDB file."""
import dlt
from dlt.sources.sql_database import sql_database

source = sql_database("postgresql+psycopg2://dlt@@ADDRESS@/callhouse").with_resources("calls", "runs", "transcript_turns")
pipeline = dlt.pipeline("callhouse", destination=dlt.destinations.duckdb("copy.duckdb"), dataset_name="warehouse")
pipeline.run(source)
with pipeline.sql_client() as c:
    for sql in "SELECT status, count(*) FROM calls GROUP BY 1 ORDER BY 1", "SELECT call_id, total_cost, start_at FROM calls WHERE total_cost > 0", "SELECT count(*) FROM transcript_turns":
        print(c.execute_sql(sql))
