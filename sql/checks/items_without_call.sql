-- Analysis items without a call.
SELECT call_id, count(*) AS items
FROM analysis_items ANTI JOIN calls USING (call_id)
GROUP BY call_id
ORDER BY call_id
