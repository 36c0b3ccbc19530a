-- Calls that ended over three days ago and still lack a transcript.
-- severity: warn
SELECT call_id, start_at, end_at
FROM calls
WHERE is_over AND transcript_state = 'pending' AND coalesce(end_at, start_at) < now() - INTERVAL 3 DAY
ORDER BY start_at, call_id
