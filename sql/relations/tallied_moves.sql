-- tallied_moves: moves of calls with a transcript, by version
--
-- As in flow_tallies, which compacted months have. A call that makes a move several times is one
-- of calls, and each time one of passes.
--
-- Reads: uncounted, as selected_moves; published

WITH versioned AS NOT MATERIALIZED (
    SELECT key, c.agent_id AS agent_id, start_at, is_answered, outcome, disconnection_reason, moves,
        version_at(agent_version, start_at, versions, times) AS version
    FROM (SELECT * FROM uncounted WHERE is_over AND has_transcript(transcript_state)) c LEFT JOIN published p USING (agent_id)
), alike AS MATERIALIZED ( -- calls with the same version, path and end
    SELECT key, agent_id, version, answered,
        answered AND outcome = 'completed' AS completed, answered AND outcome = 'transferred' AS transferred,
        answered AND outcome IN ('failed', 'abandoned') AS lost, answered AND reason = 'user_hangup' AS hung_up,
        nullif(moves, '[]') AS moves, n, newest
    FROM (
        SELECT key, agent_id, version, is_answered AS answered, outcome, disconnection_reason AS reason, moves,
            count(*) AS n, max(start_at) AS newest
        FROM versioned
        GROUP BY ALL
    )
), paths AS MATERIALIZED (
    SELECT moves, row_number() OVER () AS path FROM (SELECT DISTINCT moves FROM alike)
), walked AS (
    SELECT key, agent_id, version, path, any_value(a.moves) IS NOT NULL AS is_moved, total_of(n) AS calls, max(newest) AS newest,
        sum_if(n, answered) AS answered_calls, sum_if(n, completed) AS completed,
        sum_if(n, transferred) AS transferred, sum_if(n, lost) AS lost, sum_if(n, hung_up) AS hung_up
    FROM alike a JOIN paths p ON p.moves IS NOT DISTINCT FROM a.moves
    GROUP BY key, agent_id, version, path
), moves_of AS ( -- the target nodes of a path's moves, and which moves failed, if any
    SELECT path, json_extract_string(moves, '$[*].node') AS nodes,
        CASE WHEN contains(moves, '"failed":true')
            THEN list_transform(json_extract(moves, '$[*]'), m -> coalesce(m ->> '$.failed' = 'true', false)) END AS failed
    FROM paths
), reached AS ( -- i - r successful moves precede the r-th failed move, which is the i-th of all
    SELECT path, nodes,
        CASE WHEN failed IS NULL THEN coalesce(nodes, []) ELSE list_where(nodes, list_transform(failed, f -> NOT f)) END AS reached,
        list_where(range(1, len(nodes) + 1), failed) AS failed_at
    FROM moves_of
), steps AS ( -- the last step of a path has no target
    SELECT path, unnest(list_prepend(NULL, reached)) AS from_node, unnest(list_append(reached, NULL)) AS to_node, false AS failed
    FROM reached
    UNION ALL
    SELECT path, unnest(list_transform(failed_at, (i, r) -> reached[i - r])), unnest(list_transform(failed_at, i -> nodes[i])), true
    FROM reached
    WHERE failed_at IS NOT NULL
), made AS ( -- per call of a path
    SELECT path, from_node, to_node, count(*) FILTER (NOT failed) AS passes, count(*) FILTER (failed) AS failed_passes
    FROM steps
    GROUP BY path, from_node, to_node
)
SELECT key, agent_id, version, from_node, to_node, is_moved, max(newest) AS start_at,
    sum_if(calls, passes > 0) AS calls,
    CAST(sum(calls * passes) AS BIGINT) AS passes,
    CAST(sum(calls * failed_passes) AS BIGINT) AS failed_passes,
    sum_if(answered_calls, passes > 0) AS answered_calls,
    sum_if(completed, passes > 0) AS completed_calls,
    sum_if(transferred, passes > 0) AS transferred_calls,
    sum_if(lost, passes > 0) AS lost_calls,
    sum_if(hung_up, passes > 0) AS hung_up_calls
FROM made JOIN walked USING (path)
GROUP BY key, agent_id, version, from_node, to_node, is_moved
