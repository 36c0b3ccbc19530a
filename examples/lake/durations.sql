-- query durations, without confidence bounds: how long calls are. In Spark and Trino (after USE lake.callhouse),
-- DuckDB and ClickHouse. For a period, add a condition on start_at after FROM calls.
WITH flagged AS (
    SELECT duration_ms, CASE WHEN disconnection_reason = 'voicemail_reached' THEN 1 ELSE 0 END AS voicemail, CASE WHEN start_at IS NOT NULL AND (
            status IN ('ongoing', 'ended', 'error') AND disconnection_reason IS NULL
            OR coalesce(status, 'ended') IN ('ongoing', 'ended', 'error') AND disconnection_reason IN ('user_hangup', 'agent_hangup', 'operator_hangup',
                'call_transfer', 'voicemail_reached', 'inactivity', 'max_duration_reached', 'error_voxai', 'flow_error', 'orphaned_no_agent_pickup')
            OR status = 'ended' AND disconnection_reason = 'insufficient_balance') THEN 1 ELSE 0 END AS connected
    FROM calls
), lengths AS (
    SELECT duration_ms, count(*) AS n, sum(connected) AS c, sum(CASE WHEN voicemail = 0 THEN connected ELSE 0 END) AS h
    FROM flagged
    WHERE duration_ms IS NOT NULL
    GROUP BY duration_ms
), ranked AS (
    SELECT duration_ms, n, c, h, sum(n) OVER (ORDER BY duration_ms) AS n_to, sum(n) OVER () AS n_all,
        sum(c) OVER (ORDER BY duration_ms) AS c_to, sum(c) OVER () AS c_all
    FROM lengths
)
SELECT (SELECT count(*) FROM calls) AS calls,
    CAST(round(CAST(sum(n * duration_ms) AS double) / sum(n)) AS bigint) AS mean_ms,
    min(CASE WHEN 100 * n_to >= 50 * n_all THEN duration_ms END) AS p50_ms,
    min(CASE WHEN n_all >= 20 AND 100 * n_to >= 90 * n_all THEN duration_ms END) AS p90_ms,
    min(CASE WHEN n_all >= 20 AND 100 * n_to >= 95 * n_all THEN duration_ms END) AS p95_ms,
    min(CASE WHEN n_all >= 100 AND 100 * n_to >= 99 * n_all THEN duration_ms END) AS p99_ms,
    max(duration_ms) AS max_ms,
    min(CASE WHEN c > 0 AND 100 * c_to >= 50 * c_all THEN duration_ms END) AS connected_p50_ms,
    min(CASE WHEN c > 0 AND c_all >= 20 AND 100 * c_to >= 90 * c_all THEN duration_ms END) AS connected_p90_ms,
    min(CASE WHEN c > 0 AND c_all >= 20 AND 100 * c_to >= 95 * c_all THEN duration_ms END) AS connected_p95_ms,
    min(CASE WHEN c > 0 AND c_all >= 100 AND 100 * c_to >= 99 * c_all THEN duration_ms END) AS connected_p99_ms,
    CAST(round(CAST(sum(h * duration_ms) AS double) / nullif(sum(h), 0)) AS bigint) AS handle_ms,
    sum(n) AS timed_calls, sum(c) AS connected_calls, sum(h) AS handled_calls, sum(n * duration_ms) AS total_ms
FROM ranked
