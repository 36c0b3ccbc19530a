-- funnel: how far calls get: attempted, connected, conversed, contained, transferred
--
-- attempted: every call. connected: somebody answered, or a machine did.
-- conversed: connected, no voicemail, and the caller said something: its
-- transcript has a turn of the user that is not blank. contained: the agent
-- handled the call alone. transferred: connected, and passed on.
--
-- contained and transferred mean what they mean everywhere, so both are parts
-- of connected, not of conversed: a caller who hangs up without a word is
-- contained. Whether a call conversed is not known where its transcript is
-- pending, missing or withheld, or lies in a file of an earlier version, which
-- did not count (extract migrate does): those are told apart, and do not count.
--
-- Grain: one row per group and stage
-- Reads: tallied
-- Tallies: is_started, status, disconnection_reason, settlement, transcript_state, caller_spoke
-- Needs: end, transcripts
-- Columns:
--   key                VARCHAR  -        the group that --by asks for
--   stage              VARCHAR  -        attempted, connected, conversed, contained or transferred
--   calls              BIGINT   count    calls that get there
--   attempted_percent  DOUBLE   percent  share of the attempted calls
--   connected_percent  DOUBLE   percent  share of the connected calls; null for attempted
--   unknown_calls      BIGINT   count    connected calls of which it is not known whether they conversed; null for the other stages

WITH counted AS (
    SELECT key,
        total_of(calls) AS attempted,
        sum_if(calls, is_connected) AS connected,
        sum_if(calls, is_conversed) AS conversed,
        sum_if(calls, is_connected AND NOT is_voicemail AND caller_spoke IS NOT TRUE
            AND (list_contains(['pending', 'missing', 'withheld'], transcript_state)
                OR transcript_state = 'present' AND caller_spoke IS NULL)) AS unknown,
        sum_if(calls, is_contained) AS contained,
        sum_if(calls, is_connected AND is_transferred) AS transferred
    FROM tallied
    GROUP BY key
), stages AS (
    SELECT counted.*, unnest([
        {'line': 1, 'stage': 'attempted', 'calls': attempted},
        {'line': 2, 'stage': 'connected', 'calls': connected},
        {'line': 3, 'stage': 'conversed', 'calls': conversed},
        {'line': 4, 'stage': 'contained', 'calls': contained},
        {'line': 5, 'stage': 'transferred', 'calls': transferred}]) AS s
    FROM counted
)
SELECT key, s.stage AS stage, s.calls AS calls,
    percent_of(s.calls, attempted) AS attempted_percent,
    CASE WHEN s.line > 1 THEN percent_of(s.calls, connected) END AS connected_percent,
    CASE WHEN s.line = 3 THEN unknown END AS unknown_calls
FROM stages
ORDER BY group_rank(attempted), key NULLS LAST, s.line
