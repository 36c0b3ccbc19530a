-- query sentiment, without confidence bounds: the sentiment of calls. In Spark and Trino (after USE lake.callhouse),
-- DuckDB and ClickHouse. For a period, add a condition on start_at after FROM calls.
WITH rated AS (
    SELECT user_sentiment, CASE WHEN user_sentiment IS NOT NULL AND (disconnection_reason IS NULL OR disconnection_reason <> 'voicemail_reached')
        THEN 1 ELSE 0 END AS rated
    FROM calls
)
SELECT count(*) AS calls,
    100e0 * sum(CASE WHEN user_sentiment = 'negative' THEN rated ELSE 0 END) / nullif(sum(rated), 0) AS negative_percent,
    100e0 * sum(CASE WHEN user_sentiment = 'neutral' THEN rated ELSE 0 END) / nullif(sum(rated), 0) AS neutral_percent,
    100e0 * sum(CASE WHEN user_sentiment = 'positive' THEN rated ELSE 0 END) / nullif(sum(rated), 0) AS positive_percent
FROM rated
