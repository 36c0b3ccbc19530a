-- Calls whose turn_count differs from the number of their turns.
SELECT calls.call_id, coalesce(turn_count, 0) AS says, coalesce(turns, 0) AS has
FROM calls LEFT JOIN (SELECT call_id, count(*) AS turns FROM transcript_turns GROUP BY call_id) AS counted USING (call_id)
WHERE coalesce(turn_count, 0) <> coalesce(turns, 0)
ORDER BY call_id
