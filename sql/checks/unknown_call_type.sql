-- Values of call_type unknown to callhouse.
-- severity: warn
SELECT call_type, count(*) AS calls, min(start_at) AS first
FROM calls
WHERE NOT regexp_full_match(call_type, 'web|phone|inbound|outbound|api|unknown')
GROUP BY call_type
ORDER BY call_type
