-- worst: calls worth listening to
--
-- Begin at the top: the first calls have the most serious marks. query call CALL_ID
-- shows what was said, and where to listen.
--
-- Of the calls with a transcript in which the caller may have said something, those with
-- at least one of three marks: negative sentiment (weight 4), outcome failed (2), a failed
-- tool call (1, however often). Rows are sorted by the sum of the weights; among equals,
-- calls without a positive sentiment come first, then those with more failed tool calls,
-- the longer, and the later ones. At most 20 of each group, and at most 10 with the same
-- first mark, unless there are too few others.
--
-- Grain: one row per group and call, the 20 worst of each group
-- Reads: selected, recordings
-- Needs: end, transcripts, analysis
-- Example: query worst --since 1d
-- Columns:
--   key             VARCHAR  -      group of --by
-- * call_id         VARCHAR  -      id of the call, for query call
-- * why             VARCHAR  -      marks, heaviest first: negative, failed, tool failed
-- * start_at        TIMESTAMP WITH TIME ZONE  -  start
-- * agent_id        VARCHAR  -      the agent
-- * duration_ms     BIGINT   ms     duration
--   user_sentiment  VARCHAR  -      sentiment of the caller by the service's analysis
--   outcome         VARCHAR  -      outcome
--   failed_uses     BIGINT   count  failed tool calls
--   recording       VARCHAR  -      place of its recording: a path in the archive, else the link of the service, which may expire; null: none

WITH marked AS MATERIALIZED (
    SELECT *, CASE WHEN was_negative THEN 'negative' WHEN has_failed THEN 'failed' ELSE 'tool failed' END AS reason,
        4 * CAST(was_negative AS INTEGER) + 2 * CAST(has_failed AS INTEGER) + CAST(tool_failed AS INTEGER) AS suffered,
        coalesce(user_sentiment = 'positive', false) AS was_positive
    FROM (
        SELECT key, call_id, start_at, agent_id, duration_ms, user_sentiment, outcome, recording_url,
            CAST(coalesce(failed_tool_uses, 0) AS BIGINT) AS failed_uses,
            coalesce(user_sentiment = 'negative', false) AS was_negative,
            outcome = 'failed' AS has_failed,
            coalesce(failed_tool_uses > 0, false) AS tool_failed
        FROM selected
        WHERE has_transcript(transcript_state) AND is_conversed IS NOT FALSE
    )
    WHERE was_negative OR has_failed OR tool_failed
), alike AS ( -- calls by the part of the order below that has few values
    SELECT key, reason, suffered, was_positive, failed_uses, count(*) AS n
    FROM marked
    GROUP BY ALL
), first AS ( -- those that contain the first 10 of each reason and, with a margin, the first of all
    SELECT key, reason, suffered, was_positive, failed_uses, sum(n) OVER (PARTITION BY key) AS group_calls
    FROM alike
    QUALIFY sum(n) OVER (PARTITION BY key ORDER BY suffered DESC, was_positive, failed_uses DESC) - n < 50
        OR sum(n) OVER (PARTITION BY key, reason ORDER BY suffered DESC, was_positive, failed_uses DESC) - n < 10
), ranked AS (
    SELECT m.*, group_calls,
        row_number() OVER (PARTITION BY m.key
            ORDER BY m.suffered DESC, m.was_positive, m.failed_uses DESC, duration_ms DESC NULLS LAST, start_at DESC NULLS LAST, call_id) AS place
    FROM marked m JOIN first f ON m.key IS NOT DISTINCT FROM f.key AND m.suffered = f.suffered AND m.was_positive = f.was_positive
        AND m.failed_uses = f.failed_uses
), limited AS (
    SELECT *, row_number() OVER (PARTITION BY key ORDER BY of_reason > 10, place) AS chosen
    FROM (SELECT *, row_number() OVER (PARTITION BY key, reason ORDER BY place) AS of_reason FROM ranked)
)
SELECT key, limited.call_id AS call_id,
    concat_ws(', ', CASE WHEN was_negative THEN 'negative' END, CASE WHEN has_failed THEN 'failed' END,
        CASE WHEN tool_failed THEN 'tool failed' END) AS why, start_at, agent_id, duration_ms, user_sentiment, outcome, failed_uses,
    CASE WHEN state = 'stored' THEN $archive || '/' || path ELSE recording_url END AS recording
FROM limited LEFT JOIN recordings ON recordings.call_id = limited.call_id
WHERE chosen <= 20
ORDER BY group_rank(group_calls, $largest_first), key NULLS LAST, place
