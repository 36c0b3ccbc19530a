-- Calls with a negative cost.
SELECT call_id, start_at, total_cost
FROM calls
WHERE total_cost < 0
ORDER BY total_cost, call_id
