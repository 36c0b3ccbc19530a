-- costs: costs in total, and per call, minute and completed call
--
-- Look at the cost per completed call, which includes what the other calls cost. wasted
-- is the share that voicemail, failed and silent calls cost.
--
-- Calls with a known cost are counted; calls that did not connect have none. A cost is in
-- the account's currency (total_cost) or in credits; a call with both counts in the
-- currency. The two are never added: a group with both has a row for each unit, and
-- costed_calls counts its calls. total_cost is exact. Quotients are rounded to four
-- decimals, halves away from zero. The cost per completed call is the cost of all calls
-- divided by the completed ones; answered calls of which it is not known whether the
-- caller spoke are in neither. With --field resolved=true the cost per success is added,
-- as in the report success: field_cost, the known costs of the calls in which the field
-- was found, divided by their successes.
--
-- Wasted is the cost of calls that a machine answered, that failed, or that were answered
-- but in which the caller never spoke, even if they were then transferred. A call is in
-- one of the three at most.
--
-- Grain: one row per group and unit
-- Reads: counted_calls of is_started status disconnection_reason settlement transcript_state caller_spoke short_step success unit
-- Needs: end, words, transcripts, cost
-- Flags: field
-- Keys: unit
-- Example: query costs --by month
-- Columns:
--   key                 VARCHAR         -                   group of --by
-- * unit                VARCHAR         -                   unit of the amounts: currency (of the account) or credits; null: no cost is known
-- * calls               BIGINT          count               calls of the group, with or without a known cost
-- * total_cost          DECIMAL(38,18)  money               sum of the known costs in the unit
-- * per_call            DECIMAL(38,4)   money: cost_spread  total_cost per call with a known cost
-- * per_minute          DECIMAL(38,4)   money               cost per connected minute: cost of the connected calls with a known duration, divided by their talk time
-- * per_completed_call  DECIMAL(38,4)   money               cost per completed call with a known cost, without calls of which it is not known whether the caller spoke
--   costed_calls        BIGINT          count               calls whose cost is known in the unit
--   completed_calls     BIGINT          count               completed calls among them: the caller spoke, and the call ended by a hang-up
--   talk_ms             HUGEINT         ms                  talk time of the calls whose cost is known
--   voicemail_cost      DECIMAL(38,18)  money               cost of the calls that a machine answered; null: no such call has a known cost
--   failed_cost         DECIMAL(38,18)  money               cost of the calls that failed; null: no such call has a known cost
--   silent_cost         DECIMAL(38,18)  money               cost of the answered calls in which the caller never spoke, and that did not fail; null: no such call has a known cost
-- * wasted_percent      DOUBLE          percent of cost     share of the total cost that is voicemail, failed or silent
--   field_cost          DECIMAL(38,18)  money               with --field: sum of the known costs of the calls in which the field was found
-- * known_calls         BIGINT          count               with --field: calls with a known cost in which the field was found
-- * successes           BIGINT          count               with --field: of these calls, those that were a success
-- * per_success         DECIMAL(38,4)   money               with --field: field_cost per success

WITH summed AS (
    SELECT key, unit,
        total_of(calls) AS unit_calls,
        total_of(costed_calls) AS costed_calls,
        sum(total_cost) AS total_cost,
        sum(timed_cost) FILTER (is_connected) AS talk_cost,
        sum(costed_ms) FILTER (is_connected) AS talk_ms,
        sum(total_cost) FILTER (NOT is_unheard) AS heard_cost,
        sum_if(costed_calls, is_completed) AS completed_calls,
        sum(total_cost) FILTER (outcome = 'voicemail') AS voicemail_cost,
        sum(total_cost) FILTER (outcome = 'failed') AS failed_cost,
        sum(total_cost) FILTER (is_answered AND NOT spoke AND outcome <> 'failed') AS silent_cost,
        sum(total_cost) FILTER (success IS NOT NULL) AS known_cost,
        sum_if(costed_calls, success IS NOT NULL) AS known_calls,
        sum_if(costed_calls, success) AS successes,
        sum(cost_squares) AS squares, sum(cost_cubes) AS cubes
    FROM counted_calls
    GROUP BY key, unit
), whole AS (
    SELECT *, CAST(sum(unit_calls) OVER (PARTITION BY key) AS BIGINT) AS calls
    FROM summed
    QUALIFY unit IS NOT NULL OR count(unit) OVER (PARTITION BY key) = 0
)
SELECT key, unit, calls, total_cost,
    money_per(total_cost, costed_calls, 1) AS per_call,
    money_per(talk_cost, talk_ms, 60000) AS per_minute,
    money_per(heard_cost, completed_calls, 1) AS per_completed_call,
    costed_calls, completed_calls, talk_ms, voicemail_cost, failed_cost, silent_cost,
    percent_of(coalesce(voicemail_cost, 0) + coalesce(failed_cost, 0) + coalesce(silent_cost, 0), total_cost) AS wasted_percent,
    known_cost AS field_cost, known_calls, successes,
    money_per(known_cost, successes, 1) AS per_success,
    spread_of(costed_calls, total_cost, squares, cubes) AS cost_spread
FROM whole
ORDER BY group_rank(calls, $largest_first), key NULLS LAST, unit DESC
