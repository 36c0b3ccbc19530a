-- tallied_first_words: answered calls with equal times to the agent's first word
--
-- As in answer_tallies, which compacted months have; there, each agent has its own rows, and
-- transferred calls have rows as well.
--
-- Reads: uncounted, as selected_speech

SELECT key, agent_first_word_ms AS first_word_ms, count(*) AS calls
FROM uncounted
WHERE is_answered AND agent_first_word_ms IS NOT NULL
GROUP BY ALL
