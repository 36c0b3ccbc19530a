-- Words of disconnection_reason that callhouse does not know: they count as connected.
-- severity: warn
SELECT disconnection_reason, count(*) AS calls, min(start_at) AS first
FROM calls
WHERE NOT regexp_full_match(disconnection_reason, 'user_hangup|agent_hangup|dial_no_answer|dial_failed|voicemail_reached|'
    || 'concurrency_limit_reached|insufficient_balance|error_voxai|max_duration_reached|inactivity|flow_error|call_transfer')
GROUP BY disconnection_reason
ORDER BY disconnection_reason
