-- calls: which calls they are, the newest first
--
-- A line for each call, to look through and to go on from: query call shows what
-- was said in one. --most shows so many of them, --skip leaves out the newest.
-- Calls without a start come last. query export has all columns.
--
-- Grain: one row per call
-- Reads: selected
-- Flags: most
-- Needs: end, analysis
-- Example: query calls --since 1d --where outcome=abandoned --most 20
-- Columns:
--   call_id               VARCHAR  -      the call: query call shows what was said
--   start_at              TIMESTAMP WITH TIME ZONE  -  when it started
--   call_type             VARCHAR  -      web, phone, inbound, outbound or api
--   agent_id              VARCHAR  -      the agent
--   from_number           VARCHAR  -      who called
--   to_number             VARCHAR  -      who was called
--   duration_ms           BIGINT   ms     how long it lasted
--   outcome               VARCHAR  -      how it ended
--   disconnection_reason  VARCHAR  -      why it ended, by the service
--   user_sentiment        VARCHAR  -      how the caller felt, by the service's analysis
--   summary               VARCHAR  -      what it was about, by the service's analysis

SELECT call_id, start_at, call_type, agent_id, from_number, to_number, duration_ms, outcome, disconnection_reason, user_sentiment, summary
FROM selected
ORDER BY start_at DESC NULLS LAST, call_id
LIMIT getvariable('most') OFFSET getvariable('skip')
