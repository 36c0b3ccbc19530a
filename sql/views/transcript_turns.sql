-- transcript_turns: transcripts of calls, in order
--
-- Spoken turns, tool invocations and tool results.
--
-- Grain: one row per item of a call's transcript
-- Reads: stored.transcript_turns
-- Columns:
--   *
--   talk_ms        BIGINT                    ms  time from start to end, at least 0
--   is_spoken      BOOLEAN NOT NULL          -   whether it is speech of the agent or caller

SELECT stored.*, CASE WHEN end_at < start_at THEN 0 ELSE epoch_ms(end_at) - epoch_ms(start_at) END AS talk_ms,
    coalesce(role = 'agent' OR role = 'user', false) AS is_spoken
FROM stored.transcript_turns AS stored
