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
-- Reads: selected, tallied_moves, agents, agent_versions
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

WITH bodies AS ( -- version null: the current graph
    SELECT agent_id, version, flow FROM agent_versions WHERE data IS NOT NULL OR flow IS NOT NULL
    UNION ALL
    SELECT agent_id, NULL, flow FROM agents
), nodes AS MATERIALIZED (
    SELECT agent_id, version, node ->> '$.id' AS id, min(node ->> '$.data.name') AS name
    FROM (SELECT agent_id, version, unnest(CAST(flow -> '$.nodes' AS JSON[])) AS node FROM bodies WHERE json_type(flow, '$.nodes') = 'ARRAY')
    GROUP BY agent_id, version, id
), by_version AS MATERIALIZED ( -- version null: the agent's current graph
    SELECT key, t.agent_id AS agent_id, b.version AS version, from_node AS from_id, to_node AS to_id,
        coalesce(start_at, '-infinity') AS newest, calls, passes, failed_passes, answered_calls, completed_calls,
        transferred_calls, lost_calls, hung_up_calls
    FROM tallied_moves t LEFT JOIN (SELECT agent_id, version FROM bodies WHERE version IS NOT NULL) b USING (agent_id, version)
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
