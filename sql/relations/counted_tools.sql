-- counted_tools: the numbers of each tool
--
-- Reads: selected_tool_calls

SELECT key, tool_name,
    count(*) AS uses,
    count(*) FILTER (is_first) AS calls,
    count(*) FILTER (failed) AS failed_uses,
    count(failed) AS answered,
    quantile_disc(pause_ms, [0.50, 0.95]) AS pause,
    quantile_disc(duration_ms, 0.50) AS duration_p50_ms
FROM selected_tool_calls
GROUP BY key, tool_name
