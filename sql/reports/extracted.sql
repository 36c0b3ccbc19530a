-- extracted: values found by the custom analysis
--
-- The ten most frequent values of a field have a row each; the others share one, and its
-- values column counts them. Values are compared as text, strings without their quotes;
-- numbers that are spelled differently are different values. The report numbers has sums,
-- means and percentiles of numeric fields.
--
-- Grain: one row per group, field and value; the rarer values of a field in one
-- Reads: selected_items
-- Needs: end, analysis
-- Incomparable: its rows are the most frequent values of one period; success --field NAME=VALUE compares a value
-- Empty: no extracted fields match
-- Example: query extracted --since 30d
-- Columns:
--   key            VARCHAR  -        group of --by
--   name           VARCHAR  -        the field
--   type           VARCHAR  -        string, enum, boolean or number
--   value          VARCHAR  -        value; null: none, or the rarer values together
--   values         BIGINT   count    distinct values in the row
--   items          BIGINT   count    occurrences
--   share_percent  DOUBLE   percent of items  share of the field's items

WITH alike AS (
    SELECT key, name, type, value, count(*) AS items
    FROM selected_items
    GROUP BY ALL
), counted AS (
    SELECT key, name, type, sent_text(value) AS value_text, sum(items) AS items
    FROM alike
    GROUP BY ALL
), ranked AS (
    SELECT *,
        sum(items) OVER (PARTITION BY key) AS group_items,
        sum(items) OVER (PARTITION BY key, name, type) AS field_items,
        count(*) OVER (PARTITION BY key, name, type) AS field_values,
        row_number() OVER (PARTITION BY key, name, type ORDER BY items DESC, value_text NULLS LAST) AS place
    FROM counted
), folded AS (
    SELECT *, place > 10 AND field_values > 11 AS is_rare
    FROM ranked
)
SELECT key, name, type,
    CASE WHEN NOT is_rare THEN any_value(value_text) END AS value,
    count(*) AS values,
    CAST(sum(items) AS BIGINT) AS items,
    percent_of(sum(items), any_value(field_items)) AS share_percent
FROM folded
GROUP BY key, name, type, is_rare, CASE WHEN NOT is_rare THEN place END
ORDER BY group_rank(any_value(group_items)), key NULLS LAST, any_value(field_items) DESC, name NULLS LAST, type NULLS LAST,
    is_rare, min(place)
