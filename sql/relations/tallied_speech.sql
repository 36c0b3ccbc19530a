-- tallied_speech: calls with equal longest silences, and responses with equal latencies
--
-- As in speech_tallies, which compacted months have.
--
-- Reads: uncounted, as selected_speech

SELECT key, CAST(NULL AS BIGINT) AS response_ms, CAST(NULL AS BIGINT) AS responses, longest_silence_ms,
    count(*) AS calls, sum(spoken_turns) AS spoken_turns, sum(agent_talk_ms) AS agent_talk_ms, sum(user_talk_ms) AS user_talk_ms,
    count(*) FILTER (user_interruptions > 0) AS interrupted_calls,
    sum(agent_interruptions) AS agent_interruptions, sum(user_interruptions) AS user_interruptions
FROM uncounted
WHERE spoken_turns > 0
GROUP BY ALL
UNION ALL BY NAME
SELECT key, response_ms, count(*) AS responses
FROM (SELECT key, unnest(CAST(response_ms AS BIGINT[])) AS response_ms FROM uncounted WHERE response_ms IS NOT NULL)
GROUP BY ALL
