-- transcript_turns: what was said and done in every call, in order
--
-- Spoken turns, tool calls and their results, as one time line per call.
--
-- Grain: one row per item of a call's transcript
-- Reads: stored.transcript_turns
-- Columns:
--   *
--   talk_ms        BIGINT                    ms  from the turn's start to its end
--   is_spoken      BOOLEAN NOT NULL          -   said by the agent or the caller, and no tool call

SELECT stored.*, epoch_ms(end_at) - epoch_ms(start_at) AS talk_ms,
    coalesce(role = 'agent' OR role = 'user', false) AS is_spoken
FROM stored.transcript_turns AS stored
