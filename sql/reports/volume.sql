-- volume: when calls come: by hour of the day and day of the week
--
-- Hours and days are those of the zone that --tz names. On a terminal it is
-- drawn as a heat map; elsewhere every hour with calls is a row. Calls without a
-- start have a row of their own.
--
-- Grain: one row per group, hour and day of the week that has calls
-- Reads: selected
-- Map: hour, weekday, calls
-- Columns:
--   key              VARCHAR  -        the group that --by asks for
--   weekday          ENUM     -        day of the week, Monday first
--   hour             BIGINT   -        hour of the day, 0 to 23
--   calls            BIGINT   count    calls that start in it
--   share_percent    DOUBLE   percent  share of the group's calls
--   connected_calls  BIGINT   count    calls that somebody, or a machine, answered

-- By date first: a weekday has a name, and a name for every call takes time.
WITH by_date AS (
    SELECT key, local_date, local_hour AS hour,
        count(*) AS calls,
        count(*) FILTER (is_connected) AS connected_calls
    FROM selected
    GROUP BY key, local_date, local_hour
), counted AS (
    SELECT key, CAST(dayname(local_date) AS weekday_name) AS weekday, hour,
        CAST(sum(calls) AS BIGINT) AS calls,
        CAST(sum(connected_calls) AS BIGINT) AS connected_calls
    FROM by_date
    GROUP BY ALL
), totals AS (
    SELECT *, sum(calls) OVER (PARTITION BY key) AS group_calls
    FROM counted
)
SELECT key, weekday, hour, calls,
    percent_of(calls, group_calls) AS share_percent,
    connected_calls
FROM totals
ORDER BY group_rank(group_calls), key NULLS LAST, weekday NULLS LAST, hour NULLS LAST
