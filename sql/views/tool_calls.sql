-- tool_calls: what agents had tools do: each invocation with its result
--
-- The n-th invocation of a tool_call_id in a call belongs to the n-th result of
-- that id. An invocation without a result has null in the result's columns, a
-- result without an invocation in the invocation's. Items without an id stand alone.
--
-- The service tells no times of tools. What is known is the pause in which a
-- tool ran: from the end of what was said before to the beginning of what was
-- said after. The tool took at most so long, alone or with others in the pause.
--
-- A tool call failed if its result is a JSON object with one of
-- an error (or errors) that is not null, false, 0 or empty;
-- a status of error, errored, failed, failure, fault, exception, timeout or timed_out, in any case;
-- a status, status_code, statusCode or code that is a number from 400 to 599;
-- success or ok that is false; is_error or isError that is true;
-- or if it is no JSON and begins with error, exception, failed, failure,
-- timeout or traceback, in any case. Any other result is no failure, and
-- without a result nothing is known.
--
-- Grain: one row per tool call
-- Reads: transcript_turns
-- Columns:
--   call_id        VARCHAR NOT NULL          -   the call
--   turn           INTEGER NOT NULL          -   position of the invocation (else of the result) in the call's time line
--   tool_call_id   VARCHAR                   -   the service's name of it, within the call
--   tool_name      VARCHAR                   -   the tool
--   arguments      JSON                      -   what it was called with
--   result_turn    INTEGER                   -   position of the result; null: there is none
--   result         VARCHAR                   -   what it answered, as the service sent it; an object as its JSON
--   failed         BOOLEAN                   -   the result tells of a failure; null: there is no result
--   started_at     TIMESTAMP WITH TIME ZONE  -   when it was called; null where the service tells no times of tools
--   ended_at       TIMESTAMP WITH TIME ZONE  -   when it had answered; null as above
--   duration_ms    BIGINT                    ms  from started_at to ended_at
--   pause_ms       BIGINT                    ms  the pause in speech in which it ran; null where nothing was said before or after
--   call_start_at  TIMESTAMP WITH TIME ZONE  -   start of the call, for narrowing by time without a join
--   month          VARCHAR NOT NULL          -   the partition that it lies in, as in calls

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
