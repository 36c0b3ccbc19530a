-- numbers: sum, mean and percentiles of numeric extracted fields
--
-- Counts every number found in a field: a JSON number, or the text of a field whose type
-- is number. All values are exact, except the mean, which is rounded to four decimals,
-- halves away from zero. A percentile is a number that was found: pNN is the smallest one
-- that at least NN % of them do not exceed (nearest rank). Values that are not numbers, or
-- have more than 13 digits before the point or 18 after it, are counted separately.
--
-- Grain: one row per group and field that has numbers
-- Reads: selected, selected_items
-- Needs: end, analysis
-- Empty: no extracted fields match
-- Example: query numbers --since 30d
-- Columns:
--   key       VARCHAR         -       group of --by
--   field     VARCHAR         -       the extracted field
--   numbers   BIGINT          count   numbers found
--   total     DECIMAL(38,18)  number  their sum
--   mean      DECIMAL(38,4)   number  their mean
--   least     DECIMAL(38,18)  number  minimum
--   p50       DECIMAL(38,18)  number  median
--   p90       DECIMAL(38,18)  number  90th percentile
--   p95       DECIMAL(38,18)  number  95th percentile
--   p99       DECIMAL(38,18)  number  99th percentile
--   most      DECIMAL(38,18)  number  maximum
--   not_read  BIGINT          count   values that are not numbers, or too long

WITH counted AS (
    SELECT key, name AS field,
        count(number) AS numbers,
        sum(number) AS total,
        min(number) AS least, max(number) AS most,
        quantile_disc(number, [0.50, 0.90, 0.95, 0.99]) AS p,
        count(*) - count(number) AS not_read
    FROM (SELECT key, name, exact_number(value_text) AS number
        FROM selected_items
        WHERE value_text IS NOT NULL AND (type = 'number' OR json_type(value) IN ('UBIGINT', 'BIGINT', 'DOUBLE')))
    GROUP BY key, name
)
SELECT key, field, numbers, total,
    money_per(total, numbers, 1) AS mean,
    least, p[1] AS p50, p[2] AS p90, p[3] AS p95, p[4] AS p99, most, not_read
FROM counted
ORDER BY group_rank(sum(numbers) OVER (PARTITION BY key)), key NULLS LAST, numbers DESC, field NULLS LAST
