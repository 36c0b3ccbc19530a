-- flows: paths of calls through their agent's graph
--
-- A call moves to a node by a tool call transition_to_node, whose arguments name the node:
-- node, else node_id, else the arguments as a whole. A failed move (failed in tool_calls)
-- leaves the call where it was. Each call begins at (start) and, after its last move, ends
-- at (end): the row from a node to (end) has the calls that ended there.
--
-- Counted are calls that are over and have a transcript, with such a tool call or an agent
-- with a graph: flow of the call's version in agent_versions if its body was fetched, else
-- flow in agents. (production means the newest version published by the start of the
-- call.) Names of nodes are from that graph, as in the newest call of the group that
-- passed the node; a node that is not in it is named by its id.
--
-- Lost calls failed or were abandoned. In the row of a move these shares are of the calls
-- that made it, wherever they ended.
--
-- Grain: one row per group, agent, node and node that follows
-- Reads: selected, agents, agent_versions
-- Needs: end, words, transcripts
-- Keys: agent_id, from_id, to_id
-- Shares: completed_percent of answered_calls, transferred_percent of answered_calls, lost_percent of answered_calls, hung_up_percent of answered_calls
-- Empty: no calls that walk a graph match
-- Example: query flows --since 30d --by version
-- Columns:
--   key                  VARCHAR  -        group of --by
--   agent_id             VARCHAR  -        the agent
--   from_node            VARCHAR  -        name of the node that is left; (start) before the first
--   to_node              VARCHAR  -        name of the next node; (end): the call ends
--   calls                BIGINT   count    calls that made the move
--   passes               BIGINT   count    number of such moves
--   share_percent        DOUBLE   percent of the node's passes  share of all moves from the node
--   failed_passes        BIGINT   count    moves that failed
--   answered_calls       BIGINT   count    answered calls among the calls
--   completed_percent    DOUBLE   percent of answered  share of them that were completed
--   transferred_percent  DOUBLE   percent of answered  share of them that were transferred
--   lost_percent         DOUBLE   percent of answered  share of them that failed or were abandoned
--   hung_up_percent      DOUBLE   percent of answered  share of them with user_hangup
--   from_id              VARCHAR  -        id of the node that is left; null: (start)
--   to_id                VARCHAR  -        id of the next node; null: (end)

WITH published AS MATERIALIZED ( -- the versions of each agent, in order of publication
    SELECT agent_id, list(version ORDER BY created_at) AS versions, list(created_at ORDER BY created_at) AS times
    FROM (SELECT agent_id, created_at, max(version) AS version FROM agent_versions WHERE created_at IS NOT NULL GROUP BY agent_id, created_at)
    GROUP BY agent_id
), versioned AS NOT MATERIALIZED (
    SELECT key, c.agent_id AS agent_id, start_at, is_answered, outcome, disconnection_reason, moves,
        version_at(agent_version, start_at, versions, times) AS version
    FROM (SELECT * FROM selected WHERE is_over AND has_transcript(transcript_state)) c LEFT JOIN published p USING (agent_id)
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
), by_move AS (
    SELECT key, agent_id, version, from_node, to_node, is_moved, max(newest) AS newest,
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
), bodies AS ( -- version null: the current graph
    SELECT agent_id, version, flow FROM agent_versions WHERE data IS NOT NULL OR flow IS NOT NULL
    UNION ALL
    SELECT agent_id, NULL, flow FROM agents
), nodes AS MATERIALIZED (
    SELECT agent_id, version, node ->> '$.id' AS id, min(node ->> '$.data.name') AS name
    FROM (SELECT agent_id, version, unnest(CAST(flow -> '$.nodes' AS JSON[])) AS node FROM bodies WHERE json_type(flow, '$.nodes') = 'ARRAY')
    GROUP BY agent_id, version, id
), by_version AS MATERIALIZED ( -- version null: the agent's current graph
    SELECT key, t.agent_id AS agent_id, b.version AS version, from_node AS from_id, to_node AS to_id,
        coalesce(t.newest, '-infinity') AS newest, calls, passes, failed_passes, answered_calls, completed_calls,
        transferred_calls, lost_calls, hung_up_calls
    FROM by_move t LEFT JOIN (SELECT agent_id, version FROM bodies WHERE version IS NOT NULL) b USING (agent_id, version)
    WHERE is_moved OR EXISTS (SELECT 1 FROM nodes n WHERE n.agent_id = t.agent_id AND n.version IS NOT DISTINCT FROM b.version)
), names AS (
    SELECT w.key AS key, w.agent_id AS agent_id, w.to_id AS id,
        arg_max(n.name, {'start': w.newest, 'version': coalesce(w.version, '')}) AS name
    FROM by_version w
        JOIN nodes n ON n.agent_id = w.agent_id AND n.version IS NOT DISTINCT FROM w.version AND n.id = w.to_id
    WHERE n.name IS NOT NULL
    GROUP BY w.key, w.agent_id, w.to_id
), counted AS (
    SELECT key, agent_id, from_id, to_id, total_of(calls) AS calls, total_of(passes) AS passes, total_of(failed_passes) AS failed_passes,
        total_of(answered_calls) AS answered_calls, total_of(completed_calls) AS completed, total_of(transferred_calls) AS transferred,
        total_of(lost_calls) AS lost, total_of(hung_up_calls) AS hung_up
    FROM by_version
    GROUP BY key, agent_id, from_id, to_id
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
    LEFT JOIN names f ON f.key IS NOT DISTINCT FROM t.key AND f.agent_id IS NOT DISTINCT FROM t.agent_id AND f.id = from_id
    LEFT JOIN names n ON n.key IS NOT DISTINCT FROM t.key AND n.agent_id IS NOT DISTINCT FROM t.agent_id AND n.id = to_id
ORDER BY group_rank(group_calls), t.key NULLS LAST, agent_calls DESC, t.agent_id NULLS LAST, leaving DESC, from_id NULLS FIRST,
    passes DESC, to_id NULLS LAST
