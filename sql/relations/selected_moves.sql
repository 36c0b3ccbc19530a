-- selected_moves: the selected calls, with their moves
--
-- Files of earlier versions lack the column moves; then it is made of the tool calls, as the
-- dictionary of calls defines it.
--
-- Reads: selected, selected_tool_calls

WITH earlier AS (
    SELECT call_id, to_json(list({
            'node': coalesce(arguments ->> '$.node', arguments ->> '$.node_id', CAST(arguments AS VARCHAR), '(none)'),
            'failed': failed IS TRUE
        } ORDER BY turn)) AS moves
    FROM selected_tool_calls SEMI JOIN (SELECT call_id FROM selected WHERE moves IS NULL AND turn_count > 0) USING (call_id)
    WHERE tool_name = 'transition_to_node'
    GROUP BY call_id
)
SELECT *
FROM selected
WHERE moves IS NOT NULL OR turn_count IS NULL OR turn_count = 0
UNION ALL
SELECT s.* REPLACE (CAST(e.moves AS VARCHAR) AS moves)
FROM selected s LEFT JOIN earlier e USING (call_id)
WHERE s.moves IS NULL AND s.turn_count > 0
