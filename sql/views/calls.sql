-- calls: every call, with what the reports agree on about it
--
-- All stored columns, as the API names them, and after them what is derived.
-- Local times are those of the zone that --tz names (UTC unless given): an hour
-- that the clocks repeat counts twice, an hour that they skip has no calls.
--
-- Grain: one row per call
-- Reads: stored.calls
-- Columns:
--   call_id              VARCHAR NOT NULL    -        the call
--   agent_id             VARCHAR             -        the agent that spoke
--   agent_version        VARCHAR             -        its version: production, current or a pinned one, as in v262
--   call_type            VARCHAR             -        web, phone, inbound, outbound or api
--   status               VARCHAR             -        queued, ongoing, ended, error, canceled or not_connected
--   disconnection_reason  VARCHAR            -        why the call ended; null while it goes on, and when there was nothing to end
--   from_number          VARCHAR             -        who calls
--   to_number            VARCHAR             -        who is called
--   presentation_number  VARCHAR             -        the number shown to the called party
--   start_at             TIMESTAMP WITH TIME ZONE  -  when the call started
--   end_at               TIMESTAMP WITH TIME ZONE  -  when it ended; null while it goes on
--   duration_ms          BIGINT              ms       from start to end
--   total_cost           DECIMAL(38,18)      money    what the call cost, in the account's currency; null until known, and for ever if it did not connect
--   credits_used         DECIMAL(38,18)      -        credits charged; calls read through the v2 API only
--   billed_seconds       DECIMAL(38,18)      s        time charged; calls read through the v2 API only
--   summary              VARCHAR             -        what the call was about, by the service's analysis
--   user_sentiment       VARCHAR             -        how the caller felt, by the service's analysis
--   evaluation           JSON                -        the service's evaluation; calls read through the v2 API only
--   metadata             JSON                -        free keys set by whoever placed the call
--   dynamic_variables    JSON                -        variables that the agent was given
--   variant_label        VARCHAR             -        the variant that the call fell to in a split test
--   recording_url        VARCHAR             -        a signed link to the recording, which expires
--   opt_out_sensitive_data_storage  BOOLEAN  -        true: transcript, recording and analysis are never stored
--   turn_count           INTEGER             count    items of its transcript; null: never fetched
--   transcript_state     VARCHAR NOT NULL    -        pending, present, empty, withheld (opted out) or missing (its detail is gone)
--   settlement           VARCHAR NOT NULL    -        open (not over), ended (analysis or cost to come), settled, or expired (they never came)
--   source               VARCHAR NOT NULL    -        version of the API that it was read through: v3 or v2
--   extra                JSON                -        fields of the call that no other column holds
--   first_seen_at        TIMESTAMP WITH TIME ZONE NOT NULL  -  when it was first listed
--   fetched_at           TIMESTAMP WITH TIME ZONE NOT NULL  -  when what stands here was fetched
--   run_id               VARCHAR NOT NULL    -        the run that fetched it, as in the table runs
--   user_turns           INTEGER             count    turns in which the caller says something (role user, not blank); null: never fetched, or written by an earlier version (extract migrate)
--   month                VARCHAR NOT NULL    -        the partition that it lies in: UTC month of its start, as in 2026-11
--   is_over              BOOLEAN NOT NULL    -        the call is over
--   is_connected         BOOLEAN NOT NULL    -        somebody answered, or a machine did
--   is_voicemail         BOOLEAN NOT NULL    -        a machine answered
--   is_transferred       BOOLEAN NOT NULL    -        the agent passed the call on
--   is_contained         BOOLEAN NOT NULL    -        connected, over, and neither transferred nor with a machine: the agent handled it alone
--   is_conversed         BOOLEAN             -        connected, no machine, and the caller said something; null where that is not known
--   talk_ms              BIGINT              ms       duration of a connected call; null for one that did not connect
--   local_start          TIMESTAMP           -        wall clock at its start
--   local_date           DATE                -        day of its start
--   local_hour           BIGINT              -        hour of its start, 0 to 23
--   weekday              ENUM                -        day of the week of its start, Monday first
--   week                 DATE                -        Monday of the ISO week of its start
--   local_month          VARCHAR             -        month of its start, as in 2026-11

SELECT
    stored.*,
    call_over(settlement) AS is_over,
    call_connected(start_at IS NOT NULL, status, disconnection_reason) AS is_connected,
    call_voicemail(disconnection_reason) AS is_voicemail,
    call_transferred(disconnection_reason) AS is_transferred,
    is_connected AND is_over AND NOT is_transferred AND NOT is_voicemail AS is_contained,
    is_connected AND NOT is_voicemail AND user_turns > 0 AS is_conversed,
    CASE WHEN is_connected THEN duration_ms END AS talk_ms,
    local_time(start_at) AS local_start,
    CAST(local_time(start_at) AS DATE) AS local_date,
    hour(local_time(start_at)) AS local_hour,
    weekday_of(local_time(start_at)) AS weekday,
    week_of(local_time(start_at)) AS week,
    month_of(local_time(start_at)) AS local_month
FROM stored.calls AS stored
