-- durations: mean, percentiles and maximum of call durations
--
-- Calls with a known duration are counted, connected or not; in addition the percentiles
-- of connected calls, and the handle time of connected calls without voicemail. A
-- percentile is the duration of a real call: pNN is the shortest duration that at least NN
-- % of the calls do not exceed (nearest rank). Means are rounded to the millisecond,
-- halves away from zero.
--
-- Grain: one row per group
-- Reads: tallied, selected_alone, selected_grouped
-- Tallies: duration_step, is_started, status, disconnection_reason
-- Needs: end, words, duration
-- Means: mean_ms of all_spread, handle_ms of handled_spread
-- Example: query durations --by metadata.campaign --format csv --output durations.csv
-- Columns:
--   key              VARCHAR  -      group of --by
--   calls            BIGINT   count  calls
--   mean_ms          BIGINT   ms     mean duration
--   p50_ms           BIGINT   ms     median duration
--   p90_ms           BIGINT   ms     90th percentile
--   p95_ms           BIGINT   ms     95th percentile
--   p99_ms           BIGINT   ms     99th percentile
--   max_ms           BIGINT   ms     longest duration
--   connected_p50_ms  BIGINT  ms     median duration of the connected calls
--   connected_p90_ms  BIGINT  ms     90th percentile of it
--   connected_p95_ms  BIGINT  ms     95th percentile of it
--   connected_p99_ms  BIGINT  ms     99th percentile of it
--   handle_ms        BIGINT   ms     average handle time: mean duration of the connected calls, without voicemail
--   timed_calls      BIGINT   count  calls whose duration is known
--   connected_calls  BIGINT   count  connected calls of known duration
--   total_ms         HUGEINT  ms     sum of the known durations

WITH summed AS (
    SELECT key,
        total_of(calls) AS calls,
        total_of(timed_calls) AS timed_calls,
        sum(total_ms) AS total_ms,
        max(max_ms) AS max_ms,
        sum_if(timed_calls, is_connected) AS connected_calls,
        sum_if(timed_calls, is_connected AND NOT is_voicemail) AS handled_calls,
        sum(total_ms) FILTER (is_connected AND NOT is_voicemail) AS handled_ms,
        sum(ms_squares) AS squares, sum(ms_cubes) AS cubes,
        sum(ms_squares) FILTER (is_connected AND NOT is_voicemail) AS handled_squares,
        sum(ms_cubes) FILTER (is_connected AND NOT is_voicemail) AS handled_cubes
    FROM tallied
    GROUP BY key
), counted AS ( -- all calls, and the connected ones, by duration in steps of 5 seconds
    SELECT duration_step, unnest([false, true]) AS connected,
        unnest([total_of(timed_calls), sum_if(timed_calls, is_connected)]) AS calls
    FROM tallied
    WHERE duration_step IS NOT NULL
    GROUP BY duration_step
), reached AS ( -- without groups: the step of each percentile
    SELECT *, sum(calls) OVER (PARTITION BY connected ORDER BY duration_step) AS up_to, sum(calls) OVER (PARTITION BY connected) AS all_calls
    FROM counted
), wanted AS (
    SELECT duration_step, connected, percent, up_to - calls AS before, all_calls
    FROM reached, unnest([50, 90, 95, 99]) AS p(percent)
    WHERE 100 * up_to >= percent * all_calls AND 100 * (up_to - calls) < percent * all_calls
), mixed AS ( -- steps with both connected and other calls
    SELECT duration_step FROM counted GROUP BY duration_step HAVING min(calls) <> max(calls)
), lengths AS ( -- numbers of calls by duration within those steps: a join over a dense range is fast
    SELECT duration_ms, count(*) AS calls
    FROM selected_alone JOIN (SELECT DISTINCT unnest(generate_series(duration_step - 4999, duration_step + 4999)) AS ms FROM wanted) ON duration_ms = ms
    GROUP BY duration_ms
), connected_lengths AS ( -- reads three more columns, or nothing if there is no such step
    SELECT duration_ms, count(*) FILTER (call_connected(start_at IS NOT NULL, status, disconnection_reason)) AS calls
    FROM selected_alone JOIN (
        SELECT DISTINCT unnest(generate_series(duration_step - 4999, duration_step + 4999)) AS ms
        FROM wanted JOIN mixed USING (duration_step)
        WHERE connected
    ) ON duration_ms = ms
    GROUP BY duration_ms
), each_length AS (
    SELECT false AS connected, duration_ms, calls FROM lengths
    UNION ALL
    SELECT true, duration_ms, calls FROM lengths ANTI JOIN mixed ON duration_ms // 5000 * 5000 = duration_step
    UNION ALL
    SELECT true, duration_ms, calls FROM connected_lengths SEMI JOIN mixed ON duration_ms // 5000 * 5000 = duration_step
), ranked AS (
    SELECT connected, percent, all_calls, duration_ms,
        before + sum(each_length.calls) OVER (PARTITION BY connected, percent ORDER BY duration_ms) AS so_far
    FROM wanted JOIN each_length USING (connected)
    WHERE duration_ms // 5000 * 5000 = duration_step
), found AS (
    SELECT connected, percent, min(duration_ms) AS ms
    FROM ranked
    WHERE 100 * so_far >= percent * all_calls
    GROUP BY connected, percent
), percentiles AS (
    SELECT NULL AS key,
        list(ms ORDER BY percent) FILTER (NOT connected) AS p,
        list(ms ORDER BY percent) FILTER (connected) AS c
    FROM found
    HAVING count(*) > 0
    UNION ALL
    SELECT key, quantile_disc(duration_ms, [0.50, 0.90, 0.95, 0.99]),
        quantile_disc(duration_ms, [0.50, 0.90, 0.95, 0.99]) FILTER (call_connected(start_at IS NOT NULL, status, disconnection_reason))
    FROM selected_grouped
    GROUP BY key
)
SELECT summed.key, calls,
    mean_of(total_ms, timed_calls) AS mean_ms,
    p[1] AS p50_ms, p[2] AS p90_ms, p[3] AS p95_ms, p[4] AS p99_ms, max_ms,
    c[1] AS connected_p50_ms, c[2] AS connected_p90_ms, c[3] AS connected_p95_ms, c[4] AS connected_p99_ms,
    mean_of(handled_ms, handled_calls) AS handle_ms,
    timed_calls, connected_calls, total_ms,
    spread_of(timed_calls, total_ms, squares, cubes) AS all_spread,
    spread_of(handled_calls, handled_ms, handled_squares, handled_cubes) AS handled_spread
FROM summed LEFT JOIN percentiles ON summed.key IS NOT DISTINCT FROM percentiles.key
ORDER BY group_rank(calls), summed.key NULLS LAST
