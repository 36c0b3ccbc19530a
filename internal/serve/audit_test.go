package serve_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"callhouse/internal/serve"
	"callhouse/internal/test"
)

// Each statement that ran is one line of the audit; one that was only planned is not.
func testAudit(t *testing.T, h *testServer) {
	c := h.connect(t, "")
	h.mu.Lock()
	h.audit = nil
	h.mu.Unlock()
	ctx, p := t.Context(), c.PgConn()
	for i := range 3 {
		_, err := p.Prepare(ctx, fmt.Sprint("s", i), "SELECT call_id FROM calls WHERE call_id = $1", nil)
		test.OK(t, err)
	}
	p.ExecPrepared(ctx, "s1", [][]byte{[]byte("c0")}, nil, nil).Read()
	p.ExecPrepared(ctx, "s1", [][]byte{[]byte("c1")}, nil, nil).Read()
	p.ExecPrepared(ctx, "s1", nil, nil, nil).Read()
	_, _ = p.Prepare(ctx, "wrong", "SELECT nothing FROM calls", nil)
	front := p.Frontend() // the first row of two, and then something else
	front.SendParse(&pgproto3.Parse{Query: "SELECT 'some' FROM calls"})
	front.SendBind(&pgproto3.Bind{})
	front.SendExecute(&pgproto3.Execute{MaxRows: 1})
	front.SendSync(&pgproto3.Sync{})
	test.OK(t, front.Flush())
	for {
		m, err := front.Receive()
		test.OK(t, err)
		if _, ok := m.(*pgproto3.ReadyForQuery); ok {
			break
		}
	}
	texts(t, c, "BEGIN; DECLARE a CURSOR FOR SELECT call_id FROM calls; FETCH 1 FROM a; FETCH ALL FROM a; COMMIT")
	if _, err := c.Exec(ctx, "SELECT 1 FROM calls; SELECT nothing; SELECT 2", pgx.QueryExecModeSimpleProtocol); code(err) != "42703" {
		t.Error(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	var got []string
	for _, e := range h.audit {
		got = append(got, fmt.Sprintf("%s %d %s", e.Text, e.Rows, e.Code))
	}
	if want := []string{
		"SELECT call_id FROM calls WHERE call_id = $1 1 00000", "SELECT call_id FROM calls WHERE call_id = $1 1 00000", "SELECT call_id FROM calls WHERE call_id = $1 0 08P01", "SELECT nothing FROM calls 0 42703",
		"SELECT 'some' FROM calls 1 00000", "BEGIN 0 00000", "DECLARE a CURSOR FOR SELECT call_id FROM calls 0 00000", "FETCH 1 FROM a /* SELECT call_id FROM calls */ 1 00000",
		"FETCH ALL FROM a /* SELECT call_id FROM calls */ 1 00000", "COMMIT 0 00000", "SELECT 1 FROM calls 2 00000", "SELECT nothing 0 42703",
	}; !slices.Equal(got, want) {
		t.Errorf("the audit is\n%q, want\n%q", got, want)
	}
	if len(h.running) > 0 {
		t.Errorf("statements that never ended: %v", h.running)
	}
}

// A cursor takes parameters, and one prepared statement may declare it repeatedly.
func testCursors(t *testing.T, h *testServer) {
	c := h.connect(t, "")
	texts(t, c, "BEGIN")
	s, err := c.PgConn().Prepare(t.Context(), "d", "DECLARE a NO SCROLL CURSOR FOR SELECT call_id, $2 AS label FROM calls WHERE call_id >= $1 ORDER BY 1", nil)
	test.OK(t, err)
	if !slices.Equal(s.ParamOIDs, []uint32{25, 25}) || len(s.Fields) > 0 {
		t.Errorf("described as %v, %v", s.ParamOIDs, s.Fields)
	}
	for _, x := range []struct{ from, want string }{{"c0", "c0,x c1,x "}, {"c1", "c1,x "}} {
		if r := c.PgConn().ExecPrepared(t.Context(), "d", [][]byte{[]byte(x.from), []byte("x")}, nil, nil).Read(); r.Err != nil {
			t.Fatal(r.Err)
		}
		got := ""
		for range 3 {
			r := c.PgConn().ExecParams(t.Context(), "FETCH FORWARD 1 FROM a", nil, nil, nil, []int16{1}).Read()
			for _, row := range r.Rows {
				got += fmt.Sprintf("%s,%s ", row[0], row[1])
			}
		}
		if got != x.want {
			t.Errorf("from %s: %q, want %q", x.from, got, x.want)
		}
		texts(t, c, "CLOSE a")
	}
	if _, err := c.Exec(t.Context(), "DECLARE b CURSOR FOR SELECT $1", pgx.QueryExecModeSimpleProtocol); code(err) != "42P02" {
		t.Errorf("a parameter in the simple protocol: %v", err)
	}
}

// Where DuckDB would answer differently, or fail, the answer is Postgres'. make postgres compares
// these with a real Postgres.
func testDialect(t *testing.T, h *testServer) {
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
		`SELECT 'a word' ~ '\mword\M' AS c, 'sword' ~* '\yWORD' AS d`:                                                                                                 "c d | t f",
		`SELECT to_char(timestamp '2026-05-04 03:02:01', 'FMMonth|Month|DY|D|Q|FMDD|HH12"h"MI') AS a`:                                                                 "a | May|May      |MON|2|2|4|03h02",
		`SELECT round(2.5::float8) AS a, round(2.5) AS b, substr('hello', -1, 4) AS c, 'abcdef'::varchar(3) AS d, to_hex(255) AS e`:                                   "a b c d e | 2 3 he abc ff",
		`SELECT date_trunc('day', timestamptz '2026-01-01 00:00Z', 'America/New_York') AS b`:                                                                          "b | 2025-12-31 05:00:00+00",
		`SELECT count(*) AS n FROM calls WHERE start_at >= '2025-10-01 00:00 +02:00' AND start_at BETWEEN '2025-10-01 00:00Z' AND 'today'`:                            "n | 2",
		`SELECT 'tomorrow'::date - 'yesterday'::date AS a, timestamptz '2026-01-01 05:06Z'::time AS b, make_interval(days => 3, secs => 1.5) AS c`:                    "a b c | 2 05:06:00 3 days 00:00:01.5",
		`SELECT initcap('the ünder-taker') AS a, (date '2026-01-01', date '2026-02-01') OVERLAPS (date '2026-01-15', date '2026-03-01') AS c`:                         "a c | The Ünder-Taker t",
		`SELECT json_agg(x ORDER BY x DESC)::text AS a FROM (VALUES (1), (2)) AS t(x)`:                                                                                "a | [2,1]",
		`SELECT value FROM jsonb_array_elements_text('["a", "b"]'::jsonb)`:                                                                                            "value | a | b",
		`SELECT CASE WHEN x > 0 THEN 5 / x END AS a FROM (VALUES (0), (2)) AS t(x) WHERE x = 0 OR 4 / x = 2`:                                                          "a | null | 2",
		`SELECT round(sum(x)::numeric / 4, 3) AS a, round(avg(x), 2) AS b, round(100.0 * 1 / 3, 1) AS c, round(2.5, 0) AS d FROM generate_series(1, 2) AS s(x)`:       "a b c d | 0.750 1.50 33.3 3",
		`SELECT "Status" FROM (SELECT status AS "Status" FROM calls LIMIT 1) AS t`:                                                                                    "Status | ended",
		`SELECT session_user`:                             "session_user | somebody",
		`SELECT format('%s-%I %2$L %%', 'a', 'B c') AS f`: `f | a-"B c" 'B c' %`,
		`SELECT substring('c12' FROM 'c([0-9]+)') AS a, substring('c12' FROM '[0-9]') AS b, coalesce(substring('c' FROM '[0-9]'), 'none') AS c, substring('c12', 2) AS d`: "a b c d | 12 1 none 12",
		`SELECT '{"a": [{"b/c": 5}]}'::json #>> '{a,0,b/c}' AS a, '{"a": {"b": 5}}'::json #> array['a']::text[] AS b`:                                                     `a b | 5 {"b":5}`,
		`SELECT s[2] AS x FROM string_to_array('a,b', ',') s`:                                                                                                             "x | b",
		`SELECT 'a_b' LIKE 'a\_b' AS a, 'axb' LIKE 'a\_b' AS b, 'axb' LIKE 'a_b' AS c, 'A_B' ILIKE 'a\_' || 'b' AS d, 'x' NOT LIKE '\%' AS e, '%' NOT ILIKE '\%' AS f`:    "a b c d e f | t f t t t f",
		`SELECT count(relid) AS n FROM pg_partition_ancestors('calls'::regclass)`:                                                                                         "n | 0",
		`SELECT d FROM current_database() AS d`:                                     "d | callhouse",
		`SELECT indkey FROM pg_index WHERE indrelid = 'transcript_turns'::regclass`: "indkey | 1 2",
		`SELECT max(g) AS m FROM (SELECT generate_series(1, 3)) AS s(g)`:            "m | 3",
		`SELECT count(*) AS n FROM pg_index i LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey) WHERE i.indrelid = 'transcript_turns'::regclass`:                                 "n | 2",
		`SELECT indkey[0] AS first, indkey[1] AS second FROM pg_index WHERE indrelid = 'calls'::regclass`:                                                                                                        "first second | 1 null",
		`SELECT c.tableoid = 'pg_class'::regclass AS t FROM pg_class c WHERE c.oid = 'calls'::regclass`:                                                                                                          "t | t",
		`SELECT tableoid::regclass AS t FROM pg_namespace WHERE nspname = 'public'`:                                                                                                                              "t | pg_namespace",
		`SELECT p.proname FROM pg_type t JOIN pg_proc p ON p.oid = t.typreceive WHERE t.typname = '_int4'`:                                                                                                       "proname | array_recv",
		`SELECT typreceive FROM pg_type WHERE typname = 'int4' AND typinput = 'int4in'::regproc`:                                                                                                                 "typreceive | int4recv",
		`SELECT k.n, a.attname FROM pg_index i CROSS JOIN LATERAL (SELECT unnest(i.indkey)) AS k(n) LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.n WHERE i.indrelid = 'calls'::regclass`: "n attname | 1 call_id",
		`SELECT pg_backend_pid() > 0 AS p, a.x, c.z FROM (VALUES (1), (2)) AS a(x) LEFT JOIN ((VALUES (1)) AS b(y) CROSS JOIN (VALUES (5)) AS c(z)) ON a.x = b.y ORDER BY 2`:                                     "p x z | t 1 5 | t 2 null",
		`SELECT set_config('bytea_output', 'hex', false) FROM pg_show_all_settings() WHERE name = 'bytea_output'`:                                                                                                "set_config | hex",
		`SELECT datname FROM pg_database WHERE oid > 16383::oid`:                                                                                                                                                 "datname | callhouse",
		`SELECT at.attname, timestamptz '2026-01-01 00:00Z' AT TIME ZONE 'UTC' AS t FROM pg_attribute at WHERE at.attrelid = 'calls'::regclass AND at.attnum = 1`:                                                "attname t | call_id 2026-01-01 00:00:00",
		`SELECT cls.relname, con.contype FROM pg_index idx JOIN pg_class cls ON cls.oid = indexrelid LEFT JOIN pg_depend dep ON (dep.classid = cls.tableoid AND dep.objid = cls.oid AND dep.refclassid = (SELECT oid FROM pg_class WHERE relname = 'pg_constraint'))
			LEFT JOIN pg_constraint con ON (con.tableoid = dep.refclassid AND con.oid = dep.refobjid) LEFT JOIN pg_description des ON (des.objoid = con.oid AND des.classoid = 'pg_constraint'::regclass) WHERE indrelid = 'calls'::regclass`: "relname contype | calls_pkey p",
		`SELECT coalesce(datacl, acldefault('d', datdba)) AS a, pg_blocking_pids(1) AS p, (SELECT count(*) FROM pg_available_extensions()) AS n FROM pg_database`:                                                                         "a p n | null {} 0",
		`SELECT array(SELECT pg_get_indexdef(i.indexrelid, k + 1, true) FROM generate_subscripts(i.indkey, 1) AS k ORDER BY k) AS c, generate_subscripts(i.indkey, 1) AS s FROM pg_index i WHERE indrelid = 'transcript_turns'::regclass`: "c s | {call_id,turn} 0 | {call_id,turn} 1",
		`SELECT t.typname, t.typtype, t.typrelid = c.oid AS r FROM pg_class c JOIN pg_type t ON t.oid = c.reltype WHERE c.relname = 'calls'`:                                                                                              "typname typtype r | calls c t",
		`SELECT parse_ident('public."A b"') AS p`: `p | {public,"A b"}`,
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
	for sql, want := range map[string]string{
		"SELECT nothing": "42703", "SELECT 'a' SIMILAR TO 'a%'": "0A000", "SELECT 'a' NOT SIMILAR TO 'a%'": "0A000", "SELECT 'a' LIKE ANY (ARRAY['b'])": "0A000", "SELECT date_bin('1 hour', now(), now())": "0A000", "SELECT to_char(5, 'FM000')": "0A000", "SELECT date_trunc('century', now())": "0A000", "SELECT call_id, status FROM calls GROUP BY call_id": "42803", "SELECT to_char(start_at, status) FROM calls": "0A000", "SELECT to_char(now(), 'J')": "0A000",
		"SELECT metadata @> evaluation FROM calls": "0A000", "SELECT metadata::jsonb @> '{\"a\": 1}'::jsonb FROM calls": "0A000", `SELECT '{"a": 1}'::jsonb <@ metadata FROM calls`: "0A000", "SELECT call_id FROM calls WHERE status = 'ended' USING SAMPLE 3": "0A000",
	} {
		if _, err := c.PgConn().Exec(t.Context(), sql).ReadAll(); code(err) != want {
			t.Errorf("%s: %v, want %s", sql, err, want)
		}
	}
}

// A user in the file logs in with the latest password, and nobody else does.
func TestCheck(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.json")
	put := func(name, password string) {
		t.Helper()
		u, err := serve.NewUser(name, password)
		if err == nil {
			_, err = serve.PutUser(path, u)
		}
		test.OK(t, err)
	}
	put("ana", "first password")
	put("bob", "another password")
	list, err := serve.OpenUsers(path)
	test.OK(t, err)
	put("ana", "second password")
	for _, c := range []struct {
		name, password string
		want           bool
	}{{"ana", "second password", true}, {"bob", "another password", true}, {"ana", "first password", false}, {"ana", "another password", false}, {"ana", "", false}, {"", "", false}, {"eve", "second password", false}} {
		if _, got := list.Check(c.name, c.password); got != c.want {
			t.Errorf("%s with %q: %v", c.name, c.password, got)
		}
	}
	_, err = serve.RemoveUser(path, "ana")
	test.OK(t, err)
	if _, ok := list.Check("ana", "second password"); ok {
		t.Error("a user who was removed gets in")
	}
	if err := os.Chmod(path, 0o644); err != nil { //nolint:gosec // this is what is refused
		t.Fatal(err)
	}
	if _, ok := list.Check("bob", "another password"); ok {
		t.Error("a file that others may write is believed")
	}
}
