-- sentiment: caller sentiment
--
-- Counts calls by the sentiment that the service's analysis found. Calls without one have
-- their own row: they did not connect, opted out of storage, are in progress, or await
-- their analysis. Voicemail counts among the calls, but not in the rated share. If few
-- calls are rated, the share of all callers may differ: rated_low_percent and
-- rated_high_percent are the bounds of chance (Wilson, 95 %), and rated_share_percent is
-- the share of calls that are rated.
--
-- Grain: one row per group and sentiment
-- Reads: counted_calls of user_sentiment disconnection_reason
-- Needs: end, analysis
-- Example: query sentiment --by week
-- Columns:
--   key                  VARCHAR  -                                   group of --by
-- * user_sentiment       VARCHAR  -                                   positive, neutral, negative, or another word of the service; null: none
-- * calls                BIGINT   count                               calls
-- * share_percent        DOUBLE   percent of calls: sum(calls)        share of the group's calls
-- * rated_percent        DOUBLE   percent of rated: sum(rated_calls)  share of the group's rated calls (with a sentiment, no voicemail); null: none
--   rated_calls          BIGINT   count                               calls of the row that are rated
--   rated_low_percent    DOUBLE   percent                             lower bound of the rated share (Wilson, 95 %)
--   rated_high_percent   DOUBLE   percent                             upper bound
-- * rated_share_percent  DOUBLE   percent of calls                    rated share of the group's calls without voicemail

WITH counted AS (
    SELECT key, user_sentiment, total_of(calls) AS calls,
        sum_if(calls, user_sentiment IS NOT NULL AND NOT is_voicemail) AS rated_calls,
        sum_if(calls, NOT is_voicemail) AS heard_calls
    FROM counted_calls
    GROUP BY key, user_sentiment
), totals AS (
    SELECT *,
        sum(calls) OVER whole_group AS group_calls,
        sum(rated_calls) OVER whole_group AS group_rated,
        sum(heard_calls) OVER whole_group AS group_heard
    FROM counted
    WINDOW whole_group AS (PARTITION BY key)
)
SELECT key, user_sentiment, calls,
    percent_of(calls, group_calls) AS share_percent,
    CASE WHEN user_sentiment IS NOT NULL THEN percent_of(rated_calls, group_rated) END AS rated_percent,
    rated_calls,
    CASE WHEN user_sentiment IS NOT NULL THEN wilson(rated_calls, group_rated, -1) END AS rated_low_percent,
    CASE WHEN user_sentiment IS NOT NULL THEN wilson(rated_calls, group_rated, 1) END AS rated_high_percent,
    percent_of(group_rated, group_heard) AS rated_share_percent
FROM totals
ORDER BY group_rank(group_calls, $largest_first), key NULLS LAST, calls DESC, user_sentiment NULLS LAST
