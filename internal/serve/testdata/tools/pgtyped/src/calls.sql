/* @name ByStatus */
SELECT status, count(*) AS n, max(start_at) AS last, metadata FROM calls WHERE start_at > :since AND duration_ms > :least GROUP BY 1, 4;
