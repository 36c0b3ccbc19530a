-- call CALL_ID: one call as a readable conversation
--
-- Read from the top: the first turns say what the caller wants, and ✗ marks a tool that
-- failed. The facts above name the agent and the place of the recording.
--
-- Speech and tool calls in order, each with its time since the start of the call.
-- Arguments and results of tools are as sent; a failed result is marked. CALL_ID is the id
-- of the call, or its beginning if that is unique; … in it stands for any letters.
--
-- Grain: one row per item of the call's transcript
-- Reads: transcript_turns
-- Empty: the call has no transcript
-- Example: query call 0014e571-6a1e-4ac3-8f7e-3c1f6e7f2a10
-- Columns:
--   turn   INTEGER  -      position in the transcript, from 0
-- * at_ms  BIGINT   ms     time since the start of the call; null for tools
-- * who    VARCHAR  -      agent, user, a tool's name, or another word of the service
-- * what   VARCHAR  prose  speech; → arguments of a tool, ← its result, ✗ its failure

-- Files are sorted by the start of calls: a condition on it skips the others.
WITH turns AS (
    SELECT *, max(tool_name) OVER (PARTITION BY tool_call_id) AS tool
    FROM transcript_turns
    WHERE call_id = $call_id
        AND ($call_start_at IS NULL OR call_start_at = CAST($call_start_at AS TIMESTAMP WITH TIME ZONE))
)
SELECT turn,
    epoch_ms(start_at) - epoch_ms(call_start_at) AS at_ms,
    CASE
        WHEN role = 'tool_call_invocation' THEN coalesce(tool_name, 'tool')
        WHEN role = 'tool_call_result' THEN CASE WHEN tool_call_id IS NULL THEN 'tool' ELSE coalesce(tool, 'tool') END
        ELSE role
    END AS who,
    CASE
        WHEN role = 'tool_call_invocation' THEN '→ ' || coalesce(CAST(arguments AS VARCHAR), '')
        WHEN role = 'tool_call_result' THEN CASE WHEN is_failure(tool_result(content, extra)) THEN '✗ ' ELSE '← ' END || coalesce(tool_result(content, extra), '')
        ELSE content
    END AS what
FROM turns
ORDER BY turn
