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
-- pending, missing or withheld: those are told apart, and do not count.
--
-- Grain: one row per group and stage
-- Reads: selected, selected_turns
-- Needs: end, transcripts
-- Columns:
--   key                VARCHAR  -        the group that --by asks for
--   stage              VARCHAR  -        attempted, connected, conversed, contained or transferred
--   calls              BIGINT   count    calls that get there
--   attempted_percent  DOUBLE   percent  share of the attempted calls
--   connected_percent  DOUBLE   percent  share of the connected calls; null for attempted
--   unknown_calls      BIGINT   count    connected calls of which it is not known whether they conversed; null for the other stages

WITH spoke AS (
    SELECT DISTINCT call_id
    FROM selected_turns
    WHERE role = 'user' AND not_blank(content)
), counted AS (
    SELECT key,
        count(*) AS attempted,
        count(*) FILTER (is_connected) AS connected,
        count(*) FILTER (is_connected AND NOT is_voicemail AND spoke.call_id IS NOT NULL) AS conversed,
        count(*) FILTER (is_connected AND NOT is_voicemail AND spoke.call_id IS NULL
            AND list_contains(['pending', 'missing', 'withheld'], transcript_state)) AS unknown,
        count(*) FILTER (is_contained) AS contained,
        count(*) FILTER (is_connected AND is_transferred) AS transferred
    FROM selected LEFT JOIN spoke USING (call_id)
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
