-- Calls that start more than a day in the future: the clock of this machine or of the service is wrong.
-- severity: warn
SELECT call_id, start_at
FROM calls
WHERE start_at > now() + INTERVAL 1 DAY
ORDER BY start_at, call_id
