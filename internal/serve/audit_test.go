package serve_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"callhouse/internal/longtest"
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

// Where DuckDB would answer differently, or fail, the answer is Postgres'. interop/postgres.sh compares
// these with a real Postgres.
func testDialect(t *testing.T, h *testServer) {
	c := h.connect(t, "")
	for sql, want := range longtest.Sorted(map[string]string{
		`SELECT max(call_id) Key, count(*) n, CASE WHEN true THEN 1 END end, (SELECT 1 one) user, 'x' "Q" FROM calls`:                                                                                            "key n end user Q | c1 2 1 1 x",
		`SELECT cast('abcdef' AS varchar(3)) a, CAST(lower('ABC') AS character varying(2)) b, cast((SELECT 'xyz' AS y) AS varchar(1)) c, 'abc'::varchar(2) d`:                                                    "a b c d | abc ab x ab",
		`SELECT * FROM (SELECT current_database(), 1 AS X) AS s`:                                                                                                                                                 "current_database x | callhouse 1",
		`WITH t(A) AS (SELECT 1) SELECT *, {'B': 2} AS c, format('{}%', 5) AS d FROM t`:                                                                                                                          `a c d | 1 {"B":2} 5%`,
		`WITH t AS (SELECT sum(CASE WHEN x > 1 THEN 1 ELSE 0 END) AS n, sum(x::bigint) AS m FROM generate_series(1, 2) AS s(x)) SELECT n / 2 AS a, m / 2 AS b FROM t`:                                            "a b | 0 1.5",
		`SELECT to_char(interval '26:03:04', 'HH24:MI:SS') AS a, to_char(interval '-1 days 5 hours', 'FMDD|HH12') AS b`:                                                                                          "a b | 26:03:04 -1|05",
		`SELECT format('%s-%I %2$L %%', 'a', 'B c') AS f`:                                                                                                                                                        `f | a-"B c" 'B c' %`,
		`SELECT 'a_b' LIKE 'a\_b' AS a, 'axb' LIKE 'a\_b' AS b, 'axb' LIKE 'a_b' AS c, 'A_B' ILIKE 'a\_' || 'b' AS d, 'x' NOT LIKE '\%' AS e, '%' NOT ILIKE '\%' AS f`:                                           "a b c d e f | t f t t t f",
		`SELECT indkey[0] AS first, indkey[1] AS second FROM pg_index WHERE indrelid = 'calls'::regclass`:                                                                                                        "first second | 1 null",
		`SELECT c.tableoid = 'pg_class'::regclass AS t FROM pg_class c WHERE c.oid = 'calls'::regclass`:                                                                                                          "t | t",
		`SELECT tableoid::regclass AS t FROM pg_namespace WHERE nspname = 'public'`:                                                                                                                              "t | pg_namespace",
		`SELECT p.proname FROM pg_type t JOIN pg_proc p ON p.oid = t.typreceive WHERE t.typname = '_int4'`:                                                                                                       "proname | array_recv",
		`SELECT k.n, a.attname FROM pg_index i CROSS JOIN LATERAL (SELECT unnest(i.indkey)) AS k(n) LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.n WHERE i.indrelid = 'calls'::regclass`: "n attname | 1 call_id",
		`SELECT pg_backend_pid() > 0 AS p, a.x, c.z FROM (VALUES (1), (2)) AS a(x) LEFT JOIN ((VALUES (1)) AS b(y) CROSS JOIN (VALUES (5)) AS c(z)) ON a.x = b.y ORDER BY 2`:                                     "p x z | t 1 5 | t 2 null",
		`SELECT at.attname, timestamptz '2026-01-01 00:00Z' AT TIME ZONE 'UTC' AS t FROM pg_attribute at WHERE at.attrelid = 'calls'::regclass AND at.attnum = 1`:                                                "attname t | call_id 2026-01-01 00:00:00",
		`SELECT cls.relname, con.contype FROM pg_index idx JOIN pg_class cls ON cls.oid = indexrelid LEFT JOIN pg_depend dep ON (dep.classid = cls.tableoid AND dep.objid = cls.oid AND dep.refclassid = (SELECT oid FROM pg_class WHERE relname = 'pg_constraint'))
			LEFT JOIN pg_constraint con ON (con.tableoid = dep.refclassid AND con.oid = dep.refobjid) LEFT JOIN pg_description des ON (des.objoid = con.oid AND des.classoid = 'pg_constraint'::regclass) WHERE indrelid = 'calls'::regclass`: "relname contype | calls_pkey p",
		`SELECT array(SELECT pg_get_indexdef(i.indexrelid, k + 1, true) FROM generate_subscripts(i.indkey, 1) AS k ORDER BY k) AS c, generate_subscripts(i.indkey, 1) AS s FROM pg_index i WHERE indrelid = 'transcript_turns'::regclass`: "c s | {call_id,turn} 0 | {call_id,turn} 1",
	}, 2) {
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
		"SELECT metadata @> evaluation FROM calls": "42883", "SELECT metadata::jsonb @> '{\"a\": 1}'::jsonb FROM calls": "42883", `SELECT '{"a": 1}'::jsonb <@ metadata FROM calls`: "42883",
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
	var adding sync.WaitGroup // at once: none is lost
	for _, name := range []string{"ana", "bob", "cat", "dan", "eli", "fay"} {
		adding.Go(func() { put(name, "another password") })
	}
	adding.Wait()
	list, err := serve.OpenUsers(path)
	test.OK(t, err)
	put("ana", "second password")
	for _, c := range []struct {
		name, password string
		want           bool
	}{{"ana", "second password", true}, {"bob", "another password", true}, {"fay", "another password", true}, {"ana", "another password", false}, {"ana", "", false}, {"", "", false}, {"eve", "second password", false}} {
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
