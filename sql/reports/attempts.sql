-- attempts: how often outbound calls reach a person, by attempt
--
-- An attempt is a call of any type with direction outbound and a start. It reached a
-- person if it connected and no machine answered; the share is of the calls that are over
-- and of which this is known. Attempts are numbered within the local day and the local
-- week (from Monday) among all calls to the same number, including other groups and calls
-- of that day or week before --since. Numbers are compared in E.164 form, or else as sent.
-- Attempts that start at the same moment have the same number; 6 stands for all later
-- ones.
--
-- For the best hour and weekday use --by hour or --by weekday and the rows with the span
-- all.
--
-- Grain: one row per group, span and attempt that has calls
-- Reads: surrounding
-- Needs: end, words
-- Shares: reached_percent of known_calls
-- Example: query attempts --since 30d
-- Columns:
--   key             VARCHAR  -        group of --by
--   span            VARCHAR  -        span in which attempts are numbered: day or week; or all
--   attempt         BIGINT   -        number of the attempt in the span, 6 for the sixth and later; null: all attempts, or no number was sent
--   calls           BIGINT   count    outbound calls that have a start
--   known_calls     BIGINT   count    attempts that are over and of which it is known whether they connected
--   reached_calls   BIGINT   count    attempts that reached a person
--   reached_percent  DOUBLE  percent of known  share of them
--   low_percent     DOUBLE   percent  lower bound of this share (Wilson, 95 %)
--   high_percent    DOUBLE   percent  upper bound
--   voicemail_calls  BIGINT  count    known calls that a machine answered

WITH outbound AS ( -- result null: not known
    SELECT key, is_selected, known_number(to_e164, to_number) AS number, -- like the column caller, which also reads the calling numbers
        local_date, week, epoch_ms(start_at) AS ms,
        CASE WHEN NOT is_over THEN NULL WHEN NOT is_connected THEN 'nobody' WHEN is_connected THEN if(is_voicemail, 'machine', 'person') END AS result
    FROM surrounding
    WHERE direction = 'outbound' AND start_at IS NOT NULL
), placed AS ( -- by local date, then time, which is the order of time, since no zone has set its clocks back past midnight after 2010
    SELECT *, (local_date - week) * 100000000000000000 + ms AS place
    FROM outbound
), numbered AS ( -- one sort for both: the places of a day are within 5e16 of 1e17 times its number in the week
    SELECT *,
        CASE WHEN number IS NOT NULL THEN least(1 + count(*) OVER (in_week RANGE BETWEEN ms + 50000000000000000 PRECEDING AND 1 PRECEDING), 6) END AS of_day,
        CASE WHEN number IS NOT NULL THEN least(rank() OVER in_week, 6) END AS of_week
    FROM placed
    WINDOW in_week AS (PARTITION BY number, week ORDER BY place)
), alike AS (
    SELECT key, of_day, of_week,
        count(*) AS calls,
        count(result) AS known_calls,
        count(*) FILTER (result = 'person') AS reached_calls,
        count(*) FILTER (result = 'machine') AS voicemail_calls
    FROM numbered
    WHERE is_selected
    GROUP BY key, of_day, of_week
), counted AS (
    SELECT key, span, attempt,
        total_of(calls) AS calls,
        total_of(known_calls) AS known_calls,
        total_of(reached_calls) AS reached_calls,
        total_of(voicemail_calls) AS voicemail_calls
    FROM (
        SELECT key, unnest([NULL, of_day, of_week]) AS attempt, unnest(['all', 'day', 'week']) AS span, calls, known_calls, reached_calls,
            voicemail_calls
        FROM alike
    )
    GROUP BY key, span, attempt
)
SELECT key, span, attempt, calls, known_calls, reached_calls,
    percent_of(reached_calls, known_calls) AS reached_percent,
    wilson(reached_calls, known_calls, -1) AS low_percent,
    wilson(reached_calls, known_calls, 1) AS high_percent,
    voicemail_calls
FROM counted
ORDER BY group_rank(sum(calls) FILTER (span = 'all') OVER (PARTITION BY key)), key NULLS LAST, span, attempt NULLS LAST
