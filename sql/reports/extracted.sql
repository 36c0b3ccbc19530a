-- extracted: values found by the custom analysis; sum, mean and percentiles of numbers
--
-- Look at the share of each value in its field, as the custom analysis found it. For the
-- share of one value by agent or week, see success.
--
-- All numbers of a field share one row, which comes first. Of other values, the ten most
-- frequent of a field have a row each, the rest share one. The values column counts the
-- values of a row. Values are compared as text, strings without their quotes; numbers that
-- are spelled differently are different values.
--
-- A number is a JSON number, or the text of a field whose type is number. Sums and
-- percentiles are exact, the mean is rounded to four decimals, halves away from zero. pNN
-- is the smallest number that at least NN % of them do not exceed (nearest rank). Numbers
-- are read as JSON spells them, with up to 13 digits before the point and 18 after it; a
-- number with an exponent may have up to 4 and 9 digits and an exponent from -9 to 9.
-- Others are shown as text.
--
-- Grain: one row per group, field and value; the numbers of a field in one, its rarer values in another
-- Reads: selected_items
-- Needs: end, analysis
-- Keys: none
-- Empty: no extracted fields match
-- Example: query extracted --since 30d
-- Columns:
--   key            VARCHAR  -        group of --by
-- * name           VARCHAR  -        the field
--   type           VARCHAR  -        string, enum, boolean or number
-- * value          VARCHAR  -        value; null: none, or several together
-- * values         BIGINT   count    distinct values in the row
-- * items          BIGINT   count    occurrences
-- * share_percent  DOUBLE   percent of items  share of the field's items
--   total          DECIMAL(38,18)  number  sum of the field's numbers
-- * mean           DECIMAL(38,4)   number  their mean
--   min            DECIMAL(38,18)  number  minimum
--   p50            DECIMAL(38,18)  number  median
--   p90            DECIMAL(38,18)  number  90th percentile
--   p95            DECIMAL(38,18)  number  95th percentile
--   p99            DECIMAL(38,18)  number  99th percentile
--   max            DECIMAL(38,18)  number  maximum

WITH alike AS (
    SELECT key, name, type, value, count(*) AS items
    FROM selected_items
    GROUP BY ALL
), counted AS (
    SELECT key, name, type, sent_text(value) AS value_text,
        CASE WHEN type = 'number' OR json_type(value) IN ('UBIGINT', 'BIGINT', 'DOUBLE') THEN exact_number(sent_text(value)) END AS number,
        CAST(sum(items) AS BIGINT) AS items
    FROM alike
    GROUP BY ALL
), ranked AS (
    SELECT *,
        number IS NOT NULL AS is_number,
        sum(items) OVER (PARTITION BY key) AS group_items,
        sum(items) OVER (PARTITION BY key, name, type) AS field_items,
        count(*) OVER same AS alike_values,
        sum(items) OVER same AS alike_items,
        row_number() OVER (same ORDER BY items DESC, value_text NULLS LAST) AS place,
        sum(items) OVER (same ORDER BY number) AS upto
    FROM counted
    WINDOW same AS (PARTITION BY key, name, type, number IS NOT NULL)
), folded AS (
    SELECT *, NOT is_number AND place > 10 AND alike_values > 11 AS is_rare
    FROM ranked
)
SELECT key, name, type,
    CASE WHEN NOT is_rare AND NOT is_number THEN any_value(value_text) END AS value,
    count(*) AS values,
    CAST(sum(items) AS BIGINT) AS items,
    percent_of(sum(items), any_value(field_items)) AS share_percent,
    sum(number * CAST(items AS DECIMAL(18, 0))) AS total,
    money_per(sum(number * CAST(items AS DECIMAL(18, 0))), CASE WHEN is_number THEN sum(items) END, 1) AS mean,
    min(number) AS min,
    min(number) FILTER (has_rank(50, upto, alike_items)) AS p50,
    of_20(min(number) FILTER (has_rank(90, upto, alike_items)), any_value(alike_items)) AS p90,
    of_20(min(number) FILTER (has_rank(95, upto, alike_items)), any_value(alike_items)) AS p95,
    of_100(min(number) FILTER (has_rank(99, upto, alike_items)), any_value(alike_items)) AS p99,
    max(number) AS max
FROM folded
GROUP BY key, name, type, is_number, is_rare, CASE WHEN NOT is_rare AND NOT is_number THEN place END
ORDER BY group_rank(any_value(group_items), $largest_first), key NULLS LAST, any_value(field_items) DESC, name NULLS LAST, type NULLS LAST,
    is_number DESC, is_rare, min(place)
