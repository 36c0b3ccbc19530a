-- scorecards: how the service's evaluation judged calls, criterion by criterion
--
-- The service does not say what an evaluation looks like, so each value in it is a
-- criterion, named by the members that lead to it, with points between: scores.tone.
-- An element of an array counts as a member if all elements of the array are objects
-- with a name: criteria.greeting.score. What has another shape (a null, an empty
-- object, any other array, what lies deeper than eight members, a number of more than
-- 13 digits before the point or 18 behind it) has a row as well, with its kind and how
-- often it was found.
--
-- Of true and false there is a row with the share of true; of texts a row for each, or
-- one for all where there are more than ten, as of reasons; of numbers a row with their
-- mean. low and high bound what chance did, with 95 % confidence (shares: Wilson; means:
-- Hall, of ten numbers or more). A criterion that stands several times in a call counts
-- as often. v3 has not been seen to send evaluations: they come with pages of v2.
--
-- Grain: one row per group, criterion, kind and text
-- Reads: selected
-- Needs: end, analysis
-- Keys: criterion, kind, value
-- Shares: hits of listed, values of listed, share_percent of listed
-- Repeats: judged of criterion kind, listed of criterion kind, evaluated_calls of key, evaluated_percent of key
-- Means: mean of spread
-- Empty: no calls with an evaluation match
-- Example: query scorecards --by agent,version --since 28d --compare previous
-- Columns:
--   key          VARCHAR  -        the group that --by asks for
--   criterion    VARCHAR  -        what was judged; null: the evaluation is no object
--   kind         VARCHAR  -        boolean, number or string; or what else it is: null, array, object, unread number
--   value        VARCHAR  -        of a boolean true, of a string the text; null: a number, more than ten texts, or another kind
--   values       BIGINT   count    different texts that the row stands for; null: no string
--   judged       BIGINT   count    how often the group's calls have a value of the kind for the criterion
--   hits         BIGINT   count    of them those that are the value; null: it has none
--   share_percent  DOUBLE  percent of judged  share of them
--   low_percent   DOUBLE  percent  the least that this share is, with 95 % confidence (Wilson)
--   high_percent  DOUBLE  percent  the most that it is
--   mean         DECIMAL(38,4)   number   mean of the numbers
--   mean_low     DOUBLE          number   the least that the mean is, with 95 % confidence; null: fewer than ten numbers
--   mean_high    DOUBLE          number   the most that it is
--   least        DECIMAL(38,18)  number   the smallest number
--   most         DECIMAL(38,18)  number   the largest one
--   evaluated_calls    BIGINT  count  calls of the group that have an evaluation
--   evaluated_percent  DOUBLE  percent of calls  share of them in the group's calls

WITH found AS (
    WITH RECURSIVE walk AS (
        SELECT key, CAST(NULL AS VARCHAR) AS criterion, evaluation AS value, json_type(evaluation) AS type, false AS is_named,
            evaluation_leads_on(evaluation, false) AS goes_on, 0 AS depth
        FROM selected
        WHERE evaluation IS NOT NULL
        UNION ALL
        SELECT walk.key, concat_ws('.', criterion, CASE WHEN walk.type = 'ARRAY' THEN j.value ->> '$.name' ELSE j.key END),
            j.value, j.type, walk.type = 'ARRAY',
            depth < 7 AND evaluation_leads_on(j.value, walk.type = 'ARRAY'), depth + 1
        FROM walk, json_each(walk.value) AS j
        WHERE goes_on AND NOT (is_named AND j.key IS NOT DISTINCT FROM 'name')
    )
    SELECT key, criterion, sent_text(value) AS text, exact_number(CAST(value AS VARCHAR)) AS number,
        CASE type WHEN 'BOOLEAN' THEN 'boolean' WHEN 'VARCHAR' THEN 'string' WHEN 'NULL' THEN 'null'
            WHEN 'ARRAY' THEN 'array' WHEN 'OBJECT' THEN 'object'
            ELSE if(exact_number(CAST(value AS VARCHAR)) IS NULL, 'unread number', 'number') END AS kind
    FROM walk
    WHERE NOT goes_on
), counted AS (
    SELECT key, criterion, kind,
        CASE kind WHEN 'string' THEN text WHEN 'boolean' THEN 'true' END AS value,
        count(*) AS n,
        count(*) FILTER (kind = 'string' OR text = 'true') AS hits,
        sum(number) AS total, sum(pow(CAST(number AS DOUBLE), 2)) AS squares, sum(pow(CAST(number AS DOUBLE), 3)) AS cubes,
        min(number) AS least, max(number) AS most
    FROM (SELECT * REPLACE (CASE WHEN kind = 'number' THEN number END AS number) FROM found)
    GROUP BY ALL
), ranked AS (
    SELECT *, count(*) OVER alike AS texts,
        sum(n) OVER (PARTITION BY key) AS group_judged,
        sum(n) OVER (PARTITION BY key, criterion) AS criterion_judged,
        CAST(sum(n) OVER alike AS BIGINT) AS judged
    FROM counted
    WINDOW alike AS (PARTITION BY key, criterion, kind)
), folded AS (
    SELECT key, criterion, kind, CASE WHEN texts <= 10 THEN value END AS value,
        CAST(CASE WHEN kind = 'string' THEN count(*) END AS BIGINT) AS values,
        judged,
        CASE WHEN kind = 'boolean' OR kind = 'string' AND texts <= 10 THEN total_of(hits) END AS hits,
        any_value(total) AS total, any_value(least) AS least, any_value(most) AS most,
        CASE WHEN kind = 'number' THEN spread_of(judged, any_value(total), any_value(squares), any_value(cubes)) END AS spread,
        group_judged, criterion_judged
    FROM ranked
    GROUP BY key, criterion, kind, CASE WHEN texts <= 10 THEN value END, texts, judged, group_judged, criterion_judged
), groups AS (
    SELECT key, count(*) AS calls, count(evaluation) AS evaluated_calls
    FROM selected
    GROUP BY key
)
SELECT folded.key, criterion, kind, value, values, judged, hits,
    percent_of(hits, judged) AS share_percent,
    wilson(hits, judged, -1) AS low_percent,
    wilson(hits, judged, 1) AS high_percent,
    CASE WHEN kind = 'number' THEN money_per(total, judged, 1) END AS mean,
    round(mean_bound(spread, 1.959963984540054e0, -1), 4) AS mean_low,
    round(mean_bound(spread, 1.959963984540054e0, 1), 4) AS mean_high,
    least, most, evaluated_calls,
    percent_of(evaluated_calls, calls) AS evaluated_percent,
    spread, if(hits IS NULL, NULL, judged) AS listed
FROM folded JOIN groups ON groups.key IS NOT DISTINCT FROM folded.key
ORDER BY group_rank(group_judged), folded.key NULLS LAST, criterion_judged DESC, criterion NULLS LAST,
    kind, hits DESC NULLS LAST, value NULLS LAST
