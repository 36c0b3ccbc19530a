-- success: share and cost of successful calls, by an extracted field
--
-- Look at success of known, and at its bounds (--verbose) before you compare groups. per
-- success is what a success costs.
--
-- With --field resolved=true a success is a call whose custom analysis found that value in
-- that field, and the share is of the calls in which it found any. Without it there is a
-- row for each boolean field. Values are compared as the text that was sent, strings
-- without their quotes. A call with several values of a field is a success if one of them
-- is.
--
-- Grain: one row per group and field
-- Reads: selected_values
-- Flags: field
-- Needs: end, analysis, cost
-- Example: query success --field resolved=true --by agent
-- Columns:
--   key              VARCHAR         -                              group of --by
-- * field            VARCHAR         -                              the extracted field
-- * value            VARCHAR         -                              the value that means success
-- * known_calls      BIGINT          count                          calls in which the field was found
-- * successes        BIGINT          count                          known calls with the value
-- * success_percent  DOUBLE          percent of known: known_calls  share of them
--   low_percent      DOUBLE          percent                        lower bound of this share (Wilson, 95 %)
--   high_percent     DOUBLE          percent                        upper bound
--   total_cost       DECIMAL(38,18)  money                          sum of the known costs of the known calls, in the unit
--   unit             VARCHAR         -                              unit of the amounts in all rows: currency or credits, whichever more of these calls have; null: no cost is known
--   costed_calls     BIGINT          count                          known calls whose cost is known in the unit
-- * per_success      DECIMAL(38,4)   money                          total_cost per success with a known cost

WITH known AS (
    SELECT key, name, succeeded, total_cost, CASE WHEN total_cost IS NULL THEN credits_used END AS credits
    FROM selected_values
), counted AS (
    SELECT key, name AS field,
        count(*) AS known_calls,
        count(*) FILTER (succeeded) AS successes,
        count(total_cost) AS in_currency,
        count(credits) AS in_credits,
        count(total_cost) FILTER (succeeded) AS successes_in_currency,
        count(credits) FILTER (succeeded) AS successes_in_credits,
        sum(total_cost) AS currency,
        sum(credits) AS credits
    FROM known
    GROUP BY key, name
), united AS (
    SELECT *, main_unit(sum(in_currency) OVER (), sum(in_credits) OVER ()) AS unit
    FROM counted
)
SELECT key, field, coalesce($field_value, 'true') AS value, known_calls, successes,
    percent_of(successes, known_calls) AS success_percent,
    wilson(successes, known_calls, -1) AS low_percent,
    wilson(successes, known_calls, 1) AS high_percent,
    CASE unit WHEN 'credits' THEN credits ELSE currency END AS total_cost,
    unit,
    CASE unit WHEN 'credits' THEN in_credits ELSE in_currency END AS costed_calls,
    CASE unit WHEN 'credits' THEN money_per(credits, successes_in_credits, 1)
        ELSE money_per(currency, successes_in_currency, 1) END AS per_success
FROM united
ORDER BY group_rank(sum(known_calls) OVER (PARTITION BY key), $largest_first), key NULLS LAST, known_calls DESC, field NULLS LAST
