-- counted_speech: the numbers of conversations
--
-- Reads: selected_speech

WITH conversations AS (
    SELECT key,
        count(*) AS calls,
        sum(spoken_turns) AS turns,
        sum(agent_talk_ms) AS agent_ms,
        sum(agent_talk_ms + user_talk_ms) AS talk_ms,
        count(*) FILTER (user_interruptions > 0) AS interrupted,
        sum(user_interruptions) AS by_caller,
        sum(agent_interruptions) AS by_agent,
        quantile_disc(longest_silence_ms, 0.50) AS silence_p50_ms,
        max(longest_silence_ms) AS silence_max_ms
    FROM selected_speech
    WHERE spoken_turns > 0
    GROUP BY key
), latencies AS (
    SELECT key, count(*) AS responses, quantile_disc(ms, [0.50, 0.95]) AS latency
    FROM (SELECT key, unnest(CAST(response_ms AS BIGINT[])) AS ms FROM selected_speech WHERE response_ms IS NOT NULL)
    GROUP BY key
)
SELECT c.*, responses, latency
FROM conversations c LEFT JOIN latencies l ON c.key IS NOT DISTINCT FROM l.key
