-- counted_tools_tallied: the numbers of each tool, from tallies
--
-- As in counted_tools.
--
-- Reads: tallied_tools

WITH lasting AS (
    SELECT key, tool_name, is_pause, ms,
        sum(n) OVER (PARTITION BY key, tool_name, is_pause ORDER BY ms) AS upto,
        sum(n) OVER (PARTITION BY key, tool_name, is_pause) AS whole
    FROM (
        SELECT key, tool_name, true AS is_pause, pause_ms AS ms, sum(uses) AS n FROM tallied_tools GROUP BY ALL
        UNION ALL
        SELECT key, tool_name, false AS is_pause, duration_ms AS ms, sum(uses) AS n FROM tallied_tools GROUP BY ALL
    )
    WHERE ms IS NOT NULL
), times AS (
    SELECT key, tool_name,
        [min(ms) FILTER (is_pause AND has_rank(50, upto, whole)), min(ms) FILTER (is_pause AND has_rank(95, upto, whole))] AS pause,
        min(ms) FILTER (NOT is_pause AND has_rank(50, upto, whole)) AS duration_p50_ms
    FROM lasting
    GROUP BY key, tool_name
), counted AS (
    SELECT key, tool_name, total_of(uses) AS uses, total_of(first_uses) AS calls, total_of(failed_uses) AS failed_uses,
        total_of(answered_uses) AS answered
    FROM tallied_tools
    GROUP BY key, tool_name
)
SELECT c.*, pause, duration_p50_ms
FROM counted c LEFT JOIN times t ON c.key IS NOT DISTINCT FROM t.key AND c.tool_name IS NOT DISTINCT FROM t.tool_name
