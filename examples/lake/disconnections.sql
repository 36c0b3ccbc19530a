-- query disconnections, without confidence bounds: why calls ended. In Spark and Trino (after USE lake.callhouse),
-- DuckDB and ClickHouse. For a period, add a condition on start_at after FROM calls.
WITH flagged AS (
    SELECT disconnection_reason, CASE WHEN start_at IS NOT NULL AND (
            status IN ('ongoing', 'ended', 'error') AND disconnection_reason IS NULL
            OR coalesce(status, 'ended') IN ('ongoing', 'ended', 'error') AND disconnection_reason IN ('user_hangup', 'agent_hangup', 'operator_hangup',
                'call_transfer', 'voicemail_reached', 'inactivity', 'max_duration_reached', 'error_voxai', 'flow_error', 'orphaned_no_agent_pickup')
            OR status = 'ended' AND disconnection_reason = 'insufficient_balance') THEN 1 ELSE 0 END AS connected
    FROM calls
), counted AS (
    SELECT disconnection_reason, count(*) AS calls, sum(connected) AS connected_calls
    FROM flagged
    GROUP BY disconnection_reason
)
SELECT disconnection_reason, calls, 100e0 * calls / sum(calls) OVER () AS share_percent,
    connected_calls, 100e0 * connected_calls / calls AS connected_percent
FROM counted
ORDER BY calls DESC, disconnection_reason
