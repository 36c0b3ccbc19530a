-- calls_reported: calls with the columns that the reports of query use, for BI on the tables of a lake or on Parquet
-- files: CREATE VIEW calls_reported AS, and this statement. In Spark and Trino (after USE lake.callhouse), DuckDB and
-- ClickHouse. local_date is in the session's time zone; in Trino write CAST(start_at AT TIME ZONE 'Asia/Seoul' AS date).
WITH flagged AS (
    SELECT calls.*, CASE
            WHEN start_at IS NULL
                OR status IN ('queued', 'registered', 'initiated', 'ringing', 'not_connected', 'canceled')
                OR disconnection_reason IN ('dial_no_answer', 'dial_busy', 'dial_declined', 'dial_failed', 'blocked_number',
                    'concurrency_limit_reached', 'hourly_call_limit_reached', 'daily_call_limit_reached')
                OR disconnection_reason = 'insufficient_balance' AND coalesce(status, '') <> 'ended' THEN 0
            WHEN status IS NULL AND disconnection_reason IS NULL THEN NULL
            WHEN coalesce(status, 'ended') IN ('ongoing', 'ended', 'error')
                AND coalesce(disconnection_reason, 'user_hangup') IN ('user_hangup', 'agent_hangup', 'operator_hangup', 'call_transfer',
                    'voicemail_reached', 'inactivity', 'max_duration_reached', 'error_voxai', 'flow_error', 'orphaned_no_agent_pickup',
                    'insufficient_balance') THEN 1 END AS connected,
        CASE WHEN user_turns > 0 THEN 1
            WHEN transcript_state = 'empty' OR transcript_state IN ('present', 'changed') AND user_turns IS NOT NULL THEN 0 END AS spoke,
        CASE WHEN disconnection_reason = 'voicemail_reached' THEN 1 ELSE 0 END AS voicemail
    FROM calls
), ended AS (
    SELECT flagged.*, CASE
            WHEN settlement = 'open' THEN 'unknown'
            WHEN connected = 0 THEN 'not_connected'
            WHEN voicemail = 1 THEN 'voicemail'
            WHEN connected IS NULL THEN 'unknown'
            WHEN disconnection_reason IN ('call_transfer', 'operator_hangup') THEN 'transferred'
            WHEN status = 'error' OR disconnection_reason IN ('error_voxai', 'flow_error', 'orphaned_no_agent_pickup', 'inactivity',
                'max_duration_reached', 'insufficient_balance') THEN 'failed'
            WHEN status = 'ongoing' OR disconnection_reason IS NULL THEN 'unknown'
            WHEN spoke = 0 OR disconnection_reason = 'user_hangup' AND duration_ms < 10000 THEN 'abandoned'
            WHEN disconnection_reason = 'agent_hangup' AND duration_ms < 10000 THEN 'failed'
            WHEN spoke = 1 THEN 'completed'
            ELSE 'unknown' END AS outcome
    FROM flagged
)
SELECT call_id, start_at, CAST(start_at AS date) AS local_date, ended.agent_id AS agent_id, agents.name AS agent_name, agent_version, variant_label,
    call_type, CASE WHEN direction IS NOT NULL THEN direction WHEN call_type IN ('inbound', 'outbound') THEN call_type
        WHEN call_type IS NULL OR call_type <> 'web' THEN 'unknown' END AS direction,
    status, disconnection_reason, outcome, connected = 1 AS is_connected, outcome = 'completed' AS is_completed,
    settlement <> 'open' AND coalesce(connected, 1) = 1 AND voicemail = 0 AND spoke IS NOT NULL AS is_answered,
    user_sentiment, duration_ms, CASE WHEN connected = 1 THEN duration_ms END AS talk_ms, total_cost, credits_used
FROM ended LEFT JOIN agents ON agents.agent_id = ended.agent_id
