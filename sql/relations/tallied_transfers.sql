-- tallied_transfers: transferred calls with equal last tools and durations
--
-- As in answer_tallies, which compacted months have; there, all answered calls have rows as well, with
-- first_word_ms.
--
-- Reads: uncounted, as selected_speech

SELECT key, CAST(NULL AS BIGINT) AS first_word_ms, last_tool, duration_ms, count(*) FILTER (is_transferred) AS calls
FROM ( -- further conditions here would be evaluated for every call
    SELECT key, last_tool, duration_ms, outcome = 'transferred' AND is_answered AS is_transferred
    FROM uncounted
    WHERE disconnection_reason IN ('call_transfer', 'operator_hangup')
)
GROUP BY ALL
HAVING calls > 0
