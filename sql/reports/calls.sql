-- calls: list of calls, newest first
--
-- Choose calls with --where, --agent and --since, then read one with query call CALL_ID.
-- To count calls, see outcomes.
--
-- One row per call, to browse; query call shows the conversation. --top limits the rows,
-- --skip leaves out the newest. Calls without a start come last. query export has all
-- columns.
--
-- Grain: one row per call
-- Reads: selected
-- Flags: skip
-- Needs: end, analysis
-- Example: query calls --since 1d --where outcome=abandoned --top 20
-- Columns:
-- * call_id               VARCHAR  -      id of the call, for query call
-- * start_at              TIMESTAMP WITH TIME ZONE  -  start
--   call_type             VARCHAR  -      web, phone, inbound, outbound or api
-- * agent_id              VARCHAR  -      the agent
--   from_number           VARCHAR  -      calling number
--   to_number             VARCHAR  -      called number
--   duration_ms           BIGINT   ms     duration
-- * outcome               VARCHAR  -      outcome
--   disconnection_reason  VARCHAR  -      reason of its end by the service
--   user_sentiment        VARCHAR  -      sentiment of the caller by the service's analysis
-- * summary               VARCHAR  -      summary by the service's analysis

SELECT call_id, start_at, call_type, agent_id, from_number, to_number, duration_ms, outcome, disconnection_reason, user_sentiment, summary
FROM selected
ORDER BY start_at DESC NULLS LAST, call_id
LIMIT $most OFFSET $skip
