-- costs: cost of each call, and whether it is final
--
-- total_cost is in the account's currency, exactly as sent; credits_used is in
-- credits. A call that did not connect is not charged.
--
-- Grain: one row per call
-- Reads: calls
-- Columns:
--   call_id         VARCHAR NOT NULL          -       id of the call
--   agent_id        VARCHAR                   -       id of the agent
--   start_at        TIMESTAMP WITH TIME ZONE  -       start of the call
--   local_date      DATE                      -       local day of the start, as in calls
--   total_cost      DECIMAL(38,18)            money   cost of the call; null until known
--   credits_used    DECIMAL(38,18)            -       credits charged; null: not sent
--   billed_seconds  DECIMAL(38,18)            s       time charged; null: not sent
--   unit            VARCHAR                   -       currency if total_cost is known, else credits; null: cost unknown
--   cost_state      VARCHAR NOT NULL          -       known (in either unit), none (did not connect), awaited (pending) or never (it did not come)
--   talk_ms         BIGINT                    ms      duration of a connected call
--   is_connected    BOOLEAN                   -       whether a person or machine answered; null: unknown
--   is_completed    BOOLEAN NOT NULL          -       whether outcome is completed, as in calls

SELECT call_id, agent_id, start_at, local_date, total_cost, credits_used, billed_seconds,
    cost_unit(total_cost, credits_used) AS unit,
    CASE
        WHEN total_cost IS NOT NULL OR credits_used IS NOT NULL THEN 'known'
        WHEN is_over AND NOT is_connected THEN 'none'
        WHEN settlement = 'open' OR settlement = 'ended' THEN 'awaited'
        ELSE 'never'
    END AS cost_state,
    talk_ms, is_connected, is_completed
FROM calls
