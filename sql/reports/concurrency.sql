-- concurrency: simultaneous calls: the peak of each day, hour or minute
--
-- Look at the peak, and compare it with your account's limit of simultaneous calls.
-- --every hour shows when it is reached.
--
-- A call counts from its start until its duration is over, connected or not, excluding the
-- moment of its end. A call of duration 0 counts in its step but not in a peak. Calls of
-- unknown duration (in progress, or without an end) are not counted; the coverage line
-- reports those that are over. A call belongs to every step that it reaches into, but
-- calls that start before --since are left out.
--
-- A peak of calls that go on from before the step is at its start.
--
-- Steps are local days, or hours or minutes with --every; a repeated hour is one step. A
-- step in which no call starts or ends has no row. With --by each group has its own peak;
-- the peak of all is not their sum.
--
-- Grain: one row per group and step of time
-- Reads: selected
-- Flags: every
-- Needs: end, duration
-- Example: query concurrency --every hour --since 7d
-- Columns:
--   key         VARCHAR    -      group of --by
-- * step        TIMESTAMP  -      start of the local day, hour or minute
-- * calls       BIGINT     count  calls of known duration that start in it
-- * peak_calls  BIGINT     count  maximum of simultaneous calls
-- * peak_at     TIMESTAMP WITH TIME ZONE  -  time of the first maximum; null: no call lasts in it

WITH groups AS (
    SELECT key, row_number() OVER () AS n
    FROM (SELECT DISTINCT key FROM selected)
), lasting AS (
    SELECT n, epoch_ms(start_at) AS ms, duration_ms
    FROM selected JOIN groups ON selected.key IS NOT DISTINCT FROM groups.key
    WHERE start_at IS NOT NULL AND duration_ms IS NOT NULL
), changes AS ( -- order at the same moment: an end (0), a call of duration 0 (1), a start (2)
    SELECT n, 4 * ms + CASE WHEN duration_ms > 0 THEN 2 ELSE 1 END AS change FROM lasting
    UNION ALL
    SELECT n, 4 * (ms + duration_ms) FROM lasting WHERE duration_ms > 0
), levels AS ( -- the sum is 0 again at the end of a group. Partitions would take five times as long
    SELECT n, change, change & 3 AS kind,
        sum(CAST(CASE change & 3 WHEN 2 THEN 1 WHEN 0 THEN -1 ELSE 0 END AS TINYINT)) OVER (ORDER BY n, change ROWS UNBOUNDED PRECEDING) AS level
    FROM changes
), reached AS ( -- the level after a start, and before an end, in the millisecond before it
    SELECT n, change, kind, (change - kind) // 4 - CASE WHEN kind = 0 THEN 1 ELSE 0 END AS ms,
        CASE WHEN kind = 0 THEN level + 1 ELSE level END AS height
    FROM levels
), heights AS (
    SELECT n, date_trunc($every, local_time(make_timestamptz(1000 * ms))) AS step, height,
        count(*) FILTER (kind <> 0) AS calls,
        min(change) AS first
    FROM reached
    GROUP BY n, step, height
), peaks AS (
    SELECT n, step, total_of(calls) AS calls, max(height) AS peak, arg_max(first, height) AS first
    FROM heights
    GROUP BY n, step
)
SELECT key, step, calls,
    CAST(peak AS BIGINT) AS peak_calls,
    CASE WHEN peak > 0 THEN make_timestamptz(1000 * CASE WHEN first & 3 = 2 THEN ms
        ELSE guess + epoch_ms(step) - epoch_ms(local_time(make_timestamptz(1000 * guess))) END) END AS peak_at
FROM (SELECT *, ms + epoch_ms(step) - epoch_ms(local_time(make_timestamptz(1000 * ms))) AS guess -- repeated for a change of the clocks
    FROM (SELECT *, first // 4 - CASE first & 3 WHEN 0 THEN 1 ELSE 0 END AS ms FROM peaks)) JOIN groups USING (n)
ORDER BY group_rank(sum(calls) OVER (PARTITION BY n), $largest_first), key NULLS LAST, step
