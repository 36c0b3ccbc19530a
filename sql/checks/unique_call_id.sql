-- Calls with more than one row.
SELECT call_id, count(*) AS copies
FROM calls
GROUP BY call_id
HAVING count(*) > 1
ORDER BY call_id
