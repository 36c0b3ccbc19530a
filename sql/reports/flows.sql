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
-- Reads: selected, selected_tool_calls, agents, agent_versions
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

WITH moves AS (
    SELECT call_id, turn, failed IS TRUE AS failed,
        coalesce(arguments ->> '$.node', arguments ->> '$.node_id', CAST(arguments AS VARCHAR), '(none)') AS node
    FROM selected_tool_calls
    WHERE tool_name = 'transition_to_node'
), bodies AS ( -- version null: the graph as it is now
    SELECT agent_id, version, flow FROM agent_versions WHERE data IS NOT NULL OR flow IS NOT NULL
    UNION ALL
    SELECT agent_id, NULL, flow FROM agents
), nodes AS MATERIALIZED (
    SELECT agent_id, version, node ->> '$.id' AS id, min(node ->> '$.data.name') AS name
    FROM (SELECT agent_id, version, unnest(CAST(flow -> '$.nodes' AS JSON[])) AS node FROM bodies WHERE json_type(flow, '$.nodes') = 'ARRAY')
    GROUP BY agent_id, version, id
), published AS (
    SELECT agent_id, created_at, max(version) AS version FROM agent_versions WHERE created_at IS NOT NULL GROUP BY agent_id, created_at
), taken AS (
    SELECT c.key AS key, c.call_id AS call_id, c.agent_id AS agent_id, c.start_at AS start_at,
        CASE WHEN c.agent_version = 'production' THEN p.version ELSE c.agent_version END AS version,
        c.is_answered AS answered, c.outcome AS outcome, c.disconnection_reason AS reason
    FROM (SELECT * FROM selected WHERE is_over AND transcript_state = 'present') c
        ASOF LEFT JOIN published p ON p.agent_id = c.agent_id AND p.created_at <= c.start_at
), walks AS MATERIALIZED (
    SELECT t.* REPLACE (b.version AS version)
    FROM taken t LEFT JOIN (SELECT agent_id, version FROM bodies WHERE version IS NOT NULL) b USING (agent_id, version)
    WHERE call_id IN (SELECT call_id FROM moves)
        OR EXISTS (SELECT 1 FROM nodes n WHERE n.agent_id = t.agent_id AND n.version IS NOT DISTINCT FROM b.version)
), steps AS MATERIALIZED ( -- the last one of a call leads to no node
    SELECT key, agent_id, call_id, start_at, version, answered, outcome, reason, node AS to_id, coalesce(failed, false) AS failed,
        last_value(CASE WHEN NOT failed THEN node END IGNORE NULLS)
            OVER (PARTITION BY call_id ORDER BY turn NULLS LAST ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS from_id
    FROM walks JOIN (SELECT * FROM moves UNION ALL SELECT call_id, NULL, NULL, NULL FROM walks) USING (call_id)
), names AS (
    SELECT s.key AS key, s.agent_id AS agent_id, s.to_id AS id, arg_max(n.name, (coalesce(s.start_at, '-infinity'), s.call_id)) AS name
    FROM steps s JOIN nodes n ON n.agent_id = s.agent_id AND n.version IS NOT DISTINCT FROM s.version AND n.id = s.to_id
    WHERE n.name IS NOT NULL
    GROUP BY s.key, s.agent_id, s.to_id
), made AS ( -- by each call, whose own columns are the same in all its steps
    SELECT key, agent_id, call_id, from_id, to_id,
        count(*) FILTER (NOT failed) AS passes,
        count(*) FILTER (failed) AS failed_passes,
        bool_and(answered) AS answered, any_value(outcome) AS outcome, any_value(reason) AS reason
    FROM steps
    GROUP BY key, agent_id, call_id, from_id, to_id
), counted AS (
    SELECT key, agent_id, from_id, to_id,
        count(*) FILTER (passes > 0) AS calls,
        CAST(sum(passes) AS BIGINT) AS passes,
        CAST(sum(failed_passes) AS BIGINT) AS failed_passes,
        count(*) FILTER (passes > 0 AND answered) AS answered_calls,
        count(*) FILTER (passes > 0 AND answered AND outcome = 'completed') AS completed,
        count(*) FILTER (passes > 0 AND answered AND outcome = 'transferred') AS transferred,
        count(*) FILTER (passes > 0 AND answered AND outcome IN ('failed', 'abandoned')) AS lost,
        count(*) FILTER (passes > 0 AND answered AND reason = 'user_hangup') AS hung_up
    FROM made
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
