-- Words of status that callhouse does not know.
-- severity: warn
SELECT status, count(*) AS calls, min(start_at) AS first
FROM calls
WHERE NOT regexp_full_match(status, 'queued|ongoing|ended|error|canceled|not_connected|registered|ringing|initiated')
GROUP BY status
ORDER BY status
