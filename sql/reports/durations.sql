-- durations: handle time, percentiles and maximum of call durations
--
-- Look at the median and the p90: a few very long calls move a mean, but not these. If
-- the p90 grows while the median stays, some calls get stuck.
--
-- Calls with a known duration are counted, connected or not; in addition the percentiles
-- of connected calls, and the handle time of connected calls without voicemail. A
-- percentile is the duration of a real call: pNN is the shortest duration that at least NN
-- % of the calls do not exceed (nearest rank). Means are rounded to the millisecond,
-- halves away from zero.
--
-- With --steps the report has other rows: for each step of 5 seconds that has calls, its
-- start, calls, their share and the share up to the end of the step.
--
-- Grain: one row per group
-- Reads: selected
-- Flags: steps
-- Needs: end, words, duration
-- Example: query durations --by metadata.campaign --format csv --output durations.csv
-- Columns:
--   key               VARCHAR  -                   group of --by
-- * calls             BIGINT   count               calls
--   mean_ms           BIGINT   ms: all_spread      mean duration
-- * p50_ms            BIGINT   ms                  median duration
-- * p90_ms            BIGINT   ms                  90th percentile
-- * p95_ms            BIGINT   ms                  95th percentile
--   p99_ms            BIGINT   ms                  99th percentile
-- * max_ms            BIGINT   ms                  longest duration
--   connected_p50_ms  BIGINT   ms                  median duration of the connected calls
--   connected_p90_ms  BIGINT   ms                  90th percentile of it
--   connected_p95_ms  BIGINT   ms                  95th percentile of it
--   connected_p99_ms  BIGINT   ms                  99th percentile of it
-- * handle_ms         BIGINT   ms: handled_spread  average handle time: mean duration of the connected calls, without voicemail
--   timed_calls       BIGINT   count               calls whose duration is known
--   connected_calls   BIGINT   count               connected calls of known duration
--   handled_calls     BIGINT   count               calls that handle_ms is the mean of
--   total_ms          HUGEINT  ms                  sum of the known durations

WITH counted AS (
    SELECT key,
        count(*) AS calls,
        count(duration_ms) AS timed_calls,
        sum(duration_ms) AS total_ms,
        max(duration_ms) AS max_ms,
        quantile_disc(duration_ms, [0.50, 0.90, 0.95, 0.99]) AS p,
        quantile_disc(duration_ms, [0.50, 0.90, 0.95, 0.99]) FILTER (is_connected) AS c,
        count(duration_ms) FILTER (is_connected) AS connected_calls,
        count(duration_ms) FILTER (is_connected AND NOT is_voicemail) AS handled_calls,
        sum(duration_ms) FILTER (is_connected AND NOT is_voicemail) AS handled_ms,
        sum(pow(duration_ms, 2)) AS squares, sum(pow(duration_ms, 3)) AS cubes,
        sum(pow(duration_ms, 2)) FILTER (is_connected AND NOT is_voicemail) AS handled_squares,
        sum(pow(duration_ms, 3)) FILTER (is_connected AND NOT is_voicemail) AS handled_cubes
    FROM selected
    GROUP BY key
)
SELECT key, calls,
    mean_of(total_ms, timed_calls) AS mean_ms,
    p[1] AS p50_ms, of_20(p[2], timed_calls) AS p90_ms, of_20(p[3], timed_calls) AS p95_ms, of_100(p[4], timed_calls) AS p99_ms, max_ms,
    c[1] AS connected_p50_ms, of_20(c[2], connected_calls) AS connected_p90_ms, of_20(c[3], connected_calls) AS connected_p95_ms,
    of_100(c[4], connected_calls) AS connected_p99_ms,
    mean_of(handled_ms, handled_calls) AS handle_ms,
    timed_calls, connected_calls, handled_calls, total_ms,
    spread_of(timed_calls, total_ms, squares, cubes) AS all_spread,
    spread_of(handled_calls, handled_ms, handled_squares, handled_cubes) AS handled_spread
FROM counted
ORDER BY group_rank(calls, $largest_first), key NULLS LAST
