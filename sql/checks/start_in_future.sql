-- Calls that start more than a day from now: the clock of the service, or ours, is wrong.
-- severity: warn
SELECT call_id, start_at
FROM calls
WHERE start_at > CAST($now AS TIMESTAMPTZ) + INTERVAL 1 DAY
ORDER BY start_at, call_id
