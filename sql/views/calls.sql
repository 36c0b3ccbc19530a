-- calls: every call, with what the reports agree on about it
--
-- All stored columns, as the API names them, and after them what is derived.
-- Local times are those of the zone that --tz names (UTC unless given): an hour
-- that the clocks repeat counts twice, an hour that they skip has no calls.
--
-- Grain: one row per call
-- Reads: stored.calls
-- Columns:
--   *
--   is_over              BOOLEAN NOT NULL    -        the call is over
--   is_connected         BOOLEAN             -        somebody answered, or a machine did; null where the service uses a word that is not known, or none
--   is_voicemail         BOOLEAN NOT NULL    -        a machine answered
--   outcome              VARCHAR NOT NULL    -        not_connected, voicemail, failed, abandoned, transferred, completed or unknown: every call has one
--   outcome_kind         VARCHAR NOT NULL    -        more exactly, as in no answer, error, never spoke; what is not known, by name
--   is_answered          BOOLEAN NOT NULL    -        over, answered by a person as far as is known, and known whether the caller spoke: the whole that completed calls are a share of
--   is_completed         BOOLEAN NOT NULL    -        outcome is completed: the caller spoke, and the call ended by a hang-up
--   is_conversed         BOOLEAN             -        connected, no machine, and the caller said something; null where that is not known
--   talk_ms              BIGINT              ms       duration of a connected call; null for one that did not connect
--   local_start          TIMESTAMP           -        wall clock at its start
--   local_date           DATE                -        day of its start
--   local_hour           BIGINT              -        hour of its start, 0 to 23
--   weekday              ENUM                -        day of the week of its start, Monday first
--   week                 DATE                -        Monday of the ISO week of its start
--   local_month          VARCHAR             -        month of its start, as in 2026-11
--   caller               VARCHAR             -        number of the other side: of an inbound call the calling one, of an outbound call the called one; in the form of E.164 if it has that, else as it was sent; null: not told, or the direction is not known

-- In layers: what follows from a macro's result is not made of a copy of its text.
WITH facts AS (
    SELECT stored.* REPLACE (direction_of(direction, call_type) AS direction),
        call_over(settlement) AS is_over,
        call_connected(start_at IS NOT NULL, status, disconnection_reason) AS is_connected,
        call_voicemail(disconnection_reason) AS is_voicemail,
        call_spoke(user_turns > 0, transcript_state) AS spoke,
        short_step_of(duration_ms) AS short_step,
        local_time(start_at) AS local_start
    FROM stored.calls AS stored
), kinds AS (
    SELECT *, call_kind(is_over, is_connected, status, disconnection_reason, transcript_state, spoke, short_step) AS outcome_kind
    FROM facts
), outcomes AS (
    SELECT *, outcome_of(outcome_kind) AS outcome
    FROM kinds
)
SELECT * EXCLUDE (spoke, short_step, local_start, outcome_kind, outcome),
    outcome, outcome_kind,
    outcome_answered(outcome, is_over, spoke) AS is_answered,
    outcome = 'completed' AS is_completed,
    call_conversed(is_connected, is_voicemail, spoke) AS is_conversed,
    CASE WHEN is_connected THEN duration_ms END AS talk_ms,
    local_start,
    CAST(local_start AS DATE) AS local_date,
    hour(local_start) AS local_hour,
    weekday_of(local_start) AS weekday,
    week_of(local_start) AS week,
    month_of(local_start) AS local_month,
    caller_of(direction, from_e164, from_number, to_e164, to_number) AS caller
FROM outcomes
