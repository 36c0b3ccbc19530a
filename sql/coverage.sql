-- coverage: how far the selected calls can be trusted
--
-- Grain: one row
-- Reads: selected
-- Columns:
--   calls                BIGINT  count  calls selected
--   not_over             BIGINT  count  of them going on
--   analysis_awaited     BIGINT  count  of them over, their analysis to come
--   analysis_never       BIGINT  count  of them connected, their analysis given up
--   withheld             BIGINT  count  of them opted out: no analysis, no transcript
--   transcripts_pending  BIGINT  count  of them over, their transcript not fetched yet
--   transcripts_missing  BIGINT  count  of them gone before their transcript was fetched
--   untimed              BIGINT  count  of them over, their duration unknown
--   costs_awaited        BIGINT  count  of them over and connected, their cost to come
--   costs_never          BIGINT  count  of them connected, their cost given up

SELECT
    count(*) AS calls,
    count(*) FILTER (NOT is_over) AS not_over,
    count(*) FILTER (settlement = 'ended' AND is_connected AND user_sentiment IS NULL AND NOT opted_out) AS analysis_awaited,
    count(*) FILTER (settlement = 'expired' AND is_connected AND user_sentiment IS NULL AND NOT opted_out) AS analysis_never,
    count(*) FILTER (opted_out) AS withheld,
    count(*) FILTER (is_over AND transcript_state = 'pending') AS transcripts_pending,
    count(*) FILTER (transcript_state = 'missing') AS transcripts_missing,
    count(*) FILTER (is_over AND duration_ms IS NULL) AS untimed,
    count(*) FILTER (settlement = 'ended' AND is_connected AND total_cost IS NULL) AS costs_awaited,
    count(*) FILTER (settlement = 'expired' AND is_connected AND total_cost IS NULL) AS costs_never
FROM (SELECT *, coalesce(opt_out_sensitive_data_storage, false) AS opted_out FROM selected)
