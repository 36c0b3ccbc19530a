-- campaigns: how far each campaign has come: its calls by the service's own count
--
-- The figures are those that the service told when its campaigns were last listed:
-- completed and failed calls as it counts them, which is not what completed means in
-- other reports. Campaigns that are gone are there as they were last seen.
--
-- Grain: one row per campaign
-- Reads: campaigns
-- Empty: there are no campaigns
-- Example: query campaigns
-- Columns:
--   name              VARCHAR  -        the campaign's name
--   status            VARCHAR  -        draft, pending, ongoing, paused, success, fail or canceled
--   agent_id          VARCHAR  -        the agent that speaks
--   total_calls       BIGINT   count    calls that it is to place
--   completed_calls   BIGINT   count    of them completed, by the service's count
--   failed_calls      BIGINT   count    of them failed or canceled
--   progress_percent  DOUBLE   percent of total  share of the completed and the failed ones
--   created_at        TIMESTAMP WITH TIME ZONE  -  when it was made
--   scheduled_at      TIMESTAMP WITH TIME ZONE  -  when it is to begin
--   finished_at       TIMESTAMP WITH TIME ZONE  -  when it was over
--   deleted_at        TIMESTAMP WITH TIME ZONE  -  when the service's list no longer had it; null: it is there
--   campaign_id       VARCHAR  -        its id

SELECT name, status, agent_id, total_calls, completed_calls, failed_calls,
    percent_of(completed_calls + failed_calls, total_calls) AS progress_percent,
    created_at, scheduled_at, finished_at, deleted_at, campaign_id
FROM campaigns
ORDER BY deleted_at IS NOT NULL, created_at DESC NULLS LAST, campaign_id
