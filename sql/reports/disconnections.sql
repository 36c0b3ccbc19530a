-- disconnections: disconnection reasons
--
-- Look at reasons other than hang-ups: dial_ reasons point to lines and numbers, errors
-- to the platform. outcomes sums the reasons up as completed, failed, not connected and
-- others.
--
-- Counts calls by the reason of their end. Calls without a reason have their own row: they
-- are in progress, were canceled, or the service gave no reason.
--
-- Grain: one row per group and reason
-- Reads: counted_calls of is_started status disconnection_reason
-- Needs: end, words
-- Example: query disconnections --since 7d --by agent
-- Columns:
--   key                   VARCHAR  -                              group of --by
-- * disconnection_reason  VARCHAR  -                              user_hangup, agent_hangup, dial_no_answer …; null: none
-- * calls                 BIGINT   count                          calls
-- * share_percent         DOUBLE   percent of calls: sum(calls)   share of the group's calls
--   connected_calls       BIGINT   count                          connected calls
-- * connected_percent     DOUBLE   percent of these calls: calls  connected share of the calls of the row

WITH counted AS (
    SELECT key, disconnection_reason,
        total_of(calls) AS calls,
        sum_if(calls, is_connected) AS connected_calls
    FROM counted_calls
    GROUP BY key, disconnection_reason
), totals AS (
    SELECT *, sum(calls) OVER (PARTITION BY key) AS group_calls
    FROM counted
)
SELECT key, disconnection_reason, calls,
    percent_of(calls, group_calls) AS share_percent,
    connected_calls,
    percent_of(connected_calls, calls) AS connected_percent
FROM totals
ORDER BY group_rank(group_calls, $largest_first), key NULLS LAST, calls DESC, disconnection_reason NULLS LAST
