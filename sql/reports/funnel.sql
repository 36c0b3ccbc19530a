-- funnel: attempted, connected, conversed and completed calls
--
-- Look at the largest drop from one stage to the next. Up to connected it is about lines
-- and numbers, then about the opening, and from conversed to completed about the agent.
--
-- attempted: every call. connected: a person or machine answered. conversed: connected, no
-- voicemail, and the caller said something (a user turn that is not blank). completed:
-- conversed, over, and ended by a hang-up. Each stage is a subset of the one before; the
-- report outcomes shows how the other calls ended.
--
-- It is not known whether a call conversed if its transcript is pending, missing or
-- withheld. These calls are counted separately. The completed share is of the answered
-- calls: over, answered by a person as far as is known, and known whether the caller spoke.
--
-- Grain: one row per group and stage
-- Reads: counted_calls of is_started status disconnection_reason settlement transcript_state caller_spoke short_step
-- Needs: end, words, transcripts
-- Main: answered_percent of stage completed
-- Example: query funnel --by agent --since 7d
-- Columns:
--   key                VARCHAR  -                                   group of --by
-- * stage              VARCHAR  -                                   attempted, connected, conversed or completed
-- * calls              BIGINT   count                               calls that reach the stage
-- * attempted_percent  DOUBLE   percent of attempted: attempted         share of the attempted calls
-- * connected_percent  DOUBLE   percent of connected: connected         share of the connected calls; null for attempted
-- * answered_percent   DOUBLE   percent of answered: answered_calls  share of the answered calls; for completed only
--   answered_calls     BIGINT   count                               answered calls, the denominator
-- * unknown_calls      BIGINT   count                               calls of which it is not known whether they conversed; for conversed only
--   attempted          BIGINT   hidden                              for comparisons: attempted calls; null where the share is 100 % by definition
--   connected          BIGINT   hidden                              connected calls, likewise

WITH counted AS (
    SELECT key,
        total_of(calls) AS attempted,
        sum_if(calls, is_connected) AS connected,
        sum_if(calls, is_conversed) AS conversed,
        sum_if(calls, is_conversed IS NULL) AS unknown,
        sum_if(calls, is_completed) AS completed,
        sum_if(calls, is_answered) AS answered
    FROM counted_calls
    GROUP BY key
), stages AS (
    SELECT counted.*, unnest([
        {'line': 1, 'stage': 'attempted', 'calls': attempted},
        {'line': 2, 'stage': 'connected', 'calls': connected},
        {'line': 3, 'stage': 'conversed', 'calls': conversed},
        {'line': 4, 'stage': 'completed', 'calls': completed}]) AS s
    FROM counted
)
SELECT key, s.stage AS stage, s.calls AS calls,
    percent_of(s.calls, attempted) AS attempted_percent,
    CASE WHEN s.line > 1 THEN percent_of(s.calls, connected) END AS connected_percent,
    CASE WHEN s.line = 4 THEN percent_of(s.calls, answered) END AS answered_percent,
    CASE WHEN s.line = 4 THEN answered END AS answered_calls,
    CASE WHEN s.line = 3 THEN unknown END AS unknown_calls,
    CASE WHEN s.line > 1 THEN attempted END AS attempted,
    CASE WHEN s.line > 2 THEN connected END AS connected
FROM stages
ORDER BY group_rank(attempted, $largest_first), key NULLS LAST, s.line
