-- lines: calls of the organisation's own numbers
--
-- A call belongs to the number that --by number shows: the called number of an inbound
-- call, otherwise the number shown to the callee, or else the calling number. Calls with
-- none of the organisation's numbers are left out; without --by, numbers without calls are
-- shown. Reached are the outbound calls that a person and no machine answered, of those
-- that are over and of which this is known. A falling share may mean that the number is
-- marked as spam. Completed and answered are as in the report agents. Bounds are Wilson's
-- (95 %).
--
-- Grain: one row per group and number
-- Reads: counted_calls, telephone_numbers
-- Counts: own_number, direction, is_started, status, disconnection_reason, settlement, transcript_state, caller_spoke, short_step
-- Needs: end, words, transcripts
-- Shares: reached_percent of outbound_calls, completed_percent of answered_calls
-- Empty: no calls with a number of the organisation match
-- Example: query lines --since 30d
-- Columns:
--   key                     VARCHAR  -        group of --by
--   number                  VARCHAR  -        the number
--   status                  VARCHAR  -        active, scheduled, cancel_requested or expired; deleted: no longer listed
--   inbound_agent_id        VARCHAR  -        agent of inbound calls
--   outbound_agent_id       VARCHAR  -        agent of outbound calls
--   calls                   BIGINT   count    calls
--   inbound_calls           BIGINT   count    inbound calls
--   outbound_calls          BIGINT   count    outbound calls that are over and of which it is known whether they connected
--   reached_percent         DOUBLE   percent of outbound  share of them that a person answered
--   reached_low_percent     DOUBLE   percent  lower bound of this share
--   reached_high_percent    DOUBLE   percent  upper bound
--   answered_calls          BIGINT   count    answered calls, inbound and outbound
--   completed_percent       DOUBLE   percent of answered  share of them that were completed
--   completed_low_percent   DOUBLE   percent  lower bound of this share
--   completed_high_percent  DOUBLE   percent  upper bound

WITH counted AS (
    SELECT key, own_number AS number,
        total_of(calls) AS calls,
        sum_if(calls, direction = 'inbound') AS inbound_calls,
        sum_if(calls, direction = 'outbound' AND is_over AND is_connected IS NOT NULL) AS outbound_calls,
        sum_if(calls, direction = 'outbound' AND is_over AND is_connected AND NOT is_voicemail) AS reached,
        sum_if(calls, is_answered) AS answered_calls,
        sum_if(calls, is_completed) AS completed
    FROM counted_calls
    WHERE own_number IS NOT NULL
    GROUP BY key, own_number
), lines AS ( -- the organisation may have owned a number more than once
    SELECT number, CASE WHEN deleted_at IS NULL THEN status ELSE 'deleted' END AS status, inbound_agent_id, outbound_agent_id
    FROM telephone_numbers
    WHERE number IS NOT NULL
    QUALIFY row_number() OVER (PARTITION BY number
        ORDER BY deleted_at IS NOT NULL, status IS DISTINCT FROM 'active', created_at DESC NULLS LAST, number_id) = 1
)
SELECT c.key AS key, l.number AS number, l.status AS status, inbound_agent_id, outbound_agent_id,
    coalesce(calls, 0) AS calls, coalesce(inbound_calls, 0) AS inbound_calls, coalesce(outbound_calls, 0) AS outbound_calls,
    percent_of(reached, outbound_calls) AS reached_percent,
    wilson(reached, outbound_calls, -1) AS reached_low_percent,
    wilson(reached, outbound_calls, 1) AS reached_high_percent,
    coalesce(answered_calls, 0) AS answered_calls,
    percent_of(completed, answered_calls) AS completed_percent,
    wilson(completed, answered_calls, -1) AS completed_low_percent,
    wilson(completed, answered_calls, 1) AS completed_high_percent
FROM lines l LEFT JOIN counted c USING (number)
WHERE calls IS NOT NULL OR getvariable('grouped') IS NOT TRUE
ORDER BY group_rank(sum(calls) OVER (PARTITION BY c.key)), c.key NULLS LAST, calls DESC NULLS LAST, l.number
