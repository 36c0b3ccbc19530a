-- counted_speech_tallied: the numbers of conversations, from tallies
--
-- As in counted_speech.
--
-- Reads: tallied_speech

WITH conversations AS (
    SELECT key,
        total_of(calls) AS calls,
        sum(spoken_turns) AS turns,
        sum(agent_talk_ms) AS agent_ms,
        sum(agent_talk_ms) + sum(user_talk_ms) AS talk_ms,
        sum(interrupted_calls) AS interrupted,
        sum(user_interruptions) AS by_caller,
        sum(agent_interruptions) AS by_agent,
        max(longest_silence_ms) AS silence_max_ms,
        sum(responses) AS responses
    FROM tallied_speech
    GROUP BY key
), lasting AS (
    SELECT key, is_response, ms,
        sum(n) OVER (PARTITION BY key, is_response ORDER BY ms) AS upto,
        sum(n) OVER (PARTITION BY key, is_response) AS whole
    FROM (
        SELECT key, responses IS NOT NULL AS is_response, coalesce(response_ms, longest_silence_ms) AS ms,
            sum(coalesce(responses, calls)) AS n
        FROM tallied_speech
        GROUP BY ALL
    )
    WHERE ms IS NOT NULL
), times AS (
    SELECT key,
        [min(ms) FILTER (is_response AND has_rank(50, upto, whole)), min(ms) FILTER (is_response AND has_rank(95, upto, whole))] AS latency,
        min(ms) FILTER (NOT is_response AND has_rank(50, upto, whole)) AS silence_p50_ms
    FROM lasting
    GROUP BY key
)
SELECT c.*, latency, silence_p50_ms
FROM conversations c LEFT JOIN times t ON c.key IS NOT DISTINCT FROM t.key
