FROM "F"(A)
FROM system.main."F"(A)
FROM pg_catalog."F"(A)
SELECT x.* FROM "F"(A) x
SELECT (SELECT count(*) FROM "F"(A))
SELECT 1 FROM calls, LATERAL (FROM "F"(A))
SELECT 1 FROM calls c, "F"(c.call_id)
WITH "F" AS (SELECT 1) FROM "F"(A)
WITH x AS (FROM "F"(A)) FROM x
DESCRIBE FROM "F"(A)
SUMMARIZE FROM "F"(A)
FROM "F"(A) WITH ORDINALITY
