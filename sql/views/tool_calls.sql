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
-- or if it is not JSON and begins, after white space, with the word error, exception,
-- failed, failure, timeout or traceback, in any case ("errors found" is no failure).
-- Any other result is no failure; without a result, failed is null.
--
-- Grain: one row per tool call
-- Reads: stored.tool_calls
-- Columns:
--   *

SELECT stored.*
FROM stored.tool_calls AS stored
