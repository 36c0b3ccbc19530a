-- tallied_items: extracted values of one field that are alike
--
-- As in item_tallies, which compacted months have, without agents and costs.
--
-- Reads: uncounted, as selected_items

SELECT key, name, type, value, count(*) AS items
FROM uncounted
GROUP BY ALL
