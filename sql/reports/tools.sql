-- tools: tool calls, failures, and waiting time of callers
--
-- Look at the tools with many failed uses, and at the p95 of the pause, in which the
-- caller waits. A tool with few uses can wait.
--
-- query describe tool_calls defines failures and pauses. The service sends no times of
-- tools: the pause in speech in which a tool ran, from the latest end of speech before it,
-- is an upper bound of its time.
--
-- Grain: one row per group and tool
-- Reads: selected_tool_calls
-- Needs: end, transcripts
-- Empty: no tool calls match
-- Example: query tools --since 7d
-- Columns:
--   key              VARCHAR  -                                   group of --by
-- * tool_name        VARCHAR  -                                   tool name; null: a result without its invocation
-- * uses             BIGINT   count                               tool calls
--   share_percent    DOUBLE   percent of uses: sum(uses)          share of the group's tool calls
--   calls            BIGINT   count                               calls in which it was used
-- * failed_uses      BIGINT   count                               failed tool calls
-- * failed_percent   DOUBLE   percent of answered uses: uses - unanswered_uses  failed share of the tool calls with a result
--   unanswered_uses  BIGINT   count                               tool calls without a result
-- * pause_p50_ms     BIGINT   ms                                  median pause in which it ran
-- * pause_p95_ms     BIGINT   ms                                  95th percentile of the pause
--   duration_p50_ms  BIGINT   ms                                  median duration, if the service sends times

WITH counted AS (
    SELECT key, tool_name,
        count(*) AS uses,
        count(*) FILTER (is_first) AS calls,
        count(*) FILTER (failed) AS failed_uses,
        count(failed) AS answered,
        quantile_disc(pause_ms, [0.50, 0.95]) AS pause, count(pause_ms) AS pauses,
        quantile_disc(duration_ms, 0.50) AS duration_p50_ms
    FROM selected_tool_calls
    GROUP BY key, tool_name
), totals AS (
    SELECT *, sum(uses) OVER (PARTITION BY key) AS group_uses
    FROM counted
)
SELECT key, tool_name, uses,
    percent_of(uses, group_uses) AS share_percent,
    calls, failed_uses,
    percent_of(failed_uses, answered) AS failed_percent,
    uses - answered AS unanswered_uses,
    pause[1] AS pause_p50_ms, of_20(pause[2], pauses) AS pause_p95_ms,
    duration_p50_ms
FROM totals
ORDER BY group_rank(group_uses, $largest_first), key NULLS LAST, uses DESC, tool_name NULLS LAST
