-- No successful run within --max-age.
SELECT max(ended_at) AS last_success
FROM runs
WHERE outcome = 'done'
HAVING count(*) = 0 OR max(ended_at) < now() - to_seconds(CAST($max_age AS BIGINT))
