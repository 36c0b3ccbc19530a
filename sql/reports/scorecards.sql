-- scorecards: the service's evaluation of calls, by criterion
--
-- Look at the criteria with the lowest share of true, or the lowest mean. Compare them
-- between agents or versions with --by.
--
-- The service does not document the form of an evaluation, so each value in it is a
-- criterion, named by the path of members that leads to it, joined by points: scores.tone.
-- An element of an array counts as a member if all elements of the array are objects with
-- a name: criteria.greeting.score. Any other shape (a null, an empty object, another
-- array, a path of more than eight members, a number of more than 13 digits before the
-- point or 18 after it) has a row with its kind and count.
--
-- Booleans have a row with the share of true; texts have a row each, or share one if there
-- are more than ten; numbers have a row with their mean. low and high are bounds with 95 %
-- confidence (shares: Wilson; means: Hall, from ten numbers on). A criterion that occurs
-- several times in a call counts each time. v3 has not been seen to send evaluations: they
-- come from v2.
--
-- Grain: one row per group, criterion, kind and text
-- Reads: selected
-- Needs: end, analysis
-- Keys: criterion, kind, value
-- Empty: no calls with an evaluation match
-- Example: query scorecards --by agent,version --since 28d --compare previous
-- Columns:
--   key                VARCHAR         -                          group of --by
-- * criterion          VARCHAR         -                          path of the criterion; null: the evaluation is no object
--   kind               VARCHAR         -                          boolean, number, string, null, array, object or unread number
-- * value              VARCHAR         -                          true for a boolean, the text for a string; null: a number, more than ten texts, or another kind
--   values             BIGINT          number                     distinct texts in the row; null: not text
-- * judged             BIGINT          number                     values of the kind for the criterion in the group's calls
-- * hits               BIGINT          number                     values equal to value; null: no value
-- * share_percent      DOUBLE          percent of judged: listed  share of them
--   low_percent        DOUBLE          percent                    lower bound of this share (Wilson, 95 %)
--   high_percent       DOUBLE          percent                    upper bound
-- * mean               DECIMAL(38,4)   number: spread             mean of the numbers
--   mean_low           DOUBLE          number                     lower bound of the mean (95 %); null: fewer than ten numbers
--   mean_high          DOUBLE          number                     upper bound
--   min                DECIMAL(38,18)  number                     minimum
--   max                DECIMAL(38,18)  number                     maximum
--   evaluated_calls    BIGINT          number                     calls of the group that have an evaluation
--   evaluated_percent  DOUBLE          percent of calls           share of the group's calls with an evaluation
--   listed             BIGINT          hidden                     for comparisons only

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
        min(number) AS min, max(number) AS max
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
        any_value(total) AS total, any_value(min) AS min, any_value(max) AS max,
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
    min, max, evaluated_calls,
    percent_of(evaluated_calls, calls) AS evaluated_percent,
    spread, if(hits IS NULL, NULL, judged) AS listed
FROM folded JOIN groups ON groups.key IS NOT DISTINCT FROM folded.key
ORDER BY group_rank(group_judged, $largest_first), folded.key NULLS LAST, criterion_judged DESC, criterion NULLS LAST,
    kind, hits DESC NULLS LAST, value NULLS LAST
