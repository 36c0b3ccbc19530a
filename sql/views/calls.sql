-- calls: every call, with the derived columns that reports use
--
-- Stored columns come first, named as in the API, then derived columns. Local
-- times are in the zone of --tz (default UTC): a repeated hour of the clock counts
-- twice, a skipped one has no calls.
--
-- agent_name is looked up in the table agents. A renamed agent has its current name in all its
-- calls, also in earlier ones; agents_at(TIME) returns the name at that time. A deleted
-- agent keeps the last name that was listed. The name is null if the agent was never
-- listed, or has no name, or if the user may not read agents. Two agents may have one
-- name: group by agent_id as well.
--
-- Grain: one row per call
-- Reads: stored.calls
-- Columns:
--   *
--   is_over              BOOLEAN NOT NULL    -        whether the call is over
--   is_connected         BOOLEAN             -        whether a person or machine answered; null: unknown status or reason, or neither was sent
--   is_voicemail         BOOLEAN NOT NULL    -        whether a machine answered
--   outcome              VARCHAR NOT NULL    -        not_connected, voicemail, failed, abandoned, transferred, completed or unknown; never null
--   outcome_kind         VARCHAR NOT NULL    -        detail of outcome, such as no answer, error, never spoke; unknown words by name
--   is_answered          BOOLEAN NOT NULL    -        over, answered by a person as far as is known, and known whether the caller spoke; the denominator of completed shares
--   is_completed         BOOLEAN NOT NULL    -        whether outcome is completed
--   is_conversed         BOOLEAN             -        connected, no voicemail, and the caller spoke; null: unknown
--   talk_ms              BIGINT              ms       duration of a connected call; null if it did not connect
--   local_start          TIMESTAMP           -        local time of the start
--   local_date           DATE                -        local day of the start
--   local_hour           BIGINT              -        local hour of the start, 0 to 23
--   weekday              ENUM                -        local weekday of the start, Monday first
--   week                 DATE                -        Monday of the local ISO week of the start
--   local_month          VARCHAR             -        local month of the start, such as 2026-11
--   caller               VARCHAR             -        number of the other side: calling number of an inbound call, called number of an outbound call; in E.164 form if it has one, else as sent; null: not sent, withheld by the caller (anonymous), or direction unknown
--   agent_name           VARCHAR             -        current name of the agent, or the last known one of a deleted agent; null: unknown

-- In layers, so that a column derived from a macro's result does not copy the macro's text.
WITH facts AS (
    SELECT stored.* REPLACE (direction_of(direction, call_type) AS direction),
        call_over(settlement) AS is_over,
        call_connected(start_at IS NOT NULL, status, disconnection_reason) AS is_connected,
        call_voicemail(disconnection_reason) AS is_voicemail,
        call_spoke(user_turns > 0, transcript_state) AS spoke,
        short_step_of(duration_ms) AS short_step,
        local_time(start_at) AS local_start
    FROM stored.calls AS stored
), ends AS (
    SELECT *, call_end(is_over, is_connected, status, disconnection_reason, transcript_state, spoke, short_step) AS ended
    FROM facts
)
SELECT * EXCLUDE (spoke, short_step, local_start, ended),
    ended.outcome AS outcome,
    ended.kind AS outcome_kind,
    call_answered(is_over, is_connected, is_voicemail, spoke) AS is_answered,
    ended.outcome = 'completed' AS is_completed,
    call_conversed(is_connected, is_voicemail, spoke) AS is_conversed,
    CASE WHEN is_connected THEN duration_ms END AS talk_ms,
    local_start,
    CAST(local_start AS DATE) AS local_date,
    hour(local_start) AS local_hour,
    weekday_of(local_start) AS weekday,
    week_of(local_start) AS week,
    month_of(local_start) AS local_month,
    caller_of(direction, from_e164, from_number, to_e164, to_number) AS caller,
    agent_name_of(agent_id) AS agent_name
FROM ends
