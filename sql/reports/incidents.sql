-- incidents: what alerts the service raised, and how the calls of those days went
--
-- Beside each incident are the calls of the local day on which it was raised, and what
-- the report anomalies finds in that day: a measure that is off its own past, what it
-- was, and what is usual. A day that is not over yet is not judged; nor is one with
-- too little behind it. That an incident and such a day meet does not prove that they
-- have one cause. --since and --until choose the incidents; --agent and --where the
-- calls beside them.
--
-- Grain: one row per incident
-- Reads: selected_incidents, alert_rules, tallied, anomalies
-- Tallies: local_date, user_sentiment, is_started, status, disconnection_reason, settlement, transcript_state, caller_spoke, short_step
-- Needs: end, words, transcripts
-- Empty: no incidents match
-- Example: query incidents --since 30d
-- Columns:
--   created_at         TIMESTAMP WITH TIME ZONE  -  when it was raised
--   rule               VARCHAR         -       the name of the rule that raised it; its id where it has none
--   metric_type        VARCHAR         -       what the rule measures
--   status             VARCHAR         -       triggered, active or resolved
--   metric_value       DECIMAL(38,18)  number  what was measured
--   threshold_value    DECIMAL(38,18)  number  the rule's threshold at that time
--   day_calls          BIGINT          count   calls of the day
--   answered_calls     BIGINT          count   answered calls among them
--   completed_percent  DOUBLE          percent of answered  share of the answered calls that were completed
--   off                VARCHAR         prose   what anomalies finds in the day; null: nothing
--   incident_id        VARCHAR         -       the incident

WITH days AS (
    SELECT local_date AS day, total_of(calls) AS calls, sum_if(calls, is_answered) AS answered, sum_if(calls, is_completed) AS completed
    FROM tallied
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
