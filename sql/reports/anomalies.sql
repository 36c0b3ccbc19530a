-- anomalies: days that are off their own past
--
-- Every day is judged by five measures against the latest 28 earlier days of its
-- kind (Monday to Friday, or weekend) within 8 weeks, of which there must be 8.
-- With --by agent each agent is judged against its own past, and so on. A day
-- without calls between a group's first and last counts, as 0 calls, if the group
-- could have calls on it: the group of Mondays has Mondays alone.
--
-- usual is the median of the past; its spread is 1.4826 times the median of the
-- distances from it (MAD), which no single bad day moves, but at least what
-- chance alone would give: √usual for the number of calls (at least 1), √(p(1-p)/n)
-- for a share of the day's n (p being the usual share, drawn a little to one half:
-- one more of either kind), a tenth of the usual handle time. score is the
-- distance from the usual in spreads; a day is off from 3.5 on. Shares and times
-- of fewer than 20 calls are neither judged nor part of a past. Days of which
-- calls are not listed, or left out by --since and --until, do not count.
--
-- Grain: one row per group, day and measure that is off
-- Reads: tallied
-- Tallies: local_date, user_sentiment, is_started, status, disconnection_reason, settlement, transcript_state, caller_spoke, short_step
-- Needs: end, words, transcripts, duration, analysis
-- Empty: no day is off its past
-- Example: query anomalies --by agent --since 30d
-- Columns:
--   key      VARCHAR  -      the group that --by asks for
--   day      DATE     -      the day, in the zone of --tz
--   measure  VARCHAR  -      calls, connected_percent, completed_percent, negative_percent or handle_ms
--   value    DOUBLE   number  what it was
--   usual    DOUBLE   number  what it usually is
--   score    DOUBLE   points  how many spreads it is above (below: negative)
--   n        BIGINT   count  the calls that the value is of
--   past     BIGINT   count  days that it is compared with

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
    FROM tallied
    WHERE is_started
        AND local_date >= coalesce(getvariable('whole_from'), local_date)
        AND local_date < coalesce(getvariable('whole_until'), local_date + 1)
    GROUP BY key, local_date
), spans AS (
    SELECT key, unnest(generate_series(min(day), max(day), INTERVAL 1 DAY)) AS at
    FROM by_day
    GROUP BY key
), days AS (
    SELECT s.key AS key, CAST(s.at AS DATE) AS day, isodow(s.at) > 5 AS is_weekend, d.* EXCLUDE (key, day)
    FROM spans s LEFT JOIN by_day d ON d.key IS NOT DISTINCT FROM s.key AND d.day = CAST(s.at AS DATE)
    WHERE could_have(s.key, CAST(s.at AS DATE))
), measured AS (
    SELECT key, day, is_weekend, unnest([
        {'measure': 'calls', 'n': coalesce(calls, 0), 'hits': coalesce(calls, 0), 'value': CAST(coalesce(calls, 0) AS DOUBLE)},
        {'measure': 'connected_percent', 'n': calls, 'hits': connected, 'value': percent_of(connected, calls)},
        {'measure': 'completed_percent', 'n': answered, 'hits': completed, 'value': percent_of(completed, answered)},
        {'measure': 'negative_percent', 'n': rated, 'hits': negative, 'value': percent_of(negative, rated)},
        {'measure': 'handle_ms', 'n': timed, 'hits': timed, 'value': CAST(mean_of(total_ms, timed) AS DOUBLE)}], recursive := true)
    FROM days
), judged AS (
    SELECT key, day, is_weekend, measure, n, value
    FROM measured
    WHERE measure = 'calls' OR n >= 20
), pasts AS (
    SELECT *, list(value) OVER past AS past
    FROM judged
    WINDOW past AS (PARTITION BY key, measure, is_weekend ORDER BY day RANGE BETWEEN INTERVAL 56 DAY PRECEDING AND INTERVAL 1 DAY PRECEDING)
), usuals AS (
    SELECT * EXCLUDE (past), past[-28:] AS past, list_median(past[-28:]) AS usual
    FROM pasts
    WHERE len(past) >= 8
), spreads AS (
    SELECT *, greatest(1.4826e0 * list_median(list_transform(past, v -> abs(v - usual))),
        CASE measure
            WHEN 'calls' THEN sqrt(greatest(usual, 1))
            WHEN 'handle_ms' THEN usual / 10
            ELSE 100e0 * chance(usual, n)
        END) AS spread
    FROM usuals
)
SELECT key, day, measure, value, usual, (value - usual) / spread AS score, n, len(past) AS past
FROM spreads
WHERE spread > 0 AND abs(value - usual) >= 3.5 * spread
ORDER BY day DESC, key NULLS LAST, measure
