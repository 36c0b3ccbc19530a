package serve_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/duck"
	"callhouse/internal/analytics/rights"
	"callhouse/internal/longtest"
	"callhouse/internal/postgres"
	"callhouse/internal/serve"
	"callhouse/internal/serve/dialect"
	"callhouse/internal/test"
	sqlfiles "callhouse/sql"
)

// attack is a statement, and the part of its answer or error that would reveal another user's row.
type attack struct{ sql, sign string }

// attacks try to read other users' rows.
func attacks() []attack {
	var out []attack
	for _, v := range sqlfiles.Views() {
		for _, form := range []string{"TABLE %s", "SELECT * FROM public.%s", "FROM stored.%s"} {
			if v.Name == "costs" || v.Name == "tool_calls" {
				form = "SELECT * FROM %s" // not stored tables
			}
			out = append(out, attack{fmt.Sprintf(form, v.Name), analyticstest.Secret})
		}
	}
	for _, sql := range []string{
		// Joins and nested queries.
		`SELECT x.* FROM calls c JOIN calls x ON true`, `SELECT x.* FROM calls c RIGHT JOIN calls x ON c.call_id = x.call_id`, `SELECT x.* FROM calls c FULL JOIN calls x ON false`, `SELECT * FROM calls a, calls b`,
		`SELECT * FROM transcript_turns t LEFT JOIN calls c ON c.call_id <> t.call_id`, `SELECT * FROM calls JOIN costs USING (call_id)`, `SELECT c.* FROM calls c ANTI JOIN (SELECT 'x' AS call_id) o USING (call_id)`,
		`SELECT c.* FROM calls c SEMI JOIN transcript_turns t USING (call_id)`, `SELECT * FROM calls POSITIONAL JOIN transcript_turns`, `SELECT * FROM (VALUES ('SECRET-1')) v(id) JOIN calls ON call_id = id`,
		`SELECT x.* FROM calls c ASOF JOIN calls x ON c.start_at <= x.start_at`, `SELECT (SELECT string_agg(call_id, ',') FROM calls)`, `SELECT * FROM calls WHERE call_id IN (SELECT call_id FROM transcript_turns)`,
		`SELECT * FROM calls c, LATERAL (SELECT content FROM transcript_turns t WHERE t.call_id > c.call_id) x`, `SELECT (SELECT min(x.summary) FROM calls x WHERE x.call_id <= c.call_id) FROM calls c`,
		`SELECT 'SECRET' WHERE EXISTS (SELECT 1 FROM calls WHERE call_id LIKE 'SEC%')`, `SELECT 'SECRET' FROM (SELECT count(*) AS n FROM calls) WHERE n > 2`, `SELECT 'SECRET' WHERE (SELECT count(DISTINCT agent_id) FROM calls) > 1`,
		`SELECT array_agg(summary) FROM calls`, `SELECT list(c) FROM calls c`, `SELECT histogram(summary) FROM calls`, `SELECT to_json(list(c)) FROM calls c`, `SELECT max(summary) OVER (), lag(summary) OVER (ORDER BY start_at), summary FROM calls`,
		// WITH, set operations, and DuckDB's own features.
		`WITH calls AS (SELECT * FROM public.calls) SELECT * FROM calls`, `WITH x AS MATERIALIZED (FROM calls), y AS (FROM x) SELECT * FROM y`, `WITH RECURSIVE r(id, n) AS (SELECT call_id, 1 FROM calls UNION ALL SELECT c.call_id, n + 1 FROM r, calls c WHERE n < 3) SELECT * FROM r`,
		`SELECT call_id FROM calls UNION SELECT call_id FROM transcript_turns`, `SELECT call_id FROM transcript_turns EXCEPT SELECT 'mine-0'`, `SELECT call_id FROM costs INTERSECT ALL SELECT call_id FROM calls`, `FROM calls UNION ALL BY NAME FROM transcript_turns`,
		`SUMMARIZE calls`, `SELECT * FROM (SUMMARIZE transcript_turns)`, `PIVOT (SELECT call_id, status FROM calls) ON status IN ('ended') USING min(call_id)`, `UNPIVOT (SELECT call_id, summary FROM calls) ON call_id, summary`,
		`SELECT * FROM calls USING SAMPLE 100 PERCENT`, `SELECT DISTINCT ON (agent_id) * FROM calls`, `SELECT * FROM calls ORDER BY call_id LIMIT 1`, `SELECT * EXCLUDE (run_id) FROM calls QUALIFY row_number() OVER (ORDER BY call_id) > 0`,
		`SELECT COLUMNS('sum.*|call_id') FROM calls`, `SELECT c FROM calls AS c`, `SELECT unnest(list(summary)) FROM calls`, `SELECT summary FROM calls GROUP BY GROUPING SETS ((summary), ())`, `SELECT max_by(summary, start_at), arg_min(summary, -epoch(start_at)) FROM calls`,
		`SELECT approx_top_k(summary, 9), mode(summary), first(summary ORDER BY start_at DESC) FROM calls`,
		// Conditions true only of hidden rows, and conditions always true.
		`SELECT * FROM calls WHERE agent_id = 'SECRET-agent'`, `SELECT * FROM calls WHERE agent_id IN ('own', 'SECRET-agent') OR true`, `SELECT * FROM calls WHERE NOT (agent_id = 'own')`, `SELECT * FROM transcript_turns WHERE call_id = 'SECRET-1' OR 1 = 1 -- `,
		`SELECT * FROM calls WHERE month = '2025-10' AND call_id = 'SECRET-1'`,
		// Statements and cursors.
		`COPY calls TO STDOUT`, `COPY (SELECT * FROM transcript_turns) TO STDOUT (FORMAT csv)`, `BEGIN; DECLARE x CURSOR FOR SELECT * FROM calls; FETCH ALL FROM x; COMMIT`, `BEGIN; DECLARE x CURSOR FOR TABLE tool_calls; FETCH 1 FROM x; FETCH 9 FROM x; COMMIT`,
		`SET ROLE somebody; TABLE calls`, `SET SESSION AUTHORIZATION somebody; TABLE calls`, `SET search_path = stored; TABLE calls`, `SET row_security = off; TABLE calls`, `SET callhouse.agents = 'SECRET-agent'; TABLE calls`,
		`RESET ALL; TABLE calls`, `SET TIME ZONE 'Asia/Seoul'; TABLE calls`, `BEGIN; SAVEPOINT a; TABLE calls; ROLLBACK TO a; TABLE calls; COMMIT`,
		// Plans, statistics and the catalog.
		`EXPLAIN SELECT * FROM calls WHERE agent_id = 'SECRET-agent'`, `/* */ EXPLAIN (FORMAT json) SELECT 'SECRET' FROM calls`, `SELECT 'SECRET' FROM pg_class WHERE relname = 'runs'`, `SELECT 'SECRET' FROM information_schema.columns WHERE table_name = 'customers'`,
		`SELECT 'SECRET', obj_description(oid) FROM pg_class WHERE relname = 'customers'`,
		// Errors that contain a value.
		`SELECT summary::int FROM calls WHERE call_id LIKE 'SEC%'`, `SELECT count(*) FROM calls WHERE call_id LIKE 'SEC%' AND CAST(summary AS DATE) IS NOT NULL`, `SELECT count(*) FROM transcript_turns WHERE call_id LIKE 'SEC%' AND content::int = 1`,
		`SELECT count(*) FROM calls WHERE CASE WHEN call_id LIKE 'SEC%' THEN error(summary) ELSE true END`, `SELECT count(*) FROM analysis_items i JOIN range(2) r ON CASE WHEN name LIKE 'SEC%' THEN name::int ELSE 1 END = r.range`,
		`SELECT count(*) FROM tool_calls WHERE call_id LIKE 'SEC%' AND error(result)`, `SELECT json_extract(summary, '$.x') FROM calls WHERE call_id LIKE 'SEC%'`, `SELECT strptime(summary, '%Y') FROM calls WHERE call_id LIKE 'SEC%'`,
	} {
		out = append(out, attack{sql, analyticstest.Secret})
	}
	return append(out,
		// Errors that reveal a row without quoting it.
		attack{`SELECT count(*) FROM calls WHERE call_id LIKE 'SEC%' AND error('hit')`, "hit"},
		attack{`SELECT count(*) FROM transcript_turns WHERE content LIKE 'SEC%' AND error('hit')`, "hit"},
		attack{`SELECT count(*) FROM transcript_turns WHERE content LIKE 'SEC%' AND length(repeat(content, 1000000000)) > 0`, "ERROR"},
		attack{`SELECT count(*) FROM calls WHERE summary LIKE 'SEC%' AND len(range(1000000000000 + duration_ms)) > 0`, "ERROR"},
	)
}

// output returns everything that a reader learns from a statement.
func output(t *testing.T, c *pgx.Conn, sql string) string {
	t.Helper()
	var b strings.Builder
	write := func(err error) {
		if err != nil {
			fmt.Fprintf(&b, "ERROR %s", strings.ReplaceAll(err.Error(), sql, ""))
		}
	}
	if strings.HasPrefix(sql, "COPY") {
		_, err := c.PgConn().CopyTo(t.Context(), &b, sql)
		write(err)
		return b.String()
	}
	results, err := c.PgConn().Exec(t.Context(), sql).ReadAll()
	write(err)
	for _, r := range results {
		for _, row := range r.Rows {
			fmt.Fprintf(&b, "%s\n", row)
		}
	}
	if c.PgConn().TxStatus() != 'I' {
		_, err := c.Exec(t.Context(), "ROLLBACK")
		write(err)
	}
	if c.IsClosed() {
		t.Fatalf("%s ended the connection: %s", sql, b.String())
	}
	return b.String()
}

// limit returns an option that gives named users rights.
func limit(of map[string]rights.Rights) func(*postgres.Server) {
	return func(s *postgres.Server) {
		s.Host.(*postgres.Sessions).Backend.(*serve.Backend).Rights = func(user string) (rights.Rights, error) { return of[user], nil }
	}
}

func (h *testServer) connectAs(t *testing.T, user string) *pgx.Conn {
	t.Helper()
	config, err := pgx.ParseConfig("postgres://" + user + "@" + h.address + "/callhouse")
	test.OK(t, err)
	var noticed []string
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { noticed = append(noticed, n.Message) }
	c, err := pgx.ConnectConfig(t.Context(), config)
	test.OK(t, err)
	t.Cleanup(func() {
		_ = c.Close(t.Context())
		if all := strings.Join(noticed, "\n"); strings.Contains(all, analyticstest.Secret) {
			t.Errorf("a notice tells: %s", all)
		}
	})
	return c
}

// No statement of a reader with limits reveals another user's row; a reader without limits gets it
// by the same statement, or it would be no attack.
func TestOthersRows(t *testing.T) {
	h := start(t, limit(map[string]rights.Rights{"agency": {Agents: []string{"own", "nobody's"}}}))
	analyticstest.Write(t, h.root, 2, analyticstest.Agencies())
	all, agency := h.connectAs(t, "somebody"), h.connectAs(t, "agency")
	for _, a := range longtest.Some(14, attacks()) {
		if !strings.Contains(output(t, all, a.sql), a.sign) {
			t.Errorf("%s is no attack: it tells somebody without limits nothing", a.sql)
		}
		if got := output(t, agency, a.sql); strings.Contains(got, a.sign) {
			t.Errorf("%s tells %.300s", a.sql, got)
		}
		// The same with the extended protocol, which plans it without values.
		if !strings.Contains(a.sql, ";") && !strings.HasPrefix(a.sql, "COPY") {
			if r := agency.PgConn().ExecParams(t.Context(), a.sql, nil, nil, nil, nil).Read(); strings.Contains(fmt.Sprintf("%s %v", r.Rows, r.Err), a.sign) {
				t.Errorf("%s tells by the extended protocol: %s %v", a.sql, r.Rows, r.Err)
			}
		}
	}
	// Refused for everyone: functions that read statistics of whole files, and internal columns.
	for _, sql := range []string{"SELECT stats(summary) FROM calls", "SELECT main.stats(content) FROM transcript_turns", "SELECT is_theirs FROM calls", "FROM query('FROM calls')", "SELECT * FROM summary((FROM stored.calls)) WHERE is_theirs"} {
		for _, c := range []*pgx.Conn{all, agency} {
			if got := output(t, c, sql); !strings.HasPrefix(got, "ERROR") || strings.Contains(got, analyticstest.Secret) {
				t.Errorf("%s tells %s", sql, got)
			}
		}
	}
	for _, sql := range []string{"TABLE runs", "SELECT 1 FROM stored.customers", "WITH x AS (FROM main.tools) SELECT 1", "EXPLAIN SELECT 1"} {
		if _, err := agency.Exec(t.Context(), sql); code(err) != "42501" {
			t.Errorf("%s: %v", sql, err)
		}
	}
	for sql, want := range map[string]string{
		"SELECT string_agg(call_id, ' ' ORDER BY 1) FROM calls": "mine-0 mine-2", "SELECT count(*) FROM transcript_turns": "6", "SELECT count(*) FROM analysis_items": "2", "SELECT count(*) FROM tool_calls": "2",
		"SELECT string_agg(name, ' ') FROM agents": "Mine", "SELECT count(*) FROM calls WHERE month = '2025-10'": "2", "SELECT count(*) FROM pg_tables WHERE tablename IN ('calls', 'runs')": "1",
	} {
		if got := texts(t, agency, sql); strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %s", sql, got, want)
		}
	}
}

// scanned returns what a plan reads besides the warehouse's files and the program's catalog.
func scanned(t *testing.T, plan string) (out []string) {
	t.Helper()
	type node struct {
		Name     string
		Children []json.RawMessage
		Info     map[string]any `json:"extra_info"`
	}
	var walk func(raw json.RawMessage)
	walk = func(raw json.RawMessage) {
		var n node
		if err := json.Unmarshal(raw, &n); err != nil {
			t.Fatalf("%v in %s", err, plan)
		}
		name := strings.TrimSpace(n.Name)
		table, _ := n.Info["Table"].(string)
		ours := name == "SEQ_SCAN" && strings.HasPrefix(table[strings.LastIndexByte(table, '.')+1:], "fact_") || name == "SEQ_SCAN" && dialect.Relations()[table[strings.LastIndexByte(table, '.')+1:]]
		if !ours && len(n.Children) == 0 && !slices.Contains(leaves, name) {
			out = append(out, name+" "+table)
		}
		for _, kid := range n.Children {
			walk(kid)
		}
	}
	var all []json.RawMessage
	if err := json.Unmarshal([]byte(plan), &all); err != nil {
		t.Fatalf("%v in %s", err, plan)
	}
	for _, raw := range all {
		walk(raw)
	}
	return out
}

// leaves are the leaf operators of plans that read the warehouse's files, the statement's own data,
// or nothing. A HASH_GROUP_BY without a child belongs to the DELIM_JOIN above it.
var leaves = strings.Fields(`HASH_GROUP_BY READ_PARQUET DUMMY_SCAN EMPTY_RESULT CTE_SCAN REC_CTE_SCAN DELIM_SCAN COLUMN_DATA_SCAN EXPRESSION_SCAN RANGE GENERATE_SERIES UNNEST INOUT_FUNCTION SUMMARY REPEAT REPEAT_ROW PG_TIMEZONE_NAMES JSON_EACH JSON_TREE`)

// The cases of safe mode, over the wire, where Postgres' names resolve to our catalog: a statement
// is refused, or reads only the warehouse and that catalog.
func TestSafeOverTheWire(t *testing.T) {
	longtest.Only(t)
	h := start(t, limit(map[string]rights.Rights{"agency": {Agents: []string{"own"}, Tables: []string{"calls"}}}))
	analyticstest.Write(t, h.root, 2, analyticstest.Agencies())
	all, agency := h.connectAs(t, "somebody"), h.connectAs(t, "agency")
	passes := func(c *pgx.Conn, text string) bool {
		_, err := c.PgConn().Prepare(t.Context(), "", text, nil)
		if c.IsClosed() {
			t.Fatalf("%s ended the connection: %v", text, err)
		}
		return err == nil
	}
	relations := known(t)
	checked, passed := 0, 0
	for _, r := range relations {
		for _, form := range slices.Concat(analyticstest.RelationForms, analyticstest.AsText) {
			text := r.In(form)
			checked++
			toAll := passes(all, text)
			if !toAll && passes(agency, text) {
				t.Errorf("%s passes for an agency alone", text)
			}
			if !toAll || strings.HasPrefix(text, "EXPLAIN") || strings.HasPrefix(text, "DESCRIBE") || strings.HasPrefix(text, "SHOW") {
				continue
			}
			passed++
			plan := texts(t, all, "EXPLAIN (FORMAT json) "+text)
			if out := scanned(t, plan[0]); len(out) > 0 && !strings.Contains(strings.ToLower(text), "summarize tables") { // which contains names
				t.Errorf("%s passes, and reads %q", text, out)
			}
		}
	}
	golden := test.Read(t, "../analytics/testdata/safe-functions.golden")
	ours := []string{"current_setting"} // of the session
	functions := 0
	for _, line := range strings.Split(strings.TrimSpace(string(golden)), "\n") {
		kind, name, _ := strings.Cut(line, " ")
		name, isRefused := strings.CutSuffix(name, " refused")
		if !isRefused || slices.Contains(ours, name) || dialect.Functions()[name] {
			continue
		}
		forms, schemas := analyticstest.FunctionForms, `SELECT S."F"(A)`
		if kind == "table" || kind == "table_macro" {
			forms, schemas = analyticstest.TableFunctionForms, `FROM S."F"(A)`
		}
		for _, schema := range []string{"pg_catalog", "public", "pg", "information_schema", "stored"} {
			forms = append(slices.Clip(forms), strings.Replace(schemas, "S.", schema+".", 1))
		}
		for _, form := range forms {
			functions++
			for _, arguments := range []string{"('x')", "()"} {
				if text := strings.NewReplacer(`"F"`, `"`+name+`"`, "(A)", arguments).Replace(form); passes(all, text) || passes(agency, text) {
					t.Errorf("%s passes", text)
				}
			}
		}
	}
	t.Logf("%d statements with names of relations, of which %d pass, and %d calls of functions", checked, passed, functions)
	if checked < 50 || passed < 3 || functions < 10 {
		t.Error("too little was tried")
	}
}

// known returns DuckDB's own relations.
func known(t *testing.T) (out []analyticstest.Relation) {
	t.Helper()
	test.OK(t, duck.InMemory(func(conn *duck.Conn) error {
		names, err := conn.Column(t.Context(), "SELECT concat_ws('/', database_name, schema_name, view_name) FROM duckdb_views() UNION SELECT concat_ws('/', database_name, schema_name, table_name) FROM duckdb_tables() ORDER BY ALL")
		for _, name := range names {
			parts := strings.Split(name, "/")
			out = append(out, analyticstest.Relation{Database: parts[0], Schema: parts[1], Name: parts[2]})
		}
		return err
	}))
	for _, r := range [][2]string{{"pg", "fact_table"}, {"pg", "pg_class"}, {"stored", "runs"}} {
		out = append(out, analyticstest.Relation{Database: "memory", Schema: r[0], Name: r[1]})
	}
	return out
}

// asOther runs a program as the user postgres if the test runs as root, which Postgres refuses.
func asOther(t *testing.T, cmd *exec.Cmd, dir string) {
	t.Helper()
	if os.Getuid() != 0 {
		return
	}
	u, err := user.Lookup("postgres")
	test.OK(t, err)
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	test.OK(t, os.Chown(dir, uid, gid))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
}
