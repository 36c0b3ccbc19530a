-- worst: calls worth listening to
--
-- Of the calls with a transcript in which the caller may have said something, those with
-- at least one of three marks: negative sentiment (weight 4), outcome failed (2), a failed
-- tool call (1, however often). Rows are sorted by the sum of the weights; among equals,
-- calls without a positive sentiment come first, then those with more failed tool calls,
-- the longer, and the later ones. At most 20 of each group, and at most 10 with the same
-- first mark, unless there are too few others.
--
-- Grain: one row per group and call, the 20 worst of each group
-- Reads: selected, selected_speech
-- Needs: end, transcripts, analysis
-- Example: query worst --since 1d
-- Columns:
--   key             VARCHAR  -      group of --by
--   call_id         VARCHAR  -      id of the call, for query call
--   why             VARCHAR  -      marks, heaviest first: negative, failed, tool failed
--   start_at        TIMESTAMP WITH TIME ZONE  -  start
--   agent_id        VARCHAR  -      the agent
--   duration_ms     BIGINT   ms     duration
--   user_sentiment  VARCHAR  -      sentiment of the caller by the service's analysis
--   outcome         VARCHAR  -      outcome
--   failed_uses     BIGINT   count  failed tool calls

WITH marked AS (
    SELECT key, call_id, start_at, agent_id, duration_ms, user_sentiment, outcome,
        CAST(coalesce(failed_tool_uses, 0) AS BIGINT) AS failed_uses,
        [CASE WHEN user_sentiment = 'negative' THEN 'negative' END, CASE WHEN outcome = 'failed' THEN 'failed' END,
            CASE WHEN failed_tool_uses > 0 THEN 'tool failed' END] AS marks
    FROM selected_speech
    WHERE transcript_state = 'present' AND is_conversed IS NOT FALSE
), ranked AS (
    SELECT *, list_filter(marks, mark -> mark IS NOT NULL)[1] AS reason, count(*) OVER (PARTITION BY key) AS group_calls,
        row_number() OVER (PARTITION BY key
            ORDER BY suffered DESC, coalesce(user_sentiment = 'positive', false), failed_uses DESC, duration_ms DESC NULLS LAST,
                start_at DESC NULLS LAST, call_id) AS place
    FROM (SELECT *, list_sum([CASE mark WHEN 'negative' THEN 4 WHEN 'failed' THEN 2 WHEN 'tool failed' THEN 1 END FOR mark IN marks]) AS suffered FROM marked)
    WHERE suffered > 0
), limited AS (
    SELECT *, row_number() OVER (PARTITION BY key ORDER BY of_reason > 10, place) AS chosen
    FROM (SELECT *, row_number() OVER (PARTITION BY key, reason ORDER BY place) AS of_reason FROM ranked)
)
SELECT key, call_id, array_to_string(marks, ', ') AS why, start_at, agent_id, duration_ms, user_sentiment, outcome, failed_uses
FROM limited
WHERE chosen <= 20
ORDER BY group_rank(group_calls), key NULLS LAST, place
