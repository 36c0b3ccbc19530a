-- durations: call durations in steps of 5 seconds
--
-- Calls with a known duration are counted, connected or not. A call of exactly 10 seconds
-- is in the step that begins there. Steps without calls have no row.
--
-- Grain: one row per group and step of 5 seconds that has calls
-- Reads: counted_calls of duration_step is_started status disconnection_reason
-- Needs: end, words, duration
-- Keys: from_ms
-- Example: query durations --steps --by agent
-- Columns:
--   key              VARCHAR  -                             group of --by
-- * from_ms          BIGINT   ms                            start of the step
-- * calls            BIGINT   count                         calls of at least this duration and less than 5 seconds more
-- * share_percent    DOUBLE   percent of timed: sum(calls)  share of the group's calls whose duration is known
-- * up_to_percent    DOUBLE   percent of timed              cumulative share up to the end of this step
-- * connected_calls  BIGINT   count                         connected calls

WITH counted AS (
    SELECT key, duration_step AS from_ms,
        total_of(calls) AS calls,
        sum_if(calls, is_connected) AS connected_calls
    FROM counted_calls
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
ORDER BY group_rank(group_calls, $largest_first), key NULLS LAST, from_ms
