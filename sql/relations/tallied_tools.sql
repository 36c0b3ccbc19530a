-- tallied_tools: tool calls of one tool with equal pauses and durations
--
-- As in tool_tallies, which compacted months have.
--
-- Reads: uncounted, as selected_tool_calls

SELECT key, tool_name, pause_ms, duration_ms, count(*) AS uses, count(*) FILTER (is_first) AS first_uses,
    count(*) FILTER (failed) AS failed_uses, count(failed) AS answered_uses
FROM uncounted
GROUP BY ALL
