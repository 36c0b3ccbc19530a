-- concurrency: calls at once: the peak of each day, or of each hour or minute
--
-- A call counts from its start until its duration is over, connected or not:
-- also one that rings takes a line. The moment of its end is no part of it. A call
-- whose duration is not known (it still goes on, or its end was never told) counts
-- nowhere; the line on coverage tells of those that are over. A call belongs to
-- every step of time that it reaches into, wherever it began, but calls that
-- start before --since are left out, also where they go on.
--
-- The steps are days of the wall clock or, with --every hour or --every minute,
-- those; an hour that the clocks repeat is one step. A step in which no call starts
-- or ends has no row. --by has calls at once of each group apart: the peak of
-- all is no sum of them.
--
-- Grain: one row per group and step of time
-- Reads: selected, tallied
-- Flags: every
-- Needs: end, duration
-- Example: query concurrency --every hour --since 7d
-- Columns:
--   key         VARCHAR    -      the group that --by asks for
--   step        TIMESTAMP  -      the day (hour, minute) by the wall clock: its beginning
--   calls       BIGINT     count  calls that start in it
--   peak_calls  BIGINT     count  most calls at once
--   peak_at     TIMESTAMP WITH TIME ZONE  -  when so many were going for the first time; null: those that were going when the step began

WITH groups AS (
    SELECT key, row_number() OVER () AS n
    FROM (SELECT DISTINCT key FROM tallied)
), lasting AS (
    SELECT n, epoch_ms(start_at) AS ms, duration_ms
    FROM selected JOIN groups ON selected.key IS NOT DISTINCT FROM groups.key
    WHERE start_at IS NOT NULL AND duration_ms > 0
), changes AS ( -- of two at the same moment an end comes before a start: it is the smaller number
    SELECT n, 2 * ms + 1 AS change FROM lasting
    UNION ALL
    SELECT n, 2 * (ms + duration_ms) FROM lasting
), levels AS ( -- at the end of a group the sum is 0 again. As partitions the groups take five times as long
    SELECT n, change, change & 1 = 1 AS is_start,
        sum(CAST(CASE WHEN change & 1 = 1 THEN 1 ELSE -1 END AS TINYINT)) OVER (ORDER BY n, change ROWS UNBOUNDED PRECEDING) AS level
    FROM changes
), heights AS ( -- what a start leads to, and what was until an end: that lasted at least the millisecond before
    SELECT n,
        date_trunc(getvariable('every'), local_time(make_timestamptz(1000 * CASE WHEN is_start THEN (change - 1) // 2 ELSE change // 2 - 1 END))) AS step,
        CASE WHEN is_start THEN level ELSE level + 1 END AS height,
        count(*) FILTER (is_start) AS calls,
        min(change) AS first
    FROM levels
    GROUP BY n, step, height
), peaks AS (
    SELECT n, step, total_of(calls) AS calls, max(height) AS peak, arg_max(first, height) AS first
    FROM heights
    GROUP BY n, step
)
SELECT key, step, calls,
    CAST(peak AS BIGINT) AS peak_calls,
    CASE WHEN first & 1 = 1 THEN make_timestamptz(1000 * ((first - 1) // 2)) END AS peak_at
FROM peaks JOIN groups USING (n)
ORDER BY group_rank(sum(calls) OVER (PARTITION BY n)), key NULLS LAST, step
