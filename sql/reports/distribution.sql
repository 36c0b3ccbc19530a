-- distribution: how durations spread: how many calls last how long, in steps of 5 seconds
--
-- Over the calls whose duration is known, connected or not. A call of exactly
-- 10 seconds is in the step that begins there. Steps without calls have no row.
--
-- Grain: one row per group and step of 5 seconds that has calls
-- Reads: tallied
-- Tallies: duration_step, is_started, status, disconnection_reason
-- Needs: end, words, duration
-- Keys: from_ms
-- Shares: share_percent of sum(calls)
-- Example: query distribution --by agent
-- Columns:
--   key              VARCHAR  -        the group that --by asks for
--   from_ms          BIGINT   ms       the least that calls of the step last
--   calls            BIGINT   count    calls that last so long, and less than 5 seconds longer
--   share_percent    DOUBLE   percent of timed  share of the group's calls whose duration is known
--   up_to_percent    DOUBLE   percent of timed  share of them that end within this step or before
--   connected_calls  BIGINT   count    calls that somebody, or a machine, answered

WITH counted AS (
    SELECT key, duration_step AS from_ms,
        total_of(calls) AS calls,
        sum_if(calls, is_connected) AS connected_calls
    FROM tallied
    WHERE duration_step IS NOT NULL
    GROUP BY key, duration_step
), totals AS (
    SELECT *,
        sum(calls) OVER (PARTITION BY key) AS group_calls,
        sum(calls) OVER (PARTITION BY key ORDER BY from_ms) AS so_far
    FROM counted
)
SELECT key, from_ms, calls,
    percent_of(calls, group_calls) AS share_percent,
    percent_of(so_far, group_calls) AS up_to_percent,
    connected_calls
FROM totals
ORDER BY group_rank(group_calls), key NULLS LAST, from_ms
