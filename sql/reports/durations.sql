-- durations: how long calls last
--
-- Over the calls whose duration is known, connected or not; the handle time over
-- the connected ones. A percentile is the duration of a real call:
-- pNN is the shortest duration that at least NN % of the calls do not exceed
-- (nearest rank). Means are rounded to the millisecond, halves away from zero.
--
-- Grain: one row per group
-- Reads: tallied, selected_alone, selected_grouped
-- Tallies: duration_step, is_started, status, disconnection_reason
-- Needs: end, words, duration
-- Columns:
--   key              VARCHAR  -      the group that --by asks for
--   calls            BIGINT   count  calls
--   mean_ms          BIGINT   ms     mean duration
--   p50_ms           BIGINT   ms     median duration
--   p90_ms           BIGINT   ms     90th percentile
--   p95_ms           BIGINT   ms     95th percentile
--   p99_ms           BIGINT   ms     99th percentile
--   max_ms           BIGINT   ms     longest duration
--   handle_ms        BIGINT   ms     average handle time: mean duration of the connected calls
--   timed_calls      BIGINT   count  calls whose duration is known
--   connected_calls  BIGINT   count  of them those that somebody, or a machine, answered
--   total_ms         HUGEINT  ms     sum of the known durations

WITH summed AS (
    SELECT key,
        total_of(calls) AS calls,
        total_of(timed_calls) AS timed_calls,
        sum(total_ms) AS total_ms,
        max(max_ms) AS max_ms,
        sum_if(timed_calls, is_connected) AS connected_calls,
        sum(total_ms) FILTER (is_connected) AS talk_total_ms
    FROM tallied
    GROUP BY key
), reached AS ( -- of calls that are one group: in which step of 5 seconds a percentile lies
    SELECT duration_step, total_of(timed_calls) AS calls,
        sum(total_of(timed_calls)) OVER (ORDER BY duration_step) AS up_to, sum(total_of(timed_calls)) OVER () AS all_calls
    FROM tallied
    WHERE duration_step IS NOT NULL
    GROUP BY duration_step
), wanted AS (
    SELECT duration_step, percent, up_to - calls AS before, all_calls
    FROM reached, unnest([50, 90, 95, 99]) AS p(percent)
    WHERE 100 * up_to >= percent * all_calls AND 100 * (up_to - calls) < percent * all_calls
), lengths AS ( -- and how many calls of those steps last how long: a join over a dense range is quick
    SELECT duration_ms, count(*) AS calls
    FROM selected_alone JOIN (SELECT DISTINCT unnest(generate_series(duration_step - 4999, duration_step + 4999)) AS ms FROM wanted) ON duration_ms = ms
    GROUP BY duration_ms
), ranked AS (
    SELECT percent, all_calls, duration_ms,
        before + sum(lengths.calls) OVER (PARTITION BY percent ORDER BY duration_ms) AS so_far
    FROM wanted JOIN lengths ON duration_ms // 5000 * 5000 = duration_step
), percentiles AS (
    SELECT CAST(NULL AS VARCHAR) AS key, [
        min(duration_ms) FILTER (percent = 50 AND 100 * so_far >= 50 * all_calls),
        min(duration_ms) FILTER (percent = 90 AND 100 * so_far >= 90 * all_calls),
        min(duration_ms) FILTER (percent = 95 AND 100 * so_far >= 95 * all_calls),
        min(duration_ms) FILTER (percent = 99 AND 100 * so_far >= 99 * all_calls)] AS p
    FROM ranked
    HAVING count(*) > 0
    UNION ALL
    SELECT CAST(key AS VARCHAR), quantile_disc(duration_ms, [0.50, 0.90, 0.95, 0.99])
    FROM selected_grouped
    GROUP BY key
)
SELECT summed.key, calls,
    mean_of(total_ms, timed_calls) AS mean_ms,
    p[1] AS p50_ms, p[2] AS p90_ms, p[3] AS p95_ms, p[4] AS p99_ms, max_ms,
    mean_of(talk_total_ms, connected_calls) AS handle_ms,
    timed_calls, connected_calls, total_ms
FROM summed LEFT JOIN percentiles ON CAST(summed.key AS VARCHAR) IS NOT DISTINCT FROM percentiles.key
ORDER BY group_rank(calls), summed.key NULLS LAST
