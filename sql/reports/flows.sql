-- flows: paths of calls through their agent's graph
--
-- Look at the moves with a high lost share: after them calls end without a result. --by
-- version shows whether a change of the graph helped.
--
-- A call moves to a node by a tool call transition_to_node, whose arguments name the node:
-- node, else node_id, else the arguments as a whole. A failed move (failed in tool_calls)
-- leaves the call where it was. Each call begins at (start) and, after its last move, ends
-- at (end): the row from a node to (end) has the calls that ended there.
--
-- Counted are calls that are over and have a transcript, with such a tool call or an agent
-- with a graph: flow in agents, which is that of the current version. Names of nodes are
-- from that graph; a node that is not in it is named by its id.
--
-- Lost calls failed or were abandoned. In the row of a move these shares are of the calls
-- that made it, wherever they ended.
--
-- Grain: one row per group, agent, node and node that follows
-- Reads: selected, agents
-- Needs: end, words, transcripts
-- Keys: agent_id, from_id, to_id
-- Empty: no calls that walk a graph match
-- Example: query flows --since 30d --by version
-- Columns:
--   key                  VARCHAR  -                                   group of --by
-- * agent_id             VARCHAR  -                                   the agent
-- * from_node            VARCHAR  -                                   name of the node that is left; (start) before the first
-- * to_node              VARCHAR  -                                   name of the next node; (end): the call ends
-- * calls                BIGINT   count                               calls that made the move
--   passes               BIGINT   count                               number of such moves
-- * share_percent        DOUBLE   percent of the node's passes        share of all moves from the node
--   failed_passes        BIGINT   count                               moves that failed
--   answered_calls       BIGINT   count                               answered calls among the calls
-- * completed_percent    DOUBLE   percent of answered: answered_calls  share of them that were completed
--   transferred_percent  DOUBLE   percent of answered: answered_calls  share of them that were transferred
-- * lost_percent         DOUBLE   percent of answered: answered_calls  share of them that failed or were abandoned
--   hung_up_percent      DOUBLE   percent of answered: answered_calls  share of them with user_hangup
--   from_id              VARCHAR  -                                   id of the node that is left; null: (start)
--   to_id                VARCHAR  -                                   id of the next node; null: (end)

WITH alike AS MATERIALIZED ( -- calls with the same path and end
    SELECT key, agent_id, answered,
        answered AND outcome = 'completed' AS completed, answered AND outcome = 'transferred' AS transferred,
        answered AND outcome IN ('failed', 'abandoned') AS lost, answered AND reason = 'user_hangup' AS hung_up,
        nullif(moves, '[]') AS moves, n
    FROM (
        SELECT key, agent_id, is_answered AS answered, outcome, disconnection_reason AS reason, moves, count(*) AS n
        FROM selected
        WHERE is_over AND has_transcript(transcript_state)
        GROUP BY ALL
    )
), paths AS MATERIALIZED (
    SELECT moves, row_number() OVER () AS path FROM (SELECT DISTINCT moves FROM alike)
), walked AS (
    SELECT key, agent_id, path, any_value(a.moves) IS NOT NULL AS is_moved, total_of(n) AS calls,
        sum_if(n, answered) AS answered_calls, sum_if(n, completed) AS completed,
        sum_if(n, transferred) AS transferred, sum_if(n, lost) AS lost, sum_if(n, hung_up) AS hung_up
    FROM alike a JOIN paths p ON p.moves IS NOT DISTINCT FROM a.moves
    GROUP BY key, agent_id, path
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
), by_move AS (
    SELECT key, agent_id, from_node, to_node, is_moved,
        sum_if(calls, passes > 0) AS calls,
        CAST(sum(calls * passes) AS BIGINT) AS passes,
        CAST(sum(calls * failed_passes) AS BIGINT) AS failed_passes,
        sum_if(answered_calls, passes > 0) AS answered_calls,
        sum_if(completed, passes > 0) AS completed_calls,
        sum_if(transferred, passes > 0) AS transferred_calls,
        sum_if(lost, passes > 0) AS lost_calls,
        sum_if(hung_up, passes > 0) AS hung_up_calls
    FROM made JOIN walked USING (path)
    GROUP BY key, agent_id, from_node, to_node, is_moved
), nodes AS MATERIALIZED (
    SELECT agent_id, node ->> '$.id' AS id, min(node ->> '$.data.name') AS name
    FROM (SELECT agent_id, unnest(CAST(flow -> '$.nodes' AS JSON[])) AS node FROM agents WHERE json_type(flow, '$.nodes') = 'ARRAY')
    GROUP BY agent_id, id
), counted AS (
    SELECT key, agent_id, from_node AS from_id, to_node AS to_id, total_of(calls) AS calls, total_of(passes) AS passes, total_of(failed_passes) AS failed_passes,
        total_of(answered_calls) AS answered_calls, total_of(completed_calls) AS completed, total_of(transferred_calls) AS transferred,
        total_of(lost_calls) AS lost, total_of(hung_up_calls) AS hung_up
    FROM by_move
    WHERE is_moved OR agent_id IN (SELECT agent_id FROM nodes)
    GROUP BY key, agent_id, from_node, to_node
), totals AS (
    SELECT *,
        sum(passes) OVER (PARTITION BY key, agent_id, from_id) AS leaving,
        sum(passes) FILTER (to_id IS NULL) OVER (PARTITION BY key, agent_id) AS agent_calls,
        sum(passes) FILTER (to_id IS NULL) OVER (PARTITION BY key) AS group_calls
    FROM counted
)
SELECT t.key AS key, t.agent_id AS agent_id,
    coalesce(f.name, from_id, '(start)') AS from_node,
    coalesce(n.name, to_id, '(end)') AS to_node,
    calls, passes,
    percent_of(passes, leaving) AS share_percent,
    failed_passes, answered_calls,
    percent_of(completed, answered_calls) AS completed_percent,
    percent_of(transferred, answered_calls) AS transferred_percent,
    percent_of(lost, answered_calls) AS lost_percent,
    percent_of(hung_up, answered_calls) AS hung_up_percent,
    from_id, to_id
FROM totals t
    LEFT JOIN nodes f ON f.agent_id = t.agent_id AND f.id = from_id
    LEFT JOIN nodes n ON n.agent_id = t.agent_id AND n.id = to_id
ORDER BY group_rank(group_calls, $largest_first), t.key NULLS LAST, agent_calls DESC, t.agent_id NULLS LAST, leaving DESC, from_id NULLS FIRST,
    passes DESC, to_id NULLS LAST
