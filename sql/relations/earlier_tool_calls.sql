-- earlier_tool_calls: the tool calls of files of earlier formats, which store none
--
-- Made of the turns, as the dictionary defines tool_calls. extract migrate, and each night a part,
-- rewrites these files.
--
-- Reads: earlier_turns

-- Everything is grouped by the call, its start and its month, so that conditions on any of
-- them reach the files.
WITH told AS (
    SELECT *, CASE WHEN is_result THEN tells_failure(result) END AS failed
    FROM (
        SELECT * EXCLUDE (extra), role = 'tool_call_invocation' AS is_invocation, role = 'tool_call_result' AS is_result,
            CASE WHEN role = 'tool_call_result' THEN tool_result(content, extra) END AS result
        FROM (SELECT *, coalesce(role = 'agent' OR role = 'user', false) AS is_spoken FROM earlier_turns)
    )
), timed AS (
    SELECT *,
        max(end_at) FILTER (is_spoken) OVER earlier AS said_until,
        min(start_at) FILTER (is_spoken) OVER later AS said_from
    FROM told
    WINDOW earlier AS (PARTITION BY call_start_at, call_id, month ORDER BY turn ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING),
        later AS (PARTITION BY call_start_at, call_id, month ORDER BY turn ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING)
), items AS (
    SELECT *,
        CASE WHEN tool_call_id IS NULL THEN turn
            ELSE row_number() OVER (PARTITION BY tool_call_id, call_id, call_start_at, month, is_invocation ORDER BY turn) END AS nth
    FROM timed
    WHERE is_invocation OR is_result
), paired AS (
    SELECT call_start_at, call_id, month, tool_call_id,
        coalesce(min(turn) FILTER (is_invocation), min(turn)) AS turn,
        coalesce(any_value(tool_name) FILTER (is_invocation), any_value(tool_name)) AS tool_name,
        any_value(arguments) FILTER (is_invocation) AS arguments,
        min(turn) FILTER (is_result) AS result_turn,
        any_value(result) FILTER (is_result) AS result,
        any_value(failed) AS failed,
        min(start_at) FILTER (is_invocation) AS started_at,
        min(coalesce(end_at, start_at)) FILTER (is_result) AS ended_at,
        any_value(fetched_at) AS fetched_at,
        CASE WHEN count(said_until) = count(*) THEN min(said_until) END AS said_until,
        CASE WHEN count(said_from) = count(*) THEN max(said_from) END AS said_from
    FROM items
    GROUP BY call_start_at, call_id, month, tool_call_id, nth
)
SELECT call_id, turn, tool_call_id, tool_name, arguments, result_turn, result, failed,
    started_at, ended_at,
    CASE WHEN ended_at < started_at THEN 0 ELSE epoch_ms(ended_at) - epoch_ms(started_at) END AS duration_ms,
    CASE WHEN said_from < said_until THEN 0 ELSE epoch_ms(said_from) - epoch_ms(said_until) END AS pause_ms,
    row_number() OVER (PARTITION BY call_start_at, call_id, month, tool_name ORDER BY turn) = 1 AS is_first,
    call_start_at, fetched_at, month
FROM paired
