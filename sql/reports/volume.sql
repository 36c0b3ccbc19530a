-- volume: calls by hour and weekday
--
-- Hours and days are in the zone of --tz. A terminal draws a heat map; elsewhere every
-- hour with calls is a row. Calls without a start have their own row.
--
-- Grain: one row per group, hour and day of the week that has calls
-- Reads: counted_calls of local_hour is_started status disconnection_reason
-- Needs: words
-- Example: query volume --by agent --tz Asia/Seoul
-- Columns:
--   key              VARCHAR  -                             group of --by
-- * weekday          ENUM     -                             day of the week, Monday first
-- * hour             BIGINT   -                             hour of the day, 0 to 23
-- * calls            BIGINT   count                         calls that start in it
-- * share_percent    DOUBLE   percent of calls: sum(calls)  share of the group's calls
-- * connected_calls  BIGINT   count                         connected calls

WITH counted AS (
    SELECT key, weekday, local_hour AS hour,
        total_of(calls) AS calls,
        sum_if(calls, is_connected) AS connected_calls
    FROM counted_calls
    GROUP BY key, weekday, local_hour
), totals AS (
    SELECT *, sum(calls) OVER (PARTITION BY key) AS group_calls
    FROM counted
)
SELECT key, weekday, hour, calls,
    percent_of(calls, group_calls) AS share_percent,
    connected_calls
FROM totals
ORDER BY group_rank(group_calls, $largest_first), key NULLS LAST, weekday NULLS LAST, hour NULLS LAST
