-- anomalies: days that differ from their past
--
-- Look at the highest score: that day differs most from its own past. Then ask outcomes
-- and disconnections about that day, by agent.
--
-- Every day is judged by five measures against the same weekday of the 8 weeks before, at
-- least 4 of them; otherwise against the latest 28 days of its kind (Monday to Friday, or
-- weekend) in these weeks, at least 8 of them. With --by each group is judged by its own
-- past. A day without calls between a group's first and last counts as 0 calls, if the
-- group can have calls on it: a group of Mondays has Mondays only.
--
-- usual is the median of the past. The distance of a day from it is measured in steps, the
-- difference that chance alone gives: √usual for the number of calls (at least 1),
-- √(p(1-p)/n) for a share of the day's n calls (p is the usual share after adding one call
-- of either kind), and usual / √n for the handle time; times √(1 + π/2k), since usual is
-- itself known from k days only. A deviation is 1.4826 times the median distance of the days
-- of its kind in the 8 weeks before, each from its own past; while fewer than 8 of these
-- have a past, of the days of the past from usual, in the day's own steps without that
-- factor. It is at least one step, and for the handle time at least a tenth of usual.
-- score is the distance in deviations; a day is off from 3.5 on. Shares and times of fewer
-- than 20 calls are neither judged nor part of a past. Days whose calls are not listed do
-- not count.
--
-- --since and --until select the days that are judged. Their past begins earlier.
--
-- Grain: one row per group, day and measure that is off
-- Reads: counted_calls of local_date user_sentiment is_started status disconnection_reason settlement transcript_state caller_spoke short_step from 120 days before
-- Needs: end, words, transcripts, duration, analysis
-- Empty: no day with enough of a past is off it; days with less are not judged
-- Example: query anomalies --by agent --since 28d
-- Columns:
--   key      VARCHAR  -      group of --by
-- * day      DATE     -      day in the zone of --tz
-- * measure  VARCHAR  -      calls, connected_percent, completed_percent, negative_percent or handle_ms
-- * value    DOUBLE   number  value of the day
-- * usual    DOUBLE   number  usual value
-- * score    DOUBLE   points  distance from usual in deviations; negative: below
-- * n        BIGINT   count  calls that the value is computed from
--   past     BIGINT   count  days of the past

WITH by_day AS (
    SELECT key, local_date AS day,
        total_of(calls) AS calls,
        sum_if(calls, is_connected) AS connected,
        sum_if(calls, is_answered) AS answered,
        sum_if(calls, is_completed) AS completed,
        sum_if(calls, user_sentiment IS NOT NULL AND NOT is_voicemail) AS rated,
        sum_if(calls, user_sentiment = 'negative' AND NOT is_voicemail) AS negative,
        sum_if(timed_calls, is_connected AND NOT is_voicemail) AS timed,
        sum(total_ms) FILTER (is_connected AND NOT is_voicemail) AS total_ms
    FROM counted_calls
    WHERE is_started
        AND local_date >= coalesce($whole_from, local_date)
        AND local_date < coalesce($whole_until, local_date + 1)
    GROUP BY key, local_date
), spans AS (
    SELECT key, CAST(unnest(generate_series(min(day), max(day), INTERVAL 1 DAY)) AS DATE) AS day
    FROM by_day
    GROUP BY key
), days AS (
    SELECT s.key AS key, s.day AS day, isodow(s.day) AS weekday, d.* EXCLUDE (key, day)
    FROM (FROM spans WHERE $possible) s LEFT JOIN by_day d ON d.key IS NOT DISTINCT FROM s.key AND d.day = s.day
), measured AS (
    SELECT key, day, weekday, unnest([
        {'measure': 'calls', 'n': coalesce(calls, 0), 'value': CAST(coalesce(calls, 0) AS DOUBLE)},
        {'measure': 'connected_percent', 'n': calls, 'value': percent_of(connected, calls)},
        {'measure': 'completed_percent', 'n': answered, 'value': percent_of(completed, answered)},
        {'measure': 'negative_percent', 'n': rated, 'value': percent_of(negative, rated)},
        {'measure': 'handle_ms', 'n': timed, 'value': CAST(mean_of(total_ms, timed) AS DOUBLE)}], recursive := true)
    FROM days
), judged AS (
    SELECT *, weekday > 5 AS is_weekend
    FROM measured
    WHERE measure = 'calls' OR n >= 20
), pasts AS (
    SELECT *,
        list(value) OVER (PARTITION BY key, measure, weekday ORDER BY day RANGE BETWEEN INTERVAL 56 DAY PRECEDING AND INTERVAL 1 DAY PRECEDING) AS alike,
        list(value) OVER (PARTITION BY key, measure, is_weekend ORDER BY day RANGE BETWEEN INTERVAL 56 DAY PRECEDING AND INTERVAL 1 DAY PRECEDING) AS kind
    FROM judged
), usuals AS (
    SELECT * EXCLUDE (alike, kind, past), past, median_of(past) AS usual
    FROM (SELECT *, CASE WHEN len(alike) >= 4 THEN alike WHEN len(kind) >= 8 THEN kind[-28:] END AS past FROM pasts)
), distances AS (
    SELECT *,
        CASE measure
            WHEN 'calls' THEN sqrt(greatest(usual, 1))
            WHEN 'handle_ms' THEN usual / sqrt(n)
            ELSE 100e0 * chance(usual, n)
        END AS step,
        sqrt(1 + pi() / 2 / len(past)) * step AS known_step,
        (value - usual) / nullif(known_step, 0) AS distance
    FROM usuals
), deviations AS (
    SELECT *,
        list(abs(distance)) FILTER (distance IS NOT NULL)
            OVER (PARTITION BY key, measure, is_weekend ORDER BY day RANGE BETWEEN INTERVAL 56 DAY PRECEDING AND INTERVAL 1 DAY PRECEDING) AS before
    FROM distances
), scored AS (
    SELECT * EXCLUDE (past), len(past) AS past,
        1.4826e0 * CASE WHEN len(before) >= 8 THEN median_of(before) ELSE median_of(list_transform(past, v -> abs(v - usual) / step)) END AS overdispersion,
        greatest(greatest(overdispersion, 1) * known_step, CASE measure WHEN 'handle_ms' THEN usual / 10 ELSE 0 END) AS deviation
    FROM deviations
    WHERE usual IS NOT NULL AND step > 0 AND day >= coalesce($judged_from, day)
), numbers AS ( -- for the remark on the answer
    SELECT (SELECT count(*) FROM (SELECT DISTINCT key FROM days WHERE day >= coalesce($judged_from, day))) AS groups,
        (SELECT count(*) FROM days WHERE day >= coalesce($judged_from, day)) AS days,
        count(*) FILTER (measure = 'calls') AS by_calls,
        (SELECT count(*) FROM (SELECT DISTINCT key, day FROM scored WHERE measure <> 'calls')) AS by_shares
    FROM scored
)
SELECT key, day, measure, value, usual, (value - usual) / deviation AS score, n, past
FROM scored
WHERE abs(value - usual) >= 3.5 * deviation
ORDER BY day DESC, key NULLS LAST, measure
