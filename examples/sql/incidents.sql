-- Alerts raised by the service, with the calls of the local day and of the 28 days before it.
--
-- A difference on the day of an incident does not prove a common cause; query anomalies judges days
-- against chance.
WITH days AS (
    SELECT local_date AS day, count(*) AS calls, count(*) FILTER (is_answered) AS answered_calls, count(*) FILTER (is_completed) AS completed_calls
    FROM calls
    WHERE start_at IS NOT NULL
    -- AND agent_id = '...'
    GROUP BY ALL
), raised AS (
    SELECT *, CAST(local_time(created_at) AS DATE) AS day FROM incidents
)
SELECT i.created_at, coalesce(r.name, i.alert_rule_id) AS rule, r.metric_type, i.status, i.metric_value, i.threshold_value,
    coalesce(sum(d.calls) FILTER (d.day = i.day), 0) AS day_calls,
    100.0 * sum(d.completed_calls) FILTER (d.day = i.day) / nullif(sum(d.answered_calls) FILTER (d.day = i.day), 0) AS completed_percent,
    sum(d.calls) FILTER (d.day < i.day) / 28.0 AS usual_calls,
    100.0 * sum(d.completed_calls) FILTER (d.day < i.day) / nullif(sum(d.answered_calls) FILTER (d.day < i.day), 0) AS usual_completed_percent
FROM raised i
    LEFT JOIN alert_rules r USING (alert_rule_id)
    LEFT JOIN days d ON d.day BETWEEN i.day - 28 AND i.day
GROUP BY ALL
ORDER BY i.created_at DESC
