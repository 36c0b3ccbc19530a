-- Transcript turns without a call.
SELECT call_id, count(*) AS turns
FROM transcript_turns ANTI JOIN calls USING (call_id)
GROUP BY call_id
ORDER BY call_id
