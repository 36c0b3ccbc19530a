SELECT CAST(start_at AS DATE) AS day, status, count(*) AS calls, sum(total_cost) AS cost
FROM calls
WHERE start_at IS NOT NULL
GROUP BY CAST(start_at AS DATE), status
ORDER BY day, status
