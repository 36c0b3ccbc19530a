-- Values of disconnection_reason unknown to callhouse: the outcome of these calls is unknown.
-- severity: warn
SELECT disconnection_reason, count(*) AS calls, min(start_at) AS first
FROM calls
WHERE NOT known_reason(disconnection_reason)
GROUP BY disconnection_reason
ORDER BY disconnection_reason
