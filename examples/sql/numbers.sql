-- Numbers that the custom analysis found, by agent and field.
--
-- Without agents, the report extracted shows the same, exact to 18 decimals.
WITH found AS (
    SELECT agent_id, name AS field, TRY_CAST(value_text AS DECIMAL(38, 10)) AS number
    FROM analysis_items JOIN calls USING (call_id)
    WHERE type = 'number' OR json_type(value) IN ('UBIGINT', 'BIGINT', 'DOUBLE')
    -- AND start_at >= TIMESTAMPTZ '2026-11-01 00:00+09'
)
SELECT agent_id, field,
    count(number) AS numbers,
    sum(number) AS total,
    avg(number) AS mean,
    min(number) AS min,
    quantile_disc(number, 0.5) AS p50,
    of_20(quantile_disc(number, 0.9), count(number)) AS p90,
    max(number) AS max
FROM found
GROUP BY ALL
ORDER BY numbers DESC, field, agent_id
