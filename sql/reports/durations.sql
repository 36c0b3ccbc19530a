-- durations: how long calls last
--
-- Over the calls whose duration is known, connected or not; the handle time over
-- the connected ones. A percentile is the duration of a real call:
-- pNN is the shortest duration that at least NN % of the calls do not exceed
-- (nearest rank). Means are rounded to the millisecond, halves away from zero.
--
-- Grain: one row per group
-- Reads: selected
-- Needs: end, duration
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

WITH measured AS (
    SELECT key,
        count(*) AS calls,
        count(duration_ms) AS timed_calls,
        sum(duration_ms) AS total_ms,
        quantile_disc(duration_ms, [0.50, 0.90, 0.95, 0.99]) AS p,
        max(duration_ms) AS max_ms,
        count(talk_ms) AS connected_calls,
        sum(talk_ms) AS talk_total_ms
    FROM selected
    GROUP BY key
)
SELECT key, calls,
    mean_of(total_ms, timed_calls) AS mean_ms,
    p[1] AS p50_ms, p[2] AS p90_ms, p[3] AS p95_ms, p[4] AS p99_ms, max_ms,
    mean_of(talk_total_ms, connected_calls) AS handle_ms,
    timed_calls, connected_calls, total_ms
FROM measured
ORDER BY group_rank(calls), key NULLS LAST
