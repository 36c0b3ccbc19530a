-- incidents: alerts raised by the service, with the calls of the day
--
-- Each incident has the calls of the local day on which it was raised, and the findings of
-- the report anomalies for that day: a measure that differs from its past, its value and
-- the usual one. A day that is not over, or without enough past, is not judged. A finding
-- on the day of an incident does not prove a common cause. --since and --until select
-- incidents; --agent and --where select the calls.
--
-- Grain: one row per incident
-- Reads: selected_incidents, alert_rules, counted_calls, anomalies
-- Counts: local_date, user_sentiment, is_started, status, disconnection_reason, settlement, transcript_state, caller_spoke, short_step
-- Needs: end, words, transcripts
-- Empty: no incidents match
-- Example: query incidents --since 30d
-- Columns:
--   created_at         TIMESTAMP WITH TIME ZONE  -  time it was raised
--   rule               VARCHAR         -       name of the rule that raised it, or its id
--   metric_type        VARCHAR         -       metric of the rule
--   status             VARCHAR         -       triggered, active or resolved
--   metric_value       DECIMAL(38,18)  number  measured value
--   threshold_value    DECIMAL(38,18)  number  threshold of the rule at that time
--   day_calls          BIGINT          count   calls of the day
--   answered_calls     BIGINT          count   answered calls among them
--   completed_percent  DOUBLE          percent of answered  share of the answered calls that were completed
--   off                VARCHAR         prose   findings of anomalies for the day; null: none
--   incident_id        VARCHAR         -       the incident

WITH days AS (
    SELECT local_date AS day, total_of(calls) AS calls, sum_if(calls, is_answered) AS answered, sum_if(calls, is_completed) AS completed
    FROM counted_calls
    WHERE is_started
    GROUP BY local_date
), off_days AS (
    SELECT day, string_agg(printf('%s %.1f (usual %.1f)', measure, value, usual), ', ' ORDER BY measure) AS off
    FROM anomalies
    GROUP BY day
)
SELECT i.created_at AS created_at, coalesce(r.name, i.alert_rule_id) AS rule, r.metric_type AS metric_type, i.status AS status,
    i.metric_value AS metric_value, i.threshold_value AS threshold_value,
    coalesce(calls, 0) AS day_calls, coalesce(answered, 0) AS answered_calls,
    percent_of(completed, answered) AS completed_percent,
    off, i.incident_id AS incident_id
FROM selected_incidents i
    LEFT JOIN alert_rules r USING (alert_rule_id)
    LEFT JOIN days d ON d.day = CAST(local_time(i.created_at) AS DATE)
    LEFT JOIN off_days o ON o.day = d.day
ORDER BY i.created_at DESC NULLS LAST, i.incident_id
