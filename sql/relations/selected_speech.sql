-- selected_speech: the selected calls, with the facts of their transcripts
--
-- Files of earlier versions lack these facts; then they are computed here, as the
-- dictionary of calls defines them, from the turns.
--
-- Reads: selected, transcript_turns

WITH items AS NOT MATERIALIZED (
    SELECT call_id, turn, role, tool_call_id, tool_name, content, extra, call_start_at,
        epoch_ms(start_at) AS begins, epoch_ms(CASE WHEN end_at < start_at THEN start_at ELSE end_at END) AS ends
    FROM transcript_turns
    SEMI JOIN (SELECT call_id FROM selected WHERE spoken_turns IS NULL AND turn_count > 0) USING (call_id)
), spoken AS NOT MATERIALIZED (
    SELECT call_id, turn, role, begins, ends,
        lag(role) OVER in_order AS role_before,
        lag(ends) OVER in_order AS end_before,
        max(ends) FILTER (role = 'agent') OVER so_far AS agent_until,
        max(ends) FILTER (role = 'user') OVER so_far AS user_until
    FROM items
    WHERE (role = 'agent' OR role = 'user') AND begins IS NOT NULL AND ends IS NOT NULL
    WINDOW in_order AS (PARTITION BY call_id ORDER BY turn),
        so_far AS (PARTITION BY call_id ORDER BY turn ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), turns AS (
    SELECT *, ends - begins AS talk_ms,
        CASE WHEN role = 'agent' AND role_before = 'user' AND begins >= end_before THEN begins - end_before END AS latency_ms,
        coalesce(begins < CASE role WHEN 'agent' THEN user_until ELSE agent_until END, false) AS interrupts,
        begins - greatest(agent_until, user_until) AS silence_ms
    FROM spoken
), speech AS (
    SELECT call_id,
        count(*) AS spoken_turns,
        coalesce(sum(talk_ms) FILTER (role = 'agent'), 0) AS agent_talk_ms,
        coalesce(sum(talk_ms) FILTER (role = 'user'), 0) AS user_talk_ms,
        to_json(list(latency_ms ORDER BY turn) FILTER (latency_ms IS NOT NULL)) AS response_ms,
        count(*) FILTER (interrupts AND role = 'agent') AS agent_interruptions,
        count(*) FILTER (interrupts AND role = 'user') AS user_interruptions,
        CASE WHEN max(silence_ms) < 0 THEN 0 ELSE max(silence_ms) END AS longest_silence_ms
    FROM turns
    GROUP BY call_id
), uses AS (
    SELECT call_id, greatest(count(*) FILTER (role = 'tool_call_invocation'), count(*) FILTER (role = 'tool_call_result')) AS uses
    FROM items
    WHERE role = 'tool_call_invocation' OR role = 'tool_call_result'
    GROUP BY call_id, coalesce(tool_call_id, CAST(turn AS VARCHAR)), tool_call_id IS NULL
), tool_uses AS (
    SELECT call_id, sum(uses) AS tool_uses
    FROM uses
    GROUP BY call_id
), others AS (
    SELECT call_id,
        min(begins) FILTER (role = 'agent') - epoch_ms(any_value(call_start_at)) AS agent_first_word_ms,
        min(begins) FILTER (role = 'user') - epoch_ms(any_value(call_start_at)) AS user_first_word_ms,
        count(*) FILTER (role = 'tool_call_result' AND tells_failure(tool_result(content, extra))) AS failed_tool_uses,
        arg_max(tool_name, turn) FILTER (role = 'tool_call_invocation' AND tool_name IS NOT NULL) AS last_tool
    FROM items
    GROUP BY call_id
)
SELECT *
FROM selected
WHERE spoken_turns IS NOT NULL OR turn_count IS NULL OR turn_count = 0
UNION ALL
SELECT s.* REPLACE (
    CAST(coalesce(speech.spoken_turns, 0) AS INTEGER) AS spoken_turns,
    CAST(coalesce(speech.agent_talk_ms, 0) AS BIGINT) AS agent_talk_ms,
    CAST(coalesce(speech.user_talk_ms, 0) AS BIGINT) AS user_talk_ms,
    speech.response_ms AS response_ms,
    CAST(coalesce(speech.agent_interruptions, 0) AS INTEGER) AS agent_interruptions,
    CAST(coalesce(speech.user_interruptions, 0) AS INTEGER) AS user_interruptions,
    speech.longest_silence_ms AS longest_silence_ms,
    others.agent_first_word_ms AS agent_first_word_ms,
    others.user_first_word_ms AS user_first_word_ms,
    CAST(coalesce(tool_uses.tool_uses, 0) AS INTEGER) AS tool_uses,
    CAST(coalesce(others.failed_tool_uses, 0) AS INTEGER) AS failed_tool_uses,
    others.last_tool AS last_tool)
FROM selected s LEFT JOIN speech USING (call_id) LEFT JOIN tool_uses USING (call_id) LEFT JOIN others USING (call_id)
WHERE s.spoken_turns IS NULL AND s.turn_count > 0
