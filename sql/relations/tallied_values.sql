-- tallied_values: calls with a field of the report success, by whether they succeeded
--
-- Compacted months have item_tallies instead, whose rows have value and not is_success.
--
-- Reads: uncounted, as selected_items of these fields, with is_success and the costs of their calls

SELECT key, name, CAST(NULL AS JSON) AS value, is_success, count(*) AS items,
    count(total_cost) AS costed_calls,
    count(credits) AS credited_calls,
    sum(total_cost) AS total_cost,
    sum(credits) AS credits
FROM (
    SELECT key, call_id, name, bool_or(is_success) AS is_success,
        any_value(total_cost) AS total_cost,
        any_value(CASE WHEN total_cost IS NULL THEN credits_used END) AS credits
    FROM uncounted
    GROUP BY key, call_id, name
)
GROUP BY key, name, is_success
