SELECT "F"(A)
SELECT system.main."F"(A)
SELECT main."F"(A)
SELECT * FROM (SELECT "F"(A))
SELECT 1 FROM calls, LATERAL (SELECT "F"(A))
WITH "F" AS (SELECT "F"(A)) FROM "F"
SELECT [x -> "F"(A)]
SELECT 1 FROM calls ORDER BY "F"(A)
SELECT "F"(A) OVER ()
SELECT count("F"(A)) FILTER (1 = "F"(A))
