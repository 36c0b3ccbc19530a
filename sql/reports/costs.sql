-- costs: what calls cost, in all and by call, minute and contained call
--
-- Over the calls whose cost is known; calls that did not connect have none.
-- total_cost is exact. What is divided is rounded to four decimals, halves away
-- from zero. A contained call's cost is the cost of all calls divided by the
-- contained ones: what the organisation pays for one call that needed nobody else.
--
-- Grain: one row per group
-- Reads: tallied
-- Tallies: is_started, status, disconnection_reason, settlement
-- Needs: end, cost
-- Columns:
--   key                 VARCHAR        -        the group that --by asks for
--   calls               BIGINT         count    calls
--   total_cost          DECIMAL(38,18)  money    sum of the known costs, in the account's currency
--   per_call            DECIMAL(38,4)  money    of it for a call whose cost is known
--   per_minute          DECIMAL(38,4)  money    of it for a connected minute: the cost of the connected calls whose duration is known, by their talk time
--   per_contained_call  DECIMAL(38,4)  money    of it for a contained call whose cost is known
--   costed_calls        BIGINT         count    calls whose cost is known
--   contained_calls     BIGINT         count    of them those that the agent handled alone
--   talk_ms             HUGEINT        ms       talk time of the calls whose cost is known

WITH summed AS (
    SELECT key,
        total_of(calls) AS calls,
        total_of(costed_calls) AS costed_calls,
        sum(total_cost) AS total_cost,
        sum(timed_cost) FILTER (is_connected) AS talk_cost,
        sum(costed_ms) FILTER (is_connected) AS talk_ms,
        sum_if(costed_calls, is_contained) AS contained_calls
    FROM tallied
    GROUP BY key
)
SELECT key, calls, total_cost,
    money_per(total_cost, costed_calls, 1) AS per_call,
    money_per(talk_cost, talk_ms, 60000) AS per_minute,
    money_per(total_cost, contained_calls, 1) AS per_contained_call,
    costed_calls, contained_calls, talk_ms
FROM summed
ORDER BY group_rank(calls), key NULLS LAST
