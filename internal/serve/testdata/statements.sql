SELECT 1 AS one, 'x' AS x, true AS yes, NULL AS nothing
SELECT 5 / 2, 5 % 2, 5.0 / 2 > 2, -7 / 2
SELECT count(*), count(DISTINCT status), max(start_at), min(duration_ms) FROM calls
SELECT status, count(*) FROM calls GROUP BY status ORDER BY status
SELECT "public"."calls"."status" AS "status", COUNT(*) AS "count" FROM "public"."calls" GROUP BY "public"."calls"."status" ORDER BY "public"."calls"."status" ASC
SELECT "c"."call_id" FROM "callhouse"."public"."calls" "c" WHERE "c"."call_id" IN ('c0', 'c2') ORDER BY 1 LIMIT 5 OFFSET 0
SELECT public.calls.call_id FROM public.calls ORDER BY public.calls.call_id DESC NULLS LAST FETCH FIRST 2 ROWS ONLY
SELECT DATE_TRUNC('month', start_at) AS month, COUNT(*) AS n FROM calls GROUP BY DATE_TRUNC('month', start_at) ORDER BY 1
SELECT DATE_TRUNC('week', start_at + INTERVAL '1 day') + INTERVAL '-1 day' AS week, COUNT(*) FROM calls GROUP BY 1 ORDER BY 1
SELECT CAST(start_at AS date) AS day, SUM(total_cost) AS cost FROM calls WHERE start_at >= timestamp with time zone '2025-10-01 00:00:00Z' AND start_at < timestamp with time zone '2027-10-01 00:00:00Z' GROUP BY CAST(start_at AS date) ORDER BY day
SELECT floor(extract(epoch FROM start_at) / 300) * 300 AS time, count(*) AS value FROM calls WHERE start_at BETWEEN '2025-10-01T00:00:00Z' AND '2027-10-01T00:00:00Z' GROUP BY 1 ORDER BY 1 -- differs: a division gives a double, not a numeric
SELECT to_char(start_at, 'YYYY-MM-DD HH24:MI:SS') FROM calls ORDER BY call_id
SELECT to_timestamp('2026-01-02 03:04:05', 'YYYY-MM-DD HH24:MI:SS'), to_date('2026-01-02', 'YYYY-MM-DD')
SELECT start_at::timestamp, start_at AT TIME ZONE 'Europe/Berlin', date_part('hour', start_at) FROM calls ORDER BY call_id LIMIT 1
SELECT now() - INTERVAL '30 days' < now(), current_date = now()::date
SELECT call_id FROM calls WHERE call_id ~ '^c[01]$' AND call_id !~ 'x' AND call_id ~* 'C' AND call_id ILIKE 'C%' ORDER BY 1
SELECT call_id || '-' || coalesce(status, '?') AS label, upper(call_id), length(call_id), substring(call_id from 1 for 1), position('0' in call_id), left(call_id, 1), replace(call_id, 'c', 'd'), split_part('a,b', ',', 2) FROM calls ORDER BY 1
SELECT metadata ->> 'campaign', metadata -> 'campaign' FROM calls ORDER BY call_id
SELECT CASE WHEN duration_ms > 1000 THEN 'long' ELSE 'short' END AS kind, count(*) FROM calls GROUP BY 1 ORDER BY 1
SELECT sum(duration_ms), count(duration_ms) FILTER (WHERE duration_ms > 0) FROM calls
SELECT row_number() OVER (ORDER BY call_id), rank() OVER (PARTITION BY status ORDER BY call_id), lag(call_id) OVER (ORDER BY call_id) FROM calls ORDER BY call_id
SELECT c.call_id, t.role, t.content FROM calls c LEFT JOIN transcript_turns t ON t.call_id = c.call_id ORDER BY 1, t.turn
SELECT c.call_id, x.n FROM calls c LEFT JOIN LATERAL (SELECT count(*) AS n FROM transcript_turns t WHERE t.call_id = c.call_id) x ON true ORDER BY 1
WITH a AS (SELECT call_id FROM calls), b AS (SELECT * FROM a WHERE call_id > 'c0') SELECT count(*) FROM b
WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 4) SELECT sum(n) FROM r
SELECT * FROM generate_series(1, 3) AS s
SELECT * FROM generate_series(5, 1, -2)
SELECT count(*) FROM generate_series(1, 100000)
SELECT s.n FROM generate_series(1, 3) AS s(n)
SELECT string_agg(call_id, ',' ORDER BY call_id), array_agg(call_id ORDER BY call_id), bool_or(call_id = 'c0') FROM calls
SELECT ARRAY[1, 2, 3], ARRAY['a', NULL], (ARRAY[10, 20])[2], 2 = ANY(ARRAY[1, 2]), array_length(ARRAY[1, 2], 1), '{1,2}'::int[]
SELECT 'a' UNION SELECT 'b' UNION ALL SELECT 'a' ORDER BY 1
SELECT 1 WHERE EXISTS (SELECT 1 FROM calls) AND 'c0' IN (SELECT call_id FROM calls) AND NOT EXISTS (SELECT 1 FROM calls WHERE false)
SELECT CAST('12.50' AS numeric(10,2)), CAST('7' AS bigint), '2026-01-01'::date + 1, '1 day'::interval, '12:30'::time, '24:00'::time, 'x'::varchar(3), 1::bool
SELECT DISTINCT ON (status) status, call_id FROM calls ORDER BY status, call_id
SELECT greatest(1, 2), least(1, 2), nullif(1, 1), coalesce(NULL, 2), abs(-1), round(1.5::float8), ceil(1.2::float8), floor(1.8::float8)
SELECT E'a\tb', $$it's$$
SELECT current_schema(), current_database(), current_setting('standard_conforming_strings'), current_setting('server_encoding')
SELECT n.nspname, c.relname, c.relkind FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'v') AND n.nspname = 'public' ORDER BY 2
SELECT a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attnum, col_description(a.attrelid, a.attnum) FROM pg_attribute a WHERE a.attrelid = 'calls'::regclass AND a.attnum > 0 ORDER BY a.attnum
SELECT conname, contype, conrelid::regclass, confrelid::regclass::text, pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace ORDER BY conname
SELECT obj_description('public.calls'::regclass, 'pg_class'), 'calls'::regclass::text
SELECT table_schema, table_name, table_type FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 2
SELECT table_name, column_name, ordinal_position, is_nullable, data_type, udt_name, numeric_precision, numeric_scale, datetime_precision FROM information_schema.columns WHERE table_schema = 'public' ORDER BY table_name, ordinal_position
SELECT tc.constraint_name, tc.constraint_type, kcu.column_name, kcu.ordinal_position FROM information_schema.table_constraints tc JOIN information_schema.key_column_usage kcu ON kcu.constraint_name = tc.constraint_name WHERE tc.table_schema = 'public' ORDER BY 1, 4
SELECT constraint_name, unique_constraint_name, update_rule, delete_rule FROM information_schema.referential_constraints ORDER BY 1
SELECT schema_name FROM information_schema.schemata WHERE schema_name IN ('public', 'pg_catalog', 'information_schema') ORDER BY 1
SELECT oid, typname, typlen, typtype, typelem, typarray, typcategory FROM pg_type WHERE typname IN ('bool', 'int4', 'int8', 'text', 'numeric', 'timestamptz', '_text', '_int4', 'json', 'date', 'uuid') ORDER BY oid
SELECT has_table_privilege('calls', 'SELECT'), has_schema_privilege('public', 'USAGE'), pg_table_is_visible('calls'::regclass)
SELECT i.indisprimary, i.indisunique, i.indnatts, pg_get_indexdef(i.indexrelid) FROM pg_index i WHERE i.indrelid = 'transcript_turns'::regclass
SHOW standard_conforming_strings
SHOW search_path
SELECT nothing FROM calls
SELECT * FROM nothing
SELECT nothing(1)
SELECT 1 +
SELECT 'x'::int
SELECT 1 FROM calls GROUP BY
SELECT 1; SELECT 2
SELECT avg(duration_ms) FROM calls -- differs: avg of integers is a double, not a numeric
SELECT extract(year FROM start_at) FROM calls LIMIT 1
SELECT version() -- differs: the program is another one
SELECT date_trunc('day', DATE '2026-01-02') -- differs: of a date it is a timestamp without a zone
SELECT U&'x' -- differs: texts with U& are refused
SELECT $1 AS label, call_id FROM calls ORDER BY 2 -- with: unknown abcd
SELECT $1 -- with: unknown abcd
SELECT $1, $2 -- with: unknown abcd, unknown 5
SELECT CASE WHEN call_id = 'c0' THEN $1 ELSE 'x' END FROM calls ORDER BY call_id -- with: unknown abcd
SELECT CASE WHEN call_id = $1 THEN $2 END FROM calls ORDER BY call_id -- with: unknown c0, unknown abcd
SELECT CASE WHEN call_id = 'c0' THEN $1 ELSE duration_ms END FROM calls ORDER BY call_id -- with: unknown 7
SELECT CASE $1 WHEN 'abcd' THEN 1 ELSE 2 END -- with: unknown abcd
SELECT $1 || status FROM calls ORDER BY call_id -- with: unknown abcd
SELECT status || $1 FROM calls ORDER BY call_id -- with: unknown abcd
SELECT $1 || $2 -- with: unknown ab, unknown cd
SELECT $1 || 'x' -- with: unknown ab
SELECT $1 || duration_ms FROM calls ORDER BY call_id -- with: unknown ab
SELECT nullif($1, 'x') -- with: unknown abcd
SELECT nullif($1, $2) -- with: unknown abcd, unknown abcd
SELECT nullif(duration_ms, $1) FROM calls ORDER BY call_id -- with: unknown 500
SELECT coalesce($1, 'x') -- with: unknown abcd
SELECT coalesce(status, $1) FROM calls ORDER BY call_id -- with: unknown abcd
SELECT coalesce(duration_ms, $1) FROM calls ORDER BY call_id -- with: unknown 8
SELECT coalesce($1, $2) -- with: unknown abcd, unknown abcd
SELECT $1 UNION SELECT 'x' ORDER BY 1 -- with: unknown abcd
SELECT $1 UNION ALL SELECT $2 ORDER BY 1 -- with: unknown abcd, unknown b
SELECT $1 UNION SELECT 1 ORDER BY 1 -- with: unknown 5 -- differs: a parameter without a type is a text
SELECT call_id, $1 FROM calls UNION ALL SELECT call_id, $2 FROM calls ORDER BY 1, 2 -- with: unknown a, unknown b
SELECT duration_ms FROM calls UNION ALL SELECT $1 ORDER BY 1 -- with: unknown 5 -- differs: a parameter without a type is a text
VALUES ($1) -- with: unknown abcd
VALUES ($1), ('x') -- with: unknown abcd
VALUES ($1), (1) -- with: unknown 5 -- differs: a parameter without a type is a text, which has to be cast
VALUES (1, $1), (2, $2) -- with: unknown a, unknown b
SELECT min($1) -- with: unknown abcd
SELECT max($1) FROM calls -- with: unknown abcd
SELECT min($1), count(*) FROM calls -- with: unknown abcd
SELECT * FROM (SELECT $1 AS a) x -- with: unknown abcd
SELECT a || 'x' FROM (SELECT $1 AS a) x -- with: unknown abcd
WITH p AS (SELECT $1 AS a) SELECT a, call_id FROM p, calls ORDER BY 2 -- with: unknown abcd
SELECT (SELECT $1) -- with: unknown abcd
SELECT greatest($1, 'b') -- with: unknown a
SELECT greatest($1, $2) -- with: unknown a, unknown b
SELECT greatest(duration_ms, $1) FROM calls ORDER BY call_id -- with: unknown 1000
SELECT upper($1), lower($2), length($3) -- with: unknown a, unknown B, unknown abc
SELECT replace(status, $1, $2) FROM calls ORDER BY call_id -- with: unknown e, unknown E
SELECT duration_ms + $1 FROM calls ORDER BY call_id -- with: unknown 5
SELECT duration_ms * $1 FROM calls ORDER BY call_id -- with: unknown 5
SELECT total_cost * $1 FROM calls ORDER BY call_id -- with: unknown 1.5 -- differs: the places of a product are those of both factors
SELECT 1 + $1 -- with: unknown 5
SELECT 1.5 * $1 -- with: unknown 5 -- differs: the places of a product are those of both factors
SELECT start_at + $1 FROM calls ORDER BY call_id -- with: unknown 1 day
SELECT start_at - $1 FROM calls ORDER BY call_id -- with: unknown 2025-01-01 00:00:00Z -- differs: a parameter without a type is a text, which has to be cast
SELECT call_id FROM calls WHERE start_at > $1 ORDER BY 1 -- with: unknown 2025-10-31
SELECT call_id FROM calls WHERE start_at BETWEEN $1 AND $2 ORDER BY 1 -- with: unknown 2025-10-01, unknown 2025-10-31
SELECT call_id FROM calls WHERE duration_ms / 1000 > $1 ORDER BY 1 -- with: unknown 5
SELECT call_id FROM calls WHERE duration_ms > $1 * 1000 ORDER BY 1 -- with: unknown 5
SELECT call_id FROM calls WHERE call_id IN ($1, $2) ORDER BY 1 -- with: unknown c0, unknown c1
SELECT call_id FROM calls WHERE call_id = ANY($1) ORDER BY 1 -- with: unknown {c0,c1}
SELECT call_id FROM calls WHERE duration_ms = ANY($1) ORDER BY 1 -- with: unknown {500,1}
SELECT call_id FROM calls WHERE call_id LIKE $1 ORDER BY 1 -- with: unknown c%
SELECT call_id FROM calls WHERE call_id ~ $1 ORDER BY 1 -- with: unknown ^c
SELECT call_id FROM calls WHERE ($1 = '' OR status = $2) ORDER BY 1 -- with: unknown , unknown ended
SELECT call_id FROM calls WHERE $1 ORDER BY 1 -- with: unknown t
SELECT call_id FROM calls WHERE NOT $1 ORDER BY 1 -- with: unknown f
SELECT call_id FROM calls ORDER BY 1 LIMIT $1 OFFSET $2 -- with: unknown 1, unknown 1
SELECT date_trunc($1, start_at) FROM calls ORDER BY call_id -- with: unknown day
SELECT date_trunc($1, start_at), count(*) FROM calls GROUP BY 1 ORDER BY 1 -- with: unknown day
SELECT start_at AT TIME ZONE $1 FROM calls ORDER BY call_id -- with: unknown Europe/Berlin
SELECT $1::int + 1 -- with: unknown 4
SELECT $1::text -- with: unknown 4
SELECT $1 AS a, $1 AS b -- with: unknown abcd
SELECT $1::int, $1 -- with: unknown 5
SELECT ARRAY[$1, $2] -- with: unknown a, unknown b
SELECT ARRAY[1, $1] -- with: unknown 5
SELECT string_agg($1, ',') FROM calls -- with: unknown a
SELECT string_agg(call_id, $1 ORDER BY call_id) FROM calls -- with: unknown ;
SELECT DISTINCT $1 FROM calls -- with: unknown a
SELECT $1 AS x, count(*) FROM calls GROUP BY 1 -- with: unknown a
SELECT row_number() OVER (ORDER BY $1) FROM calls -- with: unknown a
SELECT lag(call_id, 1, $1) OVER (ORDER BY call_id) FROM calls -- with: unknown none
SELECT metadata ->> $1 FROM calls ORDER BY call_id -- with: unknown campaign
SELECT metadata -> $1 FROM calls ORDER BY call_id -- with: unknown campaign
SELECT $1 FROM calls WHERE call_id = $2 -- with: unknown abcd, unknown c0
SELECT $1::text || $2 -- with: unknown a, unknown b
SELECT abs($1) -- with: unknown -5 -- differs: a parameter without a type is a text, which has to be cast
SELECT round($1, 2) -- with: unknown 5.555 -- differs: a number without a type is a double, not a numeric
SELECT $1 = $2 -- with: unknown a, unknown b
SELECT $1 > 5 -- with: unknown 6
SELECT $1 IN ('a', 'b') -- with: unknown a
SELECT $1 LIKE 'a%' -- with: unknown abc
SELECT substring($1, 2) -- with: unknown abc
SELECT split_part($1, ',', $2) -- with: unknown a,b, unknown 2 -- differs: numbers without a type are texts there
SELECT interval '1 day' * $1 -- with: unknown 3 -- differs: a parameter without a type is a text, which has to be cast
SELECT now() > $1 -- with: unknown 2025-01-01
SELECT current_date - $1 > 0 -- with: unknown 2025-01-01 -- differs: a parameter without a type is a text, which has to be cast
SELECT $1 AS label -- with: text abcd
SELECT $1 AS label -- with: int4 5
SELECT $1 AS label -- with: int8 5
SELECT $1 AS label -- with: varchar x
SELECT $1 + 1 -- with: int8 5
SELECT $1 / 2 -- with: int4 5
SELECT min($1) -- with: int8 5
SELECT CASE WHEN true THEN $1 ELSE 'x' END -- with: text abcd
SELECT nullif($1, $2) -- with: text a, text b
SELECT $1 AS label, $2 AS n, call_id FROM calls WHERE duration_ms > $3 ORDER BY 3 -- with: unknown abcd, int2 7, int2 600
SELECT $1 AS label, $2 AS n, call_id FROM calls WHERE duration_ms > $3 ORDER BY 3 -- with: unknown abcd, int4 7, unknown 600
SELECT $1 AS label, $2 AS n -- with: unknown abcd, int4 7
SELECT $1 AS label, call_id FROM calls WHERE duration_ms > $2 ORDER BY 2 -- with: unknown abcd, int8 600
SELECT call_id FROM calls WHERE duration_ms > $1::smallint ORDER BY 1 -- with: unknown 600
SELECT call_id FROM calls WHERE duration_ms > $1::int ORDER BY 1 -- with: unknown 600
SELECT $2, call_id FROM calls WHERE duration_ms > $1::int ORDER BY 1 -- with: unknown 600, unknown abcd
SELECT $2, call_id FROM calls WHERE start_at > $1::date ORDER BY 1 -- with: unknown 2020-01-01, unknown abcd
SELECT $2, call_id FROM calls WHERE start_at > $1::timestamp AND start_at < $3 ORDER BY 1 -- with: unknown 2020-01-01, unknown abcd, unknown 2030-01-01
SELECT round(sum(duration_ms) / count(*), 3), sum(duration_ms) FROM calls
SELECT s / n > 20500 AS more, s FROM (SELECT sum(duration_ms) AS s, count(*) AS n FROM calls) x
SELECT sum(turn) / 2, sum(turn) FROM transcript_turns
SELECT sum(CASE WHEN status = 'ended' THEN 1 ELSE 0 END) / count(*), sum(CASE WHEN status = 'ended' THEN 1 ELSE 0 END) FROM calls
SELECT 100 * sum(CASE WHEN status = 'ended' THEN 1 ELSE 0 END) / count(*) FROM calls
SELECT 100.0 * sum(CASE WHEN status = 'ended' THEN 1 ELSE 0 END) / count(*) > 66.6 FROM calls
SELECT sum(n) FROM generate_series(1, 4) AS s(n)
SELECT sum(total_cost) FROM calls
SELECT sum(duration_ms::float8) / 7 FROM calls
SELECT sum(duration_ms) OVER (ORDER BY call_id) FROM calls ORDER BY call_id
SELECT status, sum(duration_ms) FILTER (WHERE duration_ms > 500) FROM calls GROUP BY status ORDER BY 1
SELECT status, sum(duration_ms) FROM calls GROUP BY 1 HAVING sum(duration_ms) > 1 ORDER BY sum(duration_ms) DESC
SELECT call_id, duration_ms FROM calls ORDER BY duration_ms DESC LIMIT 2
SELECT call_id, duration_ms FROM calls ORDER BY duration_ms LIMIT 2
SELECT call_id, duration_ms FROM calls ORDER BY duration_ms DESC NULLS LAST LIMIT 2
SELECT call_id, row_number() OVER (ORDER BY duration_ms DESC) FROM calls ORDER BY 1
SELECT array_agg(call_id ORDER BY duration_ms DESC) FROM calls
SELECT string_agg(call_id, ',' ORDER BY duration_ms DESC, call_id) FROM calls
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY duration_ms DESC) FROM calls
SELECT DISTINCT ON (status) status, call_id FROM calls ORDER BY status DESC, call_id DESC
SELECT avg(d), sum(d), count(d) FROM (SELECT interval '1 second' * n + interval '1 day' * (n % 5) AS d FROM generate_series(1, 4099) AS s(n)) x
SELECT avg(start_at - timestamptz '2025-01-01 00:00:00Z'), sum(start_at - timestamptz '2025-01-01 00:00:00Z') FROM calls
SELECT avg(d) FILTER (WHERE d > interval '1 day') FROM (SELECT start_at - timestamptz '2025-11-01 00:00:00Z' AS d FROM calls) x
SELECT avg(start_at - timestamptz '2025-01-01 00:00:00Z') OVER (ORDER BY call_id) FROM calls ORDER BY call_id
SELECT avg(i) FROM (SELECT interval '1 month 5 days' AS i UNION ALL SELECT interval '2 months 1 day 3 hours') x
SELECT avg(i), sum(i) FROM (SELECT interval '1 day' AS i WHERE false) x
SELECT extract(year FROM start_at), extract(epoch FROM start_at), extract(second FROM start_at), extract(milliseconds FROM start_at), extract(dow FROM start_at), extract(hour FROM start_at) / 2 FROM calls ORDER BY call_id -- differs: a division gives a double, not a numeric
SELECT date_part('year', start_at), date_part('epoch', start_at), date_part('second', start_at), date_part('milliseconds', start_at) FROM calls ORDER BY call_id
SELECT extract(epoch FROM interval '1 day 2 seconds'), extract(epoch FROM avg(start_at - timestamptz '2025-01-01 00:00:00Z')) FROM calls
SELECT floor(extract(epoch FROM start_at) / 300) * 300 AS time, count(*) AS value FROM calls GROUP BY 1 ORDER BY 1 -- differs: a division gives a double, not a numeric
SELECT round(avg(duration_ms)::numeric, 2), round(2.00499::float8::numeric, 2), 1.005::float8::numeric(10,2), round(1.005::float8::numeric, 2), 7::numeric, duration_ms::numeric FROM calls GROUP BY duration_ms ORDER BY duration_ms
SELECT '12.3456'::numeric > 12.345, CAST('1.23456' AS numeric) = 1.23456, total_cost::numeric FROM calls ORDER BY call_id
SELECT 1 / 0 -- differs: a division by zero is null
SELECT duration_ms / nullif(duration_ms - 500, 0), CASE WHEN duration_ms > 600 THEN 5 / (duration_ms - 500) END FROM calls ORDER BY call_id
SELECT 'abc' SIMILAR TO '%b%' -- differs: SIMILAR TO is refused
SELECT to_char(start_at, 'FMMonth DD, YYYY'), to_char(start_at, 'Month|Mon|MON|mon|MONTH'), to_char(start_at, 'Q'), to_char(start_at, 'D'), to_char(start_at, 'DY Day|FMDay'), to_char(start_at, 'FMDD.FMMM.YY'), to_char(start_at, 'HH12:MI AM'), to_char(start_at, 'YYYY"T"Q'), to_char(start_at, 'IYYY-IW'), to_char(start_at, 'HH24:MI:SS.MS') FROM calls ORDER BY call_id
SELECT round(2.5::float8), round(3.5::float8), round(2.5), round(-2.5::float8)
SELECT substr('hello', -1), substr('hello', -1, 4), substr('hello', 0, 3), substring('hello' from -2 for 5), substr('hello', 2, 3), substring('hello', 2)
SELECT 'abcdef'::varchar(3), 'ab'::varchar(3), 'abc'::character varying(2), length('abcdef'::varchar(4))
SELECT to_hex(255), to_hex(3735928559)
SELECT date_trunc('century', timestamp '2026-05-05') -- differs: centuries are refused
SELECT call_id FROM calls WHERE start_at >= '2025-11-01 00:00Z' ORDER BY 1
SELECT call_id FROM calls WHERE start_at >= '2025-11-01 00:00+02' AND start_at < '2025-12-01T00:00:00.000 +00:00' ORDER BY 1
SELECT call_id FROM calls WHERE start_at BETWEEN '2025-10-01 00:00 +00:00' AND '2025-11-30 00:00Z' ORDER BY 1
SELECT timestamptz '2026-10-01 00:00Z', '2026-10-01 00:00'::timestamp, '2026-10-01T10:00Z'::timestamptz, '2026-10-01 00:00:00 +02:00'::timestamptz
SELECT 'today'::date = current_date, 'yesterday'::date = current_date - 1, 'tomorrow'::date = current_date + 1, 'now'::timestamptz <= now(), 'today'::timestamp = date_trunc('day', now()::timestamp)
SELECT call_id FROM calls WHERE start_at < 'today' AND start_at < 'tomorrow' ORDER BY 1
SELECT call_id FROM calls WHERE start_at < $1 ORDER BY 1 -- with: unknown 2025-11-01 00:00Z
SELECT date_trunc('day', start_at, 'America/New_York'), date_trunc('month', start_at, 'Asia/Seoul') FROM calls ORDER BY call_id
SELECT date_bin('15 minutes', start_at, timestamptz '2001-01-01 00:00:00Z') FROM calls ORDER BY call_id -- differs: functions that no tested program sends are refused
SELECT to_char(12345.678, 'FM999,999.00') -- differs: to_char of numbers is refused
SELECT make_interval(days => 3), make_interval(hours => 2, mins => 30), make_interval(years => 1, months => 2, weeks => 1, secs => 1.5)
SELECT initcap('hello wORLD'), initcap('the ünder-taker''s 2nd')
SELECT start_at::time, start_at::timestamp::time FROM calls ORDER BY call_id
SELECT json_agg(call_id ORDER BY call_id DESC) ->> 0, json_array_length(json_agg(duration_ms)), json_agg(call_id) FILTER (WHERE false) FROM calls
SELECT jsonb_array_elements('[1, 2]'::jsonb)::text, jsonb_array_elements_text('["a", "b"]'::jsonb)
SELECT value FROM jsonb_array_elements_text('["a", "b"]'::jsonb)
SELECT e FROM json_array_elements_text('["a", "b"]') AS e
SELECT jsonb_object_keys('{"a": 1}'::jsonb), jsonb_typeof('[1]'::jsonb)
SELECT key, value::text FROM jsonb_each('{"a": 1}'::jsonb)
SELECT ARRAY[1, 2] @> ARRAY[1], ARRAY[1] && ARRAY[2]
SELECT 'a word' ~ '\mword\M', 'sword' ~ '\mword', 'a word' ~* '\yWORD\y', regexp_replace('a word', '\mw', 'W'), 'words' !~ 'word\M'
SELECT (date '2026-01-01', date '2026-02-01') OVERLAPS (date '2026-01-15', date '2026-03-01'), (date '2026-01-01', date '2026-01-15') OVERLAPS (date '2026-01-15', date '2026-03-01')
SELECT total_cost * billed_seconds FROM calls ORDER BY call_id
SELECT sum(total_cost * 2) * 100 > 1 FROM calls
SELECT every(duration_ms > 0), bool_and(duration_ms > 0) FROM calls
SELECT call_id FROM calls WHERE status LIKE ANY (ARRAY['end%', 'x%']) ORDER BY 1 -- differs: LIKE ANY is refused
SELECT round(sum(duration_ms)::numeric / 3, 3), round(avg(duration_ms), 2), round(100.0 * count(*) / 7, 1), round(sum(total_cost) / count(*), 4), round(2.5, 0), round(sum(duration_ms) / 3, 2) FROM calls
SELECT status, round(avg(duration_ms) / 1000, 1) AS seconds, round(100.0 * count(*) / sum(count(*)) OVER (), 1) AS percent FROM calls GROUP BY status ORDER BY 1
SELECT * FROM calls ORDER BY start_at DESC LIMIT 2
SELECT call_id, start_at AS s FROM (SELECT * FROM public.calls) t ORDER BY s DESC NULLS LAST LIMIT 2
SELECT call_id, status FROM calls WHERE call_id = $1 -- with: unknown c1
SELECT * FROM calls WHERE calls.call_id = 'c0' AND status = 'ended'
SELECT call_id FROM calls ORDER BY status FETCH FIRST 1 ROWS WITH TIES -- differs: WITH TIES is refused
SELECT c.call_id, c.status, count(t.turn) FROM calls c LEFT JOIN transcript_turns t ON t.call_id = c.call_id GROUP BY c.call_id, c.status ORDER BY 1
SELECT '{"b": 1, "a": 2}'::jsonb -- differs: jsonb is json: a text, as it was written
SELECT '2026-01-01 00:00:00.123456'::timestamp(0), '2026-01-01 00:00:00.123456'::timestamp(3)
SELECT 1e308::float8 * 10 -- differs: doubles overflow to infinity
SELECT "Call_ID", "Day" FROM (SELECT call_id AS "Call_ID", start_at AS "Day" FROM calls) AS t ORDER BY "Call_ID"
SELECT weekday FROM calls GROUP BY 1 ORDER BY 1 -- differs: weekday is sorted from Monday, as a word of a fixed set
SELECT greatest('a', NULL), trim(both 'x' from 'xax'), ascii('a'), chr(65), md5('a'), repeat('ab', 2), lpad('5', 3, '0'), translate('abc', 'ab', 'x')
SELECT age(timestamp '2026-03-01', timestamp '2026-01-15')
SELECT current_date - date '2025-01-01' > 0, date '2026-01-31' + interval '1 month', extract(days FROM interval '3 days'), date_part('isodow', timestamp '2026-01-04')
SELECT count(*) FILTER (WHERE status = 'ended') * 100.0 / count(*) > 66, percentile_disc(0.5) WITHIN GROUP (ORDER BY duration_ms), mode() WITHIN GROUP (ORDER BY status) FROM calls
SELECT status, count(*) FROM calls GROUP BY ROLLUP (status) ORDER BY 1 NULLS LAST
SELECT ntile(2) OVER (ORDER BY call_id), percent_rank() OVER (ORDER BY call_id), first_value(call_id) OVER (ORDER BY call_id) FROM calls ORDER BY call_id -- differs: ntile is a bigint
SELECT call_id, status, duration_ms / 1000 FROM calls GROUP BY call_id HAVING max(duration_ms) > 0 ORDER BY duration_ms DESC -- differs: GROUP BY has to name every column that is not aggregated
SELECT sum(x) FROM (SELECT sum(duration_ms) AS x FROM calls GROUP BY status) y
SELECT a.agent_id, a.name, count(*) FROM agents a LEFT JOIN calls c ON c.agent_id = a.agent_id GROUP BY a.agent_id, a.name ORDER BY 1
SELECT call_id FROM calls c WHERE EXISTS (SELECT FROM transcript_turns t WHERE t.call_id = c.call_id) ORDER BY 1
SELECT count(*) > 5 FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid WHERE c.relname = 'calls' AND a.atttypid = ANY ('{int,int8,int2}'::regtype[])
SELECT oid, format_type(oid, NULL) FROM pg_type WHERE typname IN ('int4', 'text', '_int4') ORDER BY 1
SELECT 'int'::regtype::oid AS a, 'int8'::regtype::oid AS b, 'decimal'::regtype::oid AS c, CASE 23 WHEN 'integer'::regtype THEN 'serial' END AS d
BEGIN; SET LOCAL timezone = 'America/New_York'; SELECT count(*), start_at::date FROM calls GROUP BY 2 ORDER BY 2; COMMIT; SHOW timezone
BEGIN; SET timezone = 'Asia/Tokyo'; ROLLBACK; SHOW timezone
BEGIN; SAVEPOINT a; SET timezone = 'Asia/Tokyo'; ROLLBACK TO a; SHOW timezone; SET timezone = 'Asia/Seoul'; SAVEPOINT b; SET LOCAL timezone = 'Europe/Berlin'; RELEASE b; SHOW timezone; COMMIT; SHOW timezone
BEGIN; SAVEPOINT a; RELEASE a; ROLLBACK TO a
BEGIN; COMMIT AND CHAIN -- differs: this form is refused
SET timezone = 'Asia/Tokyo'; DISCARD ALL
SELECT set_config('TimeZone', 'Asia/Tokyo', false), 1 AS x, '2026-01-01 00:00:00Z'::timestamptz; SHOW timezone; SELECT current_setting('timezone')
BEGIN; SELECT set_config('TimeZone', 'Asia/Tokyo', true); SHOW timezone; COMMIT; SHOW timezone
SELECT set_config('my.own', 'x', false); SELECT current_setting('my.own'), current_setting('my.other', true)
SELECT set_config(name, 'off', false) FROM pg_settings WHERE name = 'geqo'
SELECT set_config('nope', 'x', false)
SET nope = 3
RESET nope
SET work_mem = '64MB'; SHOW work_mem; RESET work_mem; SHOW work_mem
SET timezone = 'GMT-09:00'; SHOW timezone; SELECT start_at, date_trunc('day', start_at) FROM calls ORDER BY call_id
SET timezone = 'KST-9'; SELECT start_at FROM calls ORDER BY call_id
SET timezone = 'asia/kolkata'; SHOW timezone
SET timezone = 'KST'
SELECT pg_advisory_unlock_all()
SELECT generate_series(1, 3)::text AS n
SELECT count(*) FROM (SELECT generate_series(1, 3)::text) x
SELECT generate_series(1, 3) + 10 AS n, generate_series(1, 2), upper(unnest(ARRAY['a', 'b']))
SELECT generate_series('2026-01-01'::date, '2026-01-03'::date, '1 day')
SELECT generate_series('2026-01-01'::date, '2026-01-03'::date, '1 day')::date AS day
SELECT date '2026-01-01' + generate_series(0, 2) AS day
SELECT to_char(generate_series('2026-01-01'::date, '2026-01-03'::date, '1 day'), 'YYYY-MM-DD')
SELECT count(*), min(d), max(d) FROM generate_series('2026-01-01'::date, '2026-01-03'::date, '1 day') d
SELECT d::date AS day, count(c.call_id) FROM generate_series('2025-10-08'::date, '2025-10-11'::date, '1 day') d LEFT JOIN calls c ON c.start_at::date = d GROUP BY 1 ORDER BY 1
SELECT d::date AS day, count(c.call_id) FROM generate_series((SELECT min(start_at)::date FROM calls), (SELECT min(start_at)::date + 2 FROM calls), '1 day') d LEFT JOIN calls c ON c.start_at::date = d::date GROUP BY 1 ORDER BY 1
WITH days AS (SELECT generate_series('2025-10-08'::date, '2025-10-11'::date, '1 day'::interval)::date AS day) SELECT days.day, coalesce(n, 0) AS n FROM days LEFT JOIN (SELECT start_at::date AS day, count(*) AS n FROM calls GROUP BY 1) c USING (day) ORDER BY 1
SET timezone = 'America/New_York'; SELECT generate_series('2026-10-31'::date, '2026-11-02'::date, '1 day')
SELECT g.x::time FROM generate_series('2026-01-01 00:00'::timestamp, '2026-01-01 02:00', '1 hour') AS g(x)
SELECT w, count(*) FROM regexp_split_to_table('a,b,a', ',') AS w GROUP BY w ORDER BY w
SELECT upper(regexp_split_to_table('a b', ' ')), string_to_table('a,b', ',')
SELECT i FROM generate_subscripts(ARRAY['a', 'b'], 1) AS i
SELECT * FROM json_array_elements('[1,2]')
SELECT upper(json_array_elements_text('["a","b"]'))
SELECT x FROM (VALUES (1), (NULL), (2)) AS t(x) ORDER BY x DESC LIMIT 2
SELECT avg(interval '1 second' * x) AS a FROM generate_series(1, 4099) AS s(x)
SELECT round(2.5::float8) AS a, round(2.5) AS b, substr('hello', -1, 4) AS c, 'abcdef'::varchar(3) AS d, to_hex(255) AS e
SELECT date_trunc('day', timestamptz '2026-01-01 00:00Z', 'America/New_York') AS b
SELECT initcap('the ünder-taker') AS a, (date '2026-01-01', date '2026-02-01') OVERLAPS (date '2026-01-15', date '2026-03-01') AS c
SELECT "Status" FROM (SELECT status AS "Status" FROM calls LIMIT 1) AS t
SELECT s[2] AS x FROM string_to_array('a,b', ',') s
SELECT count(relid) AS n FROM pg_partition_ancestors('calls'::regclass)
SELECT d FROM current_database() AS d
SELECT indkey FROM pg_index WHERE indrelid = 'transcript_turns'::regclass
SELECT max(g) AS m FROM (SELECT generate_series(1, 3)) AS s(g)
SELECT t.typname, t.typtype, t.typrelid = c.oid AS r FROM pg_class c JOIN pg_type t ON t.oid = c.reltype WHERE c.relname = 'calls'
SELECT parse_ident('public."A b"') AS p
SELECT 1 AS Some, 2 AS "Other"
SELECT sum(x::bigint) / 2 > 1.4 AS a, sum(x) / 2 AS b, sum(x::bigint) AS c FROM generate_series(1, 2) AS s(x)
SELECT avg(interval '1.001 seconds' * x) AS a, sum(interval '1 day' * x) AS b FROM generate_series(1, 4098) AS s(x)
SELECT round(1.005::float8::numeric, 2) AS a, 0.0001::numeric = 0 AS b, 1.005::float8::numeric(10,2) AS c
SELECT 'a word' ~ '\mword\M' AS c, 'sword' ~* '\yWORD' AS d
SELECT to_char(timestamp '2026-05-04 03:02:01', 'FMMonth|Month|DY|D|Q|FMDD|HH12"h"MI') AS a
SELECT count(*) AS n FROM calls WHERE start_at >= '2025-10-01 00:00 +02:00' AND start_at BETWEEN '2025-10-01 00:00Z' AND 'today'
SELECT timestamptz '2026-01-01 05:06Z'::time AS b, make_interval(days => 3, secs => 1.5) AS c
SELECT CASE WHEN x > 0 THEN 5 / x END AS a FROM (VALUES (0), (2)) AS t(x) WHERE x = 0 OR 4 / x = 2
SELECT round(sum(x)::numeric / 4, 3) AS a, round(avg(x), 2) AS b, round(100.0 * 1 / 3, 1) AS c, round(2.5, 0) AS d FROM generate_series(1, 2) AS s(x)
SELECT substring('c12' FROM 'c([0-9]+)') AS a, substring('c12' FROM '[0-9]') AS b, coalesce(substring('c' FROM '[0-9]'), 'none') AS c, substring('c12', 2) AS d
SELECT count(*) AS n FROM pg_index i LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey) WHERE i.indrelid = 'transcript_turns'::regclass
SELECT to_char(interval '1 day 26:03:04.567', 'DD HH24:MI:SS.MS'), to_char(interval '100 hours', 'HH12:MI'), to_char(interval '-1 hours -5 minutes', 'HH24:MI:SS'), to_char(NULL::interval, 'HH24'), to_char(interval '3 days 04:05:06', 'FMDD"d" FMHH24"h"')
SELECT to_char(duration_ms * interval '1 millisecond', 'MI:SS'), to_char('01:02:03'::time, 'HH24.MI') FROM calls ORDER BY call_id
SELECT to_char(sum(end_at - start_at), 'HH24:MI:SS') FROM calls
SELECT make_interval(secs => 3661.25)
SELECT to_char(now(), 'SSSS') -- differs: this format is refused
BEGIN; DECLARE c CURSOR FOR SELECT call_id FROM calls ORDER BY 1; FETCH 1 FROM c; FETCH FORWARD 1 FROM c; FETCH ALL FROM c; FETCH 1 FROM c; COMMIT
BEGIN; DECLARE c NO SCROLL CURSOR FOR SELECT 1; FETCH 1 FROM c; FETCH -1 FROM c
SELECT max(total_cost) cost, count(*) n, min(start_at) date FROM calls
SELECT status name, count(*) value FROM calls GROUP BY name ORDER BY value DESC, name
SELECT status::text type, duration_ms::numeric(12,2) position, start_at::timestamp with time zone zone FROM calls ORDER BY call_id
SELECT call_id key /* a comment */, status /* another, with FROM */ object, 'x' "It's" FROM calls ORDER BY 1
SELECT 1 first, 2 last, 3 left, 4 "Right", 5 Value, 6 user, 7 end, 8 select, 9 all, 10 null
SELECT (SELECT count(*) total FROM calls) calls, (SELECT 1) one UNION SELECT 2, 3 other ORDER BY calls, one
SELECT CASE WHEN status = 'ended' THEN 1 ELSE 0 END end, CASE status WHEN 'ended' THEN 1 END language FROM calls ORDER BY call_id
SELECT count(*) FILTER (WHERE status = 'ended') match, count(*) OVER () partition FROM calls GROUP BY status ORDER BY 1
SELECT DISTINCT ON (status) status, call_id source FROM calls ORDER BY status, call_id
SELECT x.source, x.level FROM (SELECT status source, count(*) level FROM calls GROUP BY 1) x ORDER BY 1
WITH days AS (SELECT start_at::date day_of, count(*) calls FROM calls GROUP BY 1) SELECT day_of, calls volume FROM days ORDER BY 1
SELECT status IS NULL unknown, NOT status = 'x' no, duration_ms IS NOT DISTINCT FROM 500 is_500, ARRAY[1, 2] list FROM calls ORDER BY call_id
SELECT 1 year
SELECT 1 over
SELECT extract(year FROM start_at) show, date_trunc('day', start_at at time zone 'UTC') at FROM calls ORDER BY call_id
SELECT cast('abcdef' AS varchar(3)), CAST(lower('ABCDEF') AS character varying(2)), cast(cast('abcd' AS text) AS char(3)), cast((SELECT 'xyz' AS y) AS varchar(1))
