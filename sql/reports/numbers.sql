-- numbers: sum, mean and percentiles of numeric extracted fields
--
-- Counts every number found in a field: a JSON number, or the text of a field whose type
-- is number. All values are exact, except the mean, which is rounded to four decimals,
-- halves away from zero. A percentile is a number that was found: pNN is the smallest one
-- that at least NN % of them do not exceed (nearest rank). Numbers are read as JSON spells
-- them, with up to 13 digits before the point and 18 after it. A number with an exponent may
-- have up to 4 and 9 digits and an exponent from -9 to 9. not_read counts other numbers, and
-- texts that are no numbers in fields whose type is number.
--
-- Grain: one row per group and field that has numbers
-- Reads: selected_items
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

WITH alike AS (
    SELECT key, name, type, value, count(*) AS items
    FROM selected_items
    GROUP BY ALL
), found AS ( -- a condition on sums is not evaluated for every item in the files
    SELECT key, name AS field, exact_number(sent_text(value)) AS number,
        sum(items) FILTER (sent_text(value) IS NOT NULL AND (type = 'number' OR json_type(value) IN ('UBIGINT', 'BIGINT', 'DOUBLE'))) AS n
    FROM alike
    GROUP BY ALL
    HAVING n IS NOT NULL
), ranked AS (
    SELECT *,
        sum(n) FILTER (number IS NOT NULL) OVER (PARTITION BY key, field ORDER BY number) AS upto,
        sum(n) FILTER (number IS NOT NULL) OVER (PARTITION BY key, field) AS whole
    FROM found
), counted AS (
    SELECT key, field,
        sum_if(n, number IS NOT NULL) AS numbers,
        sum(number * CAST(n AS DECIMAL(18, 0))) AS total,
        min(number) AS least, max(number) AS most,
        min(number) FILTER (has_rank(50, upto, whole)) AS p50,
        min(number) FILTER (has_rank(90, upto, whole)) AS p90,
        min(number) FILTER (has_rank(95, upto, whole)) AS p95,
        min(number) FILTER (has_rank(99, upto, whole)) AS p99,
        sum_if(n, number IS NULL) AS not_read
    FROM ranked
    GROUP BY key, field
)
SELECT key, field, numbers, total,
    money_per(total, numbers, 1) AS mean,
    least, p50, p90, p95, p99, most, not_read
FROM counted
ORDER BY group_rank(sum(numbers) OVER (PARTITION BY key)), key NULLS LAST, numbers DESC, field NULLS LAST
