-- Calls that end before they start.
SELECT call_id, start_at, end_at
FROM calls
WHERE end_at < start_at
ORDER BY start_at, call_id
