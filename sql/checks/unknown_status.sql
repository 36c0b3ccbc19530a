-- Values of status unknown to callhouse: the outcome of these calls is unknown.
-- severity: warn
SELECT status, count(*) AS calls, min(start_at) AS first
FROM calls
WHERE NOT known_status(status)
GROUP BY status
ORDER BY status
