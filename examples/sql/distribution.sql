-- Durations in steps of 5 seconds, by agent. Change 5000 for other steps, or the group in the first SELECT.
--
-- For the steps of each group of --by: query durations --steps.
WITH steps AS (
    SELECT agent_id, duration_ms // 5000 * 5000 AS from_ms,
        count(*) AS calls,
        count(*) FILTER (is_connected) AS connected_calls
    FROM calls
    WHERE duration_ms IS NOT NULL
    -- AND start_at >= TIMESTAMPTZ '2026-11-01 00:00+09'
    GROUP BY ALL
)
SELECT agent_id, from_ms / 1000 AS from_seconds, calls,
    100.0 * calls / sum(calls) OVER (PARTITION BY agent_id) AS share_percent,
    100.0 * sum(calls) OVER (PARTITION BY agent_id ORDER BY from_ms) / sum(calls) OVER (PARTITION BY agent_id) AS up_to_percent,
    connected_calls
FROM steps
ORDER BY agent_id, from_ms
