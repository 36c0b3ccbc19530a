-- early: early hang-ups, silent calls, time to the first word
--
-- Look at hung up 10s: callers who left before the agent could help. A late first word
-- is a likely reason.
--
-- Hang-ups and silent calls are of the answered calls, as in outcomes: over, answered by a
-- person, and known whether the caller spoke. A hang-up is one of the caller
-- (user_hangup); those within 5 seconds are included in those within 10. For other limits:
-- query durations --steps --where disconnection_reason=user_hangup. A call is silent if the
-- caller never spoke, however it ended. A group without answered calls has a row here;
-- callers, conversation and transfers leave it out.
--
-- The first word is the time from the call's start to the start of the agent's first turn,
-- in the answered calls that have one. pNN is as in durations: that of a real call.
--
-- Grain: one row per group
-- Reads: counted_calls of is_started status disconnection_reason settlement transcript_state caller_spoke short_step, selected
-- Needs: end, words, transcripts
-- Example: query early --since 7d
-- Columns:
--   key                  VARCHAR  -                                   group of --by
-- * answered_calls       BIGINT   count                               answered calls
--   hung_up_5s_calls     BIGINT   count                               answered calls in which the caller hung up within 5 seconds
-- * hung_up_5s_percent   DOUBLE   percent of answered: answered_calls  share of them
--   hung_up_10s_calls    BIGINT   count                               answered calls in which the caller hung up within 10 seconds
-- * hung_up_10s_percent  DOUBLE   percent of answered: answered_calls  share of them
--   silent_calls         BIGINT   count                               answered calls in which the caller never spoke
-- * silent_percent       DOUBLE   percent of answered: answered_calls  share of them
-- * first_word_p50_ms    BIGINT   ms                                  time from the call's start to the agent's first word, median
-- * first_word_p90_ms    BIGINT   ms                                  90th percentile of it
--   first_word_p95_ms    BIGINT   ms                                  95th percentile of it
--   first_word_calls     BIGINT   count                               answered calls with a known first word

WITH counted AS (
    SELECT key,
        sum_if(calls, is_answered) AS answered_calls,
        sum_if(calls, is_answered AND disconnection_reason = 'user_hangup' AND short_step < 5000) AS hung_up_5s_calls,
        sum_if(calls, is_answered AND disconnection_reason = 'user_hangup' AND short_step < 10000) AS hung_up_10s_calls,
        sum_if(calls, is_answered AND NOT spoke) AS silent_calls
    FROM counted_calls
    GROUP BY key
), waited AS (
    SELECT key, count(*) AS first_word_calls, quantile_disc(greatest(agent_first_word_ms, 0), [0.50, 0.90, 0.95]) AS p
    FROM selected
    WHERE is_answered AND agent_first_word_ms IS NOT NULL
    GROUP BY key
)
SELECT counted.key AS key, answered_calls, hung_up_5s_calls,
    percent_of(hung_up_5s_calls, answered_calls) AS hung_up_5s_percent,
    hung_up_10s_calls,
    percent_of(hung_up_10s_calls, answered_calls) AS hung_up_10s_percent,
    silent_calls,
    percent_of(silent_calls, answered_calls) AS silent_percent,
    p[1] AS first_word_p50_ms, of_20(p[2], first_word_calls) AS first_word_p90_ms, of_20(p[3], first_word_calls) AS first_word_p95_ms,
    coalesce(first_word_calls, 0) AS first_word_calls
FROM counted LEFT JOIN waited ON counted.key IS NOT DISTINCT FROM waited.key
ORDER BY group_rank(answered_calls, $largest_first), counted.key NULLS LAST
