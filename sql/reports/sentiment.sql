-- sentiment: how callers felt
--
-- Counts calls by the sentiment that the service's analysis found. Calls without
-- one have a row of their own: they did not connect, opted out of storage, go on,
-- or wait for their analysis.
--
-- Grain: one row per group and sentiment
-- Reads: tallied
-- Tallies: user_sentiment
-- Needs: end, analysis
-- Columns:
--   key             VARCHAR  -        the group that --by asks for
--   user_sentiment  VARCHAR  -        positive, neutral, negative, or what else the service says; null: none
--   calls           BIGINT   count    calls
--   share_percent   DOUBLE   percent  share of the group's calls
--   rated_percent   DOUBLE   percent  share of the group's calls that have a sentiment; null where there is none

WITH counted AS (
    SELECT key, user_sentiment, total_of(calls) AS calls
    FROM tallied
    GROUP BY key, user_sentiment
), totals AS (
    SELECT *,
        sum(calls) OVER whole_group AS group_calls,
        sum(calls) FILTER (user_sentiment IS NOT NULL) OVER whole_group AS group_rated
    FROM counted
    WINDOW whole_group AS (PARTITION BY key)
)
SELECT key, user_sentiment, calls,
    percent_of(calls, group_calls) AS share_percent,
    CASE WHEN user_sentiment IS NOT NULL THEN percent_of(calls, group_rated) END AS rated_percent
FROM totals
ORDER BY group_rank(group_calls), key NULLS LAST, calls DESC, user_sentiment NULLS LAST
