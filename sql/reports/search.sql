-- search: what was said: transcripts by words, with context and speaker
--
-- Finds the turns in which every WORD stands, in any case and any order; a WORD
-- is any text, also a part of a word or, in quotes, several. Only what the agent
-- and the caller said is searched, no tool's answers. Newest calls first; with
-- each turn comes the one said before it and the one after.
--
-- Grain: one row per turn found, and per turn next to it
-- Reads: selected, selected_turns
-- Needs: transcripts
-- Arguments: WORD...
-- Empty: no turn has all the words
-- Example: query search refund --since 7d
-- Columns:
--   call_id   VARCHAR                   -      the call: query call shows all of it
--   found     BOOLEAN                   -      the words stand in it; false: context
--   who       VARCHAR                   -      agent or user
--   at_ms     BIGINT                    ms     when it began, since the start of the call
--   what      VARCHAR                   prose  what was said
--   turn      INTEGER                   -      position in the call's time line
--   start_at  TIMESTAMP WITH TIME ZONE  -      when the call started

WITH hit_calls AS (
    SELECT DISTINCT call_id
    FROM selected_turns
    WHERE (role = 'agent' OR role = 'user') AND has_all_words(content)
), said AS (
    SELECT t.call_id, t.call_start_at, t.turn, t.role, t.start_at, t.content,
        has_all_words(content) AS found,
        coalesce(lag(has_all_words(content)) OVER in_order, false) AS found_before,
        coalesce(lead(has_all_words(content)) OVER in_order, false) AS found_after
    FROM selected_turns t JOIN hit_calls USING (call_id)
    WHERE role = 'agent' OR role = 'user'
    WINDOW in_order AS (PARTITION BY t.call_id ORDER BY turn)
)
SELECT call_id, found, role AS who,
    epoch_ms(said.start_at) - epoch_ms(call_start_at) AS at_ms,
    content AS what,
    turn, call_start_at AS start_at
FROM said
WHERE found OR found_before OR found_after
ORDER BY call_start_at DESC NULLS LAST, call_id, turn
