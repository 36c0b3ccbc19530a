-- sentiment: caller sentiment
--
-- Look at the negative share of the rated calls, and compare it between agents or weeks.
-- Where the remark says few rated, the share of all callers may be another: --verbose
-- shows its bounds.
--
-- The service's analysis rates a call as negative, neutral or positive; other holds any
-- other word of the service, which the remark names. Voicemail counts among the calls, but
-- is never rated. unrated is the share without a sentiment among the calls that reached a
-- person as far as is known: they opted out of storage, are in progress, or await their
-- analysis. The remark says few rated if fewer than 20 calls, or less than half of those
-- that reached a person, are rated. low and high are the bounds of chance (Wilson, 95 %).
--
-- Grain: one row per group
-- Reads: counted_calls of user_sentiment is_started status disconnection_reason
-- Needs: end, words, analysis
-- Example: query sentiment --by week
-- Columns:
--   key                    VARCHAR  -                                  group of --by
-- * calls                  BIGINT   count                              calls
-- * negative_percent       DOUBLE   percent of rated: rated_calls      negative share of the rated calls
-- * neutral_percent        DOUBLE   percent of rated: rated_calls      neutral share
-- * positive_percent       DOUBLE   percent of rated: rated_calls      positive share
-- * unrated_percent        DOUBLE   percent of reached: reached_calls  share of the calls that reached a person that have no sentiment
-- * remark                 VARCHAR  prose                              few rated or none rated; other words of the service; null: neither
--   rated_calls            BIGINT   count                              calls with a sentiment, without voicemail
--   reached_calls          BIGINT   count                              calls that reached a person as far as is known, and rated ones
--   negative_calls         BIGINT   count                              rated negative
--   neutral_calls          BIGINT   count                              rated neutral
--   positive_calls         BIGINT   count                              rated positive
--   other_calls            BIGINT   count                              rated with another word of the service
--   other_percent          DOUBLE   percent of rated: rated_calls      share of these
--   negative_low_percent   DOUBLE   percent                            lower bound of the negative share
--   negative_high_percent  DOUBLE   percent                            upper bound
--   neutral_low_percent    DOUBLE   percent                            lower bound of the neutral share
--   neutral_high_percent   DOUBLE   percent                            upper bound
--   positive_low_percent   DOUBLE   percent                            lower bound of the positive share
--   positive_high_percent  DOUBLE   percent                            upper bound

WITH counted AS (
    SELECT key,
        total_of(calls) AS calls,
        sum_if(calls, is_rated) AS rated_calls,
        sum_if(calls, is_rated OR is_connected IS NOT FALSE AND NOT is_voicemail) AS reached_calls,
        sum_if(calls, is_rated AND user_sentiment = 'negative') AS negative_calls,
        sum_if(calls, is_rated AND user_sentiment = 'neutral') AS neutral_calls,
        sum_if(calls, is_rated AND user_sentiment = 'positive') AS positive_calls,
        string_agg(DISTINCT user_sentiment, ', ' ORDER BY user_sentiment)
            FILTER (is_rated AND user_sentiment NOT IN ('negative', 'neutral', 'positive')) AS others
    FROM (SELECT *, user_sentiment IS NOT NULL AND NOT is_voicemail AS is_rated FROM counted_calls)
    GROUP BY key
)
SELECT key, calls,
    percent_of(negative_calls, rated_calls) AS negative_percent,
    percent_of(neutral_calls, rated_calls) AS neutral_percent,
    percent_of(positive_calls, rated_calls) AS positive_percent,
    percent_of(reached_calls - rated_calls, reached_calls) AS unrated_percent,
    nullif(concat_ws(', ', CASE WHEN rated_calls = 0 THEN 'none rated'
        WHEN rated_calls < 20 OR 2 * rated_calls < reached_calls THEN 'few rated' END, 'other: ' || others), '') AS remark,
    rated_calls, reached_calls, negative_calls, neutral_calls, positive_calls,
    rated_calls - negative_calls - neutral_calls - positive_calls AS other_calls,
    percent_of(other_calls, rated_calls) AS other_percent,
    wilson(negative_calls, rated_calls, -1) AS negative_low_percent,
    wilson(negative_calls, rated_calls, 1) AS negative_high_percent,
    wilson(neutral_calls, rated_calls, -1) AS neutral_low_percent,
    wilson(neutral_calls, rated_calls, 1) AS neutral_high_percent,
    wilson(positive_calls, rated_calls, -1) AS positive_low_percent,
    wilson(positive_calls, rated_calls, 1) AS positive_high_percent
FROM counted
ORDER BY group_rank(calls, $largest_first), key NULLS LAST
