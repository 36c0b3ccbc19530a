-- How often outbound calls reach a person: at the first attempt of the day, the second, ...
--
-- Attempts at the same number are counted within a local day; calls that start at the same moment
-- have the same place. A person was reached if the call connected and no machine answered; the share
-- is of the calls that are over and of which this is known. For the best hour, replace attempt by
-- local_hour in the last SELECT.
WITH outbound AS (
    SELECT local_date, local_hour, least(rank() OVER (PARTITION BY caller, local_date ORDER BY start_at), 6) AS attempt,
        is_over AND is_connected IS NOT NULL AS is_known, is_connected AND NOT is_voicemail AS is_reached
    FROM calls
    WHERE direction = 'outbound' AND start_at IS NOT NULL AND caller IS NOT NULL
    -- AND start_at >= TIMESTAMPTZ '2026-11-01 00:00+09' AND agent_id = '...'
)
SELECT attempt, -- 6: the sixth and later
    count(*) AS calls,
    count(*) FILTER (is_known) AS known_calls,
    count(*) FILTER (is_known AND is_reached) AS reached_calls,
    100.0 * reached_calls / nullif(known_calls, 0) AS reached_percent
FROM outbound
GROUP BY attempt
ORDER BY attempt
