-- tool_calls: tool calls of agents: each invocation with its result
--
-- The n-th invocation of a tool_call_id in a call is paired with the n-th result
-- of that id. Without a result, the result's columns are null; without an
-- invocation, the invocation's. Items without an id are not paired.
--
-- The service sends no times of tools. pause_ms is the pause in speech around the
-- tool call, an upper bound of the tool's time; other tools may share the pause.
--
-- A tool call failed if its result is a JSON object with any of
-- error or errors that is not null, false, 0 or empty;
-- status equal to error, errored, failed, failure, fault, exception, timeout or timed_out, in any case;
-- status, status_code, statusCode or code that is a number from 400 to 599;
-- success or ok that is false; is_error or isError that is true;
-- or if it is not JSON and begins with error, exception, failed, failure,
-- timeout or traceback, in any case. Any other result is no failure; without a
-- result, failed is null.
--
-- Grain: one row per tool call
-- Reads: transcript_turns
-- Columns:
--   call_id        VARCHAR NOT NULL          -   id of the call
--   turn           INTEGER NOT NULL          -   position of the invocation, else of the result, in the transcript
--   tool_call_id   VARCHAR                   -   id of the tool call within the call
--   tool_name      VARCHAR                   -   tool name
--   arguments      JSON                      -   arguments of the tool
--   result_turn    INTEGER                   -   position of the result; null: no result
--   result         VARCHAR                   -   result as sent; an object as JSON
--   failed         BOOLEAN                   -   whether the result is a failure; null: no result
--   started_at     TIMESTAMP WITH TIME ZONE  -   time of the invocation; null: not sent
--   ended_at       TIMESTAMP WITH TIME ZONE  -   time of the result; null: not sent
--   duration_ms    BIGINT                    ms  time from started_at to ended_at
--   pause_ms       BIGINT                    ms  pause in speech around it; null: no speech before or after
--   call_start_at  TIMESTAMP WITH TIME ZONE  -   start of the call, to filter by time without a join
--   month          VARCHAR NOT NULL          -   partition, as in calls

-- All that is grouped here is grouped by the call, its start and its month, so that
-- conditions on any of them reach the files.
WITH told AS (
    SELECT *, CASE WHEN is_result THEN tells_failure(result) END AS failed
    FROM (
        SELECT * EXCLUDE (extra), role = 'tool_call_invocation' AS is_invocation, role = 'tool_call_result' AS is_result,
            CASE WHEN role = 'tool_call_result' THEN tool_result(content, extra) END AS result
        FROM transcript_turns
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
        CASE WHEN count(said_until) = count(*) THEN min(said_until) END AS said_until,
        CASE WHEN count(said_from) = count(*) THEN max(said_from) END AS said_from
    FROM items
    GROUP BY call_start_at, call_id, month, tool_call_id, nth
)
SELECT call_id, turn, tool_call_id, tool_name, arguments, result_turn, result, failed,
    started_at, ended_at,
    epoch_ms(ended_at) - epoch_ms(started_at) AS duration_ms,
    CASE WHEN said_from < said_until THEN 0 ELSE epoch_ms(said_from) - epoch_ms(said_until) END AS pause_ms,
    call_start_at, month
FROM paired
