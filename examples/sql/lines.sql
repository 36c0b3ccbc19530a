-- Calls of the organisation's own numbers.
--
-- A call belongs to the number that was called or, outbound, shown to the callee. A falling share of
-- outbound calls that reach a person may mean that the number is marked as spam.
WITH counted AS (
    SELECT own_number AS number,
        count(*) AS calls,
        count(*) FILTER (direction = 'inbound') AS inbound_calls,
        count(*) FILTER (direction = 'outbound' AND is_over AND is_connected IS NOT NULL) AS outbound_calls,
        count(*) FILTER (direction = 'outbound' AND is_over AND is_connected AND NOT is_voicemail) AS reached_calls,
        count(*) FILTER (is_answered) AS answered_calls,
        count(*) FILTER (is_completed) AS completed_calls
    FROM calls
    WHERE own_number IS NOT NULL
    -- AND start_at >= TIMESTAMPTZ '2026-11-01 00:00+09' AND agent_id = '...'
    GROUP BY own_number
), owned AS ( -- a number may have been owned more than once
    SELECT number, if(deleted_at IS NULL, status, 'deleted') AS status, inbound_agent_id, outbound_agent_id
    FROM telephone_numbers
    WHERE number IS NOT NULL
    QUALIFY row_number() OVER (PARTITION BY number ORDER BY deleted_at IS NOT NULL, status IS DISTINCT FROM 'active', created_at DESC) = 1
)
SELECT number, status, inbound_agent_id, outbound_agent_id,
    coalesce(calls, 0) AS calls, coalesce(inbound_calls, 0) AS inbound_calls, coalesce(outbound_calls, 0) AS outbound_calls,
    100.0 * reached_calls / nullif(outbound_calls, 0) AS reached_percent,
    coalesce(answered_calls, 0) AS answered_calls,
    100.0 * completed_calls / nullif(answered_calls, 0) AS completed_percent
FROM owned LEFT JOIN counted USING (number)
ORDER BY calls DESC, number
