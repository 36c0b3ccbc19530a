-- published: the versions of each agent, in order of publication
--
-- Reads: agent_versions

SELECT agent_id, list(version ORDER BY created_at) AS versions, list(created_at ORDER BY created_at) AS times
FROM (SELECT agent_id, created_at, max(version) AS version FROM agent_versions WHERE created_at IS NOT NULL GROUP BY agent_id, created_at)
GROUP BY agent_id
