-- search WORD...: transcripts by words, with context
--
-- Each turn that has all the words is shown with the turns around it. query call CALL_ID
-- shows the whole conversation.
--
-- Finds the turns that contain every WORD, in any case and order; a WORD is any text, also
-- part of a word or, in quotes, several words. Only speech of the agent and the caller is
-- searched. Newest calls come first; each turn is shown with the one before and after.
-- --top limits the turns found, --skip leaves out the newest.
--
-- Grain: one row per turn found, and per turn next to it
-- Reads: selected, selected_turns, transcript_turns
-- Flags: skip
-- Needs: transcripts
-- Empty: no turn has all the words
-- Example: query search refund --since 7d
-- Columns:
-- * call_id   VARCHAR                   -      id of the call, for query call
-- * start_at  TIMESTAMP WITH TIME ZONE  -      start of the call
-- * agent_id  VARCHAR                   -      the agent
-- * found     BOOLEAN                   -      whether the words are in it; false: context
-- * who       VARCHAR                   -      agent or user
-- * what      VARCHAR                   prose  what was said
--   at_ms     BIGINT                    ms     time since the start of the call
--   turn      INTEGER                   -      position in the transcript

WITH hits AS (
    SELECT call_id, call_start_at, turn
    FROM selected_turns
    WHERE (role = 'agent' OR role = 'user') AND has_all_words(content, $words, $longest_word)
    ORDER BY call_start_at DESC NULLS LAST, call_id, turn
    LIMIT $most OFFSET $skip
), hit_calls AS MATERIALIZED (
    SELECT call_id, call_start_at, list(turn) AS turns
    FROM hits
    GROUP BY call_id, call_start_at
), spoken AS ( -- joined by the start, so that files without one of these calls are not read, and then calls without a start
    SELECT t.*, list_contains(turns, turn) AS found FROM transcript_turns t JOIN hit_calls USING (call_id, call_start_at)
    UNION ALL
    SELECT t.*, list_contains(turns, turn) FROM transcript_turns t JOIN (FROM hit_calls WHERE call_start_at IS NULL) USING (call_id)
), said AS (
    SELECT *,
        coalesce(lag(found) OVER in_order, false) AS found_before,
        coalesce(lead(found) OVER in_order, false) AS found_after
    FROM spoken
    WHERE role = 'agent' OR role = 'user'
    WINDOW in_order AS (PARTITION BY call_id ORDER BY turn)
)
SELECT call_id, call_start_at AS start_at,
    (SELECT agent_id FROM selected WHERE selected.call_id = said.call_id) AS agent_id,
    found, role AS who, content AS what,
    epoch_ms(said.start_at) - epoch_ms(call_start_at) AS at_ms, turn
FROM said
WHERE found OR found_before OR found_after
ORDER BY call_start_at DESC NULLS LAST, call_id, turn
