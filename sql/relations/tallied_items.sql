-- tallied_items: extracted values of one field that are alike
--
-- As in item_tallies, which compacted months have.
--
-- Reads: uncounted, as selected_items

SELECT key, name, type, value, count(*) AS items -- no costs: see tallied_values
FROM uncounted
GROUP BY ALL
