-- volume: calls by hour and weekday: what staffing needs
--
-- Look at the hours with the highest peak: as many calls run at the same time. The calls
-- and minutes per day show how much work an hour brings on average, and transferred how
-- much of it reaches your people.
--
-- Hours and days are in the zone of --tz. Every hour with calls is a row. Calls without a start have their own row. per day is the mean
-- over the days on which the hour lies in the period: from --since, or the first call, to
-- --until or the end of the listed time. Calls and talk time count in the hour in which
-- the call starts. The peak is the maximum of simultaneous calls of the group, connected
-- or not, at the start of a call or just before the end of one.
--
-- Grain: one row per group, hour and day of the week that has calls
-- Reads: counted_calls of local_hour is_started status disconnection_reason settlement transcript_state caller_spoke short_step, selected
-- Needs: end, words, transcripts, duration
-- Keys: weekday, hour
-- Main: calls_per_day
-- Example: query volume --by agent --tz Asia/Seoul
-- Columns:
--   key                   VARCHAR  -                             group of --by
-- * weekday               ENUM     -                             day of the week, Monday first
-- * hour                  BIGINT   -                             hour of the day, 0 to 23
-- * calls_per_day         DOUBLE   number                        calls per day
-- * talk_minutes_per_day  DOUBLE   number                        talk time of the connected calls per day, in minutes
-- * transferred_per_day   DOUBLE   number                        transferred calls per day
-- * peak_calls            BIGINT   number                        maximum of simultaneous calls
--   calls                 BIGINT   count                         calls that start in it
--   days                  BIGINT   number                        days on which the hour lies in the period
--   share_percent         DOUBLE   percent of calls: sum(calls)  share of the group's calls
--   connected_calls       BIGINT   count                         connected calls
--   transferred_calls     BIGINT   count                         transferred calls
--   talk_ms               HUGEINT  ms                            talk time of the connected calls

WITH counted AS (
    SELECT key, weekday, local_hour AS hour,
        total_of(calls) AS calls,
        sum_if(calls, is_connected) AS connected_calls,
        sum_if(calls, outcome = 'transferred') AS transferred_calls,
        coalesce(sum(total_ms) FILTER (is_connected), 0) AS talk_ms
    FROM counted_calls
    GROUP BY key, weekday, local_hour
), period AS ( -- in hours since a Monday, so that an hour of the week is a remainder of 168
    SELECT CAST(floor(epoch(coalesce(local_time($selected_since), min(local_start))) / 3600) AS BIGINT) + 72 AS first,
        CAST(ceil(epoch(coalesce(local_time($period_until), max(local_start) + INTERVAL 1 HOUR)) / 3600) AS BIGINT) + 71 AS last
    FROM counted_calls
), groups AS ( -- from here on, the peaks: as in the report concurrency
    SELECT key, row_number() OVER () AS n
    FROM (SELECT DISTINCT key FROM counted)
), changes AS (
    SELECT n, 4 * epoch_ms(start_at) + unnest(CASE WHEN duration_ms > 0 THEN [2, 4 * duration_ms] ELSE [1] END) AS change
    FROM selected JOIN groups ON selected.key IS NOT DISTINCT FROM groups.key
    WHERE start_at IS NOT NULL AND duration_ms IS NOT NULL
), levels AS (
    SELECT n, change, change & 3 AS kind,
        sum(CAST(CASE change & 3 WHEN 2 THEN 1 WHEN 0 THEN -1 ELSE 0 END AS TINYINT)) OVER (ORDER BY n, change ROWS UNBOUNDED PRECEDING) AS level
    FROM changes
), heights AS (
    SELECT n, date_trunc('hour', local_time(make_timestamptz(1000 * ((change - kind) // 4 - CASE WHEN kind = 0 THEN 1 ELSE 0 END)))) AS step,
        max(CASE WHEN kind = 0 THEN level + 1 ELSE level END) AS peak
    FROM levels
    GROUP BY n, step
), peaks AS (
    SELECT n, weekday_of(step) AS weekday, hour(step) AS hour, CAST(max(peak) AS BIGINT) AS peak
    FROM heights
    GROUP BY ALL
), totals AS (
    SELECT counted.*, sum(calls) OVER (PARTITION BY counted.key) AS group_calls,
        CASE WHEN hour IS NOT NULL THEN greatest(1,
            CAST(floor((last - slot) / 168) - floor((first - 1 - slot) / 168) AS BIGINT)) END AS days,
        CASE WHEN hour IS NOT NULL THEN coalesce(peak, 0) END AS peak_calls
    FROM (SELECT *, 24 * enum_code(weekday) + hour AS slot FROM counted) counted CROSS JOIN period
        JOIN groups ON counted.key IS NOT DISTINCT FROM groups.key
        LEFT JOIN peaks USING (n, weekday, hour)
)
SELECT key, weekday, hour,
    calls / days AS calls_per_day,
    talk_ms / 60e3 / days AS talk_minutes_per_day,
    transferred_calls / days AS transferred_per_day,
    peak_calls, calls, days,
    percent_of(calls, group_calls) AS share_percent,
    connected_calls, transferred_calls, talk_ms
FROM totals
ORDER BY group_rank(group_calls, $largest_first), key NULLS LAST, weekday NULLS LAST, hour NULLS LAST
