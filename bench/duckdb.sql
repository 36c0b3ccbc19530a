-- What `extract import` makes of calls.ndjson, as nearly as DuckDB's own reader and writer do: the
-- same tables, without `extra`, facts of transcripts, filters on call_id, checksums and fsync.
-- Eight columns are constants or cheap expressions.
SET threads = 2;

COPY (
  SELECT id AS call_id, agent.agent_id, agent.agent_version, call_type, status, disconnection_reason, from_number, to_number,
    presentation_number, make_timestamp(start_at * 1000) AS start_at, make_timestamp(end_at * 1000) AS end_at,
    end_at - start_at AS duration_ms, TRY_CAST(call_cost.total_cost AS DECIMAL(18, 4)) AS total_cost, call_cost.credits_used,
    call_analysis.summary, call_analysis.user_sentiment, call_analysis.evaluation, metadata, dynamic_variables, variant_label,
    recording_url, opt_out_sensitive_data_storage, len(transcript) AS turn_count,
    CASE WHEN opt_out_sensitive_data_storage THEN 'withheld' WHEN transcript IS NULL THEN 'pending'
      WHEN len(transcript) = 0 THEN 'empty' ELSE 'present' END AS transcript_state,
    CASE WHEN end_at IS NULL THEN 'open' WHEN call_cost IS NOT NULL AND call_analysis IS NOT NULL THEN 'settled' ELSE 'ended' END AS settlement,
    'v3' AS source, make_timestamp(1795089600000000) AS first_seen_at, make_timestamp(1795089600000000) AS fetched_at,
    '20261119T120000Z-00000001' AS run_id
  FROM read_json('calls.ndjson', format = 'newline_delimited', columns = {
    id: 'VARCHAR', agent: 'STRUCT(agent_id VARCHAR, agent_version VARCHAR)', call_type: 'VARCHAR', status: 'VARCHAR',
    disconnection_reason: 'VARCHAR', from_number: 'VARCHAR', to_number: 'VARCHAR', presentation_number: 'VARCHAR',
    start_at: 'BIGINT', end_at: 'BIGINT', call_cost: 'STRUCT(total_cost VARCHAR, credits_used DOUBLE)',
    call_analysis: 'STRUCT(summary VARCHAR, user_sentiment VARCHAR, evaluation JSON)', metadata: 'JSON',
    dynamic_variables: 'JSON', variant_label: 'VARCHAR', recording_url: 'VARCHAR',
    opt_out_sensitive_data_storage: 'BOOLEAN', transcript: 'JSON[]'})
) TO 'duckdb/calls.parquet' (FORMAT parquet, COMPRESSION zstd);

COPY (
  SELECT call_id, turn, t.role, t.content, make_timestamp(t.start_at * 1000) AS start_at, make_timestamp(t.end_at * 1000) AS end_at,
    t.tool_call_id, t.name AS tool_name, t.arguments, make_timestamp(call_start_at * 1000) AS call_start_at
  FROM (
    SELECT id AS call_id, start_at AS call_start_at, unnest(transcript) AS t, generate_subscripts(transcript, 1) - 1 AS turn
    FROM read_json('calls.ndjson', format = 'newline_delimited', columns = {id: 'VARCHAR', start_at: 'BIGINT',
      transcript: 'STRUCT(role VARCHAR, content VARCHAR, start_at BIGINT, end_at BIGINT, tool_call_id VARCHAR, name VARCHAR, arguments JSON)[]'}))
) TO 'duckdb/transcript_turns.parquet' (FORMAT parquet, COMPRESSION zstd);

COPY (
  SELECT call_id, position, i.name, i."type", i."value", make_timestamp(call_start_at * 1000) AS call_start_at
  FROM (
    SELECT id AS call_id, start_at AS call_start_at, unnest(call_analysis.custom_analysis_data) AS i,
      generate_subscripts(call_analysis.custom_analysis_data, 1) - 1 AS position
    FROM read_json('calls.ndjson', format = 'newline_delimited', columns = {id: 'VARCHAR', start_at: 'BIGINT',
      call_analysis: 'STRUCT(custom_analysis_data STRUCT(name VARCHAR, "type" VARCHAR, "value" JSON)[])'}))
) TO 'duckdb/analysis_items.parquet' (FORMAT parquet, COMPRESSION zstd);
