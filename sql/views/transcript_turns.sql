-- transcript_turns: what was said and done in every call, in order
--
-- Spoken turns, tool calls and their results, as one time line per call.
--
-- Grain: one row per item of a call's transcript
-- Reads: stored.transcript_turns
-- Columns:
--   call_id        VARCHAR NOT NULL          -   the call
--   turn           INTEGER NOT NULL          -   position in the call's time line, from 0
--   role           VARCHAR                   -   agent, user, tool_call_invocation or tool_call_result
--   content        VARCHAR                   -   what was said, or what the tool answered
--   start_at       TIMESTAMP WITH TIME ZONE  -   when the turn began; null for tool calls
--   end_at         TIMESTAMP WITH TIME ZONE  -   when the turn ended; null for tool calls
--   tool_call_id   VARCHAR                   -   joins a tool's invocation to its result
--   tool_name      VARCHAR                   -   the tool; null on its result
--   arguments      JSON                      -   what the tool was called with
--   extra          JSON                      -   fields of the item that no other column holds
--   call_start_at  TIMESTAMP WITH TIME ZONE  -   start of the call, for narrowing by time without a join
--   fetched_at     TIMESTAMP WITH TIME ZONE  -   when the call was fetched, for models that load only what is new; null: written by an earlier version (extract migrate)
--   month          VARCHAR NOT NULL          -   the partition that it lies in, as in calls
--   talk_ms        BIGINT                    ms  from the turn's start to its end
--   is_spoken      BOOLEAN NOT NULL          -   said by the agent or the caller, and no tool call

SELECT stored.*, epoch_ms(end_at) - epoch_ms(start_at) AS talk_ms,
    coalesce(role = 'agent' OR role = 'user', false) AS is_spoken
FROM stored.transcript_turns AS stored
