-- funnel: how far calls get: attempted, connected, conversed, completed
--
-- attempted: every call. connected: somebody answered, or a machine did.
-- conversed: connected, no voicemail, and the caller said something: its
-- transcript has a turn of the user that is not blank. completed: conversed, over,
-- and ended by a hang-up. Each stage is a part of the one before; how the other
-- calls ended is told by the report outcomes.
--
-- Whether a call conversed is not known where its transcript is pending, missing
-- or withheld, or lies in a file of an earlier version, which did not count
-- (extract migrate does): those are told apart, and do not count. The completed
-- share is of the answered calls: over, by a person as far as is known, and known
-- whether the caller spoke.
--
-- Grain: one row per group and stage
-- Reads: tallied
-- Tallies: is_started, status, disconnection_reason, settlement, transcript_state, caller_spoke, short_step
-- Needs: end, words, transcripts
-- Shares: attempted_percent of max(calls), connected_percent of sum(calls) FILTER (stage = 'connected'), answered_percent of answered_calls
-- Example: query funnel --by agent --since 7d
-- Columns:
--   key                VARCHAR  -        the group that --by asks for
--   stage              VARCHAR  -        attempted, connected, conversed or completed
--   calls              BIGINT   count    calls that get there
--   attempted_percent  DOUBLE   percent of attempted  share of the attempted calls
--   connected_percent  DOUBLE   percent of connected  share of the connected calls; null for attempted
--   answered_percent   DOUBLE   percent of answered  share of the answered calls; of completed alone
--   answered_calls     BIGINT   count    the answered calls that this is a share of
--   unknown_calls      BIGINT   count    calls of which it is not known whether they conversed; of conversed alone

WITH counted AS (
    SELECT key,
        total_of(calls) AS attempted,
        sum_if(calls, is_connected) AS connected,
        sum_if(calls, is_conversed) AS conversed,
        sum_if(calls, is_conversed IS NULL) AS unknown,
        sum_if(calls, is_completed) AS completed,
        sum_if(calls, is_answered) AS answered
    FROM tallied
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
    CASE WHEN s.line = 3 THEN unknown END AS unknown_calls
FROM stages
ORDER BY group_rank(attempted), key NULLS LAST, s.line
