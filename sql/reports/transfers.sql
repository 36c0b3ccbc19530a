-- transfers: transferred calls: share, time to transfer, last tool
--
-- Look at the last tool: what the agent did before it passed the call on. of answered is
-- the share of answered calls that need a person.
--
-- Counted are the answered calls, as in outcomes: over, answered by a person, and known
-- whether the caller spoke. Transferred is the outcome of calls that were passed on or
-- ended by an operator. The service sends no time of the transfer: the time to transfer is
-- the call's duration. The last tool is the one that the agent invoked last, possibly the
-- transfer itself. A group without transfers has a row with 0 transferred calls. For the times of
-- all transfers: query durations --where outcome=transferred.
--
-- Grain: one row per group that has answered calls, and last tool of its transferred calls
-- Reads: counted_calls of is_started status disconnection_reason settlement transcript_state caller_spoke short_step, selected
-- Needs: end, words, transcripts
-- Example: query transfers --since 7d
-- Columns:
--   key                  VARCHAR  -                                   group of --by
-- * last_tool            VARCHAR  -                                   last tool before the transfer; null: none
-- * transferred_calls    BIGINT   count                               answered calls that were transferred
-- * answered_percent     DOUBLE   percent of answered: answered_calls  share of them among the group's answered calls
--   low_percent          DOUBLE   percent                             lower bound of this share (Wilson, 95 %)
--   high_percent         DOUBLE   percent                             upper bound
-- * transferred_percent  DOUBLE   percent of transferred: sum(transferred_calls)  share of them among the group's transferred calls
-- * p50_ms               BIGINT   ms                                  time to transfer, median
-- * p90_ms               BIGINT   ms                                  90th percentile of it
--   answered_calls       BIGINT   number                              the group's answered calls

WITH answered AS (
    SELECT key, sum_if(calls, is_answered) AS answered_calls
    FROM counted_calls
    GROUP BY key
), counted AS (
    SELECT key, last_tool, count(*) AS transferred_calls, quantile_disc(duration_ms, [0.50, 0.90]) AS p, count(duration_ms) AS timed_calls
    FROM selected
    WHERE disconnection_reason IN ('call_transfer', 'operator_hangup') AND outcome = 'transferred' AND is_answered
    GROUP BY key, last_tool
)
SELECT a.key AS key, last_tool,
    coalesce(transferred_calls, 0) AS transferred_calls,
    percent_of(coalesce(transferred_calls, 0), answered_calls) AS answered_percent,
    wilson(coalesce(transferred_calls, 0), answered_calls, -1) AS low_percent,
    wilson(coalesce(transferred_calls, 0), answered_calls, 1) AS high_percent,
    percent_of(transferred_calls, sum(transferred_calls) OVER (PARTITION BY a.key)) AS transferred_percent,
    p[1] AS p50_ms, of_20(p[2], timed_calls) AS p90_ms,
    answered_calls
FROM answered a LEFT JOIN counted c ON a.key IS NOT DISTINCT FROM c.key
WHERE answered_calls > 0
ORDER BY group_rank(answered_calls, $largest_first), a.key NULLS LAST, transferred_calls DESC, last_tool NULLS LAST
