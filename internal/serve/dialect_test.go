package serve_test

import (
	"strings"
	"testing"
)

// Where DuckDB would say something else, or nothing, the answer is Postgres'. What a real
// Postgres says to these is seen by make postgres.
func testDialect(t *testing.T, h *house) {
	c := h.connect(t, "")
	for sql, want := range map[string]string{
		`SELECT 1 AS Some, 2 AS "Other"`:                                                                                                                              "some Other | 1 2",
		`SELECT * FROM (SELECT current_database(), 1 AS X) AS s`:                                                                                                      "current_database x | callhouse 1",
		`WITH t(A) AS (SELECT 1) SELECT *, {'B': 2} AS c, format('{}%', 5) AS d FROM t`:                                                                               `a c d | 1 {"B":2} 5%`,
		`SELECT sum(x::bigint) / 2 > 1.4 AS a, sum(x) / 2 AS b, sum(x::bigint) AS c FROM generate_series(1, 2) AS s(x)`:                                               "a b c | t 1 3",
		`WITH t AS (SELECT sum(CASE WHEN x > 1 THEN 1 ELSE 0 END) AS n, sum(x::bigint) AS m FROM generate_series(1, 2) AS s(x)) SELECT n / 2 AS a, m / 2 AS b FROM t`: "a b | 0 1.5",
		`SELECT x FROM (VALUES (1), (NULL), (2)) AS t(x) ORDER BY x DESC LIMIT 2`:                                                                                     "x | null | 2",
		`SELECT avg(interval '1 second' * x) AS a FROM generate_series(1, 4099) AS s(x)`:                                                                              "a | 00:34:10",
		`SELECT avg(interval '1.001 seconds' * x) AS a, sum(interval '1 day' * x) AS b FROM generate_series(1, 4098) AS s(x)`:                                         "a b | 00:34:11.5495 8398851 days",
		`SELECT extract(second FROM timestamp '2026-01-01 00:00:01.5') AS a, extract(hour FROM timestamp '2026-01-01 05:00') / 2 AS b`:                                "a b | 1.500000 2.5",
		`SELECT round(1.005::float8::numeric, 2) AS a, 0.0001::numeric = 0 AS b, 1.005::float8::numeric(10,2) AS c`:                                                   "a b c | 1.01 f 1.01",
		`SELECT session_user`:                             "session_user | somebody",
		`SELECT format('%s-%I %2$L %%', 'a', 'B c') AS f`: `f | a-"B c" 'B c' %`,
		`SELECT substring('c12' FROM 'c([0-9]+)') AS a, substring('c12' FROM '[0-9]') AS b, coalesce(substring('c' FROM '[0-9]'), 'none') AS c, substring('c12', 2) AS d`: "a b c d | 12 1 none 12",
		`SELECT '{"a": [{"b/c": 5}]}'::json #>> '{a,0,b/c}' AS a, '{"a": {"b": 5}}'::json #> array['a']::text[] AS b`:                                                     `a b | 5 {"b":5}`,
		`SELECT s[2] AS x FROM string_to_array('a,b', ',') s`:                                                                                                             "x | b",
		`SELECT 'a_b' LIKE 'a\_b' AS a, 'axb' LIKE 'a\_b' AS b, 'axb' LIKE 'a_b' AS c, 'A_B' ILIKE 'a\_' || 'b' AS d, 'x' NOT LIKE '\%' AS e, '%' NOT ILIKE '\%' AS f`:    "a b c d e f | t f t t t f",
		`SELECT d FROM current_database() AS d`:                                     "d | callhouse",
		`SELECT indkey FROM pg_index WHERE indrelid = 'transcript_turns'::regclass`: "indkey | 1 2",
		`SELECT max(g) AS m FROM (SELECT generate_series(1, 3)) AS s(g)`:            "m | 3",
		`SELECT count(*) AS n FROM pg_index i LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey) WHERE i.indrelid = 'transcript_turns'::regclass`: "n | 2",
		`SELECT indkey[0] AS first, indkey[1] AS second FROM pg_index WHERE indrelid = 'calls'::regclass`:                                                                        "first second | 1 null",
		`SELECT c.tableoid = 'pg_class'::regclass AS t FROM pg_class c WHERE c.oid = 'calls'::regclass`:                                                                          "t | t",
		`SELECT tableoid::regclass AS t FROM pg_namespace WHERE nspname = 'public'`:                                                                                              "t | pg_namespace",
		`SELECT p.proname FROM pg_type t JOIN pg_proc p ON p.oid = t.typreceive WHERE t.typname = '_int4'`:                                                                       "proname | array_recv",
		`SELECT typreceive FROM pg_type WHERE typname = 'int4' AND typinput = 'int4in'::regproc`:                                                                                 "typreceive | int4recv",
		`SELECT parse_ident('public."A b"') AS p`:                                                                                                                                `p | {public,"A b"}`,
	} {
		results, err := c.PgConn().Exec(t.Context(), sql).ReadAll()
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		var words []string
		for _, f := range results[0].FieldDescriptions {
			words = append(words, f.Name)
		}
		for _, r := range results[0].Rows {
			words = append(words, "|")
			for _, cell := range r {
				if cell == nil {
					cell = []byte("null")
				}
				words = append(words, string(cell))
			}
		}
		if got := strings.Join(words, " "); got != want {
			t.Errorf("%s\n%s, want\n%s", sql, got, want)
		}
	}
}
