-- costs: what each call cost, and whether that is all
--
-- total_cost is in the account's currency, with every digit that the service
-- sent, credits_used in credits. A call that did not connect is not charged.
--
-- Grain: one row per call
-- Reads: calls
-- Columns:
--   call_id         VARCHAR NOT NULL          -       the call
--   agent_id        VARCHAR                   -       the agent that spoke
--   start_at        TIMESTAMP WITH TIME ZONE  -       when the call started
--   local_date      DATE                      -       day of its start, as in calls
--   total_cost      DECIMAL(38,18)            money   what the call cost; null until known
--   credits_used    DECIMAL(38,18)            -       credits charged; null where the service tells none
--   billed_seconds  DECIMAL(38,18)            s       time charged; null where the service tells none
--   unit            VARCHAR                   -       in what the cost is told: currency, where total_cost is known, or credits; null: it is not known
--   cost_state      VARCHAR NOT NULL          -       known (in either unit), none (it did not connect), awaited (to come) or never (it did not come)
--   talk_ms         BIGINT                    ms      duration of a connected call
--   is_connected    BOOLEAN                   -       somebody answered, or a machine did; null where that is not known
--   is_completed    BOOLEAN NOT NULL          -       the caller spoke, and the call ended by a hang-up, as in calls

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
