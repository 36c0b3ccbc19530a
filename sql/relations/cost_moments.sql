-- cost_moments: sums of squares and cubes of costs in the account's currency
--
-- For the bounds of means. Equal costs are counted first, because converting an exact number to a
-- float takes longer than that.
--
-- Reads: selected

SELECT key, 'currency' AS unit, sum(n * pow(cost, 2)) AS cost_squares, sum(n * pow(cost, 3)) AS cost_cubes
FROM (
    SELECT key, CAST(total_cost AS DOUBLE) AS cost, n
    FROM (SELECT key, total_cost, count(*) AS n FROM selected WHERE total_cost IS NOT NULL GROUP BY key, total_cost)
)
GROUP BY key
