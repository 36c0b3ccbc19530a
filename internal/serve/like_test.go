package serve_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/test"
)

var (
	pgPrograms = flag.String("postgres", "", "the folder of Postgres' programs; interop/postgres.sh sets it")
)

// comparison is a question that both servers answered.
type comparison struct {
	client, title, here, there string
	differs, partly            string // why the answers differ, or differ in part
}

// The answers to all clients are those of a real Postgres with the same data.
func TestLikePostgres(t *testing.T) {
	if *pgPrograms == "" {
		t.Skip("interop/postgres.sh runs it, with a real Postgres")
	}
	h := start(t, nil)
	analyticstest.Write(t, h.root, 2, someData())
	there := realPostgres(t)
	load(t, h.connect(t, ""), there)
	all := statements(t, "postgres://callhouse@"+h.address+"/callhouse", there)
	all = append(all, byPsql(t, h.address, there)...)
	all = append(all, byPrograms(t, h.address, there)...)
	all = append(all, foreign(t, h.address, there)...)
	for _, a := range all {
		if a.here != a.there && a.differs == "" {
			t.Errorf("%s: %s\nhere:  %s\nthere: %s", a.client, a.title, clip(a.here), clip(a.there))
		}
		if a.here == a.there && a.differs != "" {
			t.Errorf("%s: %s is the same, though it says: %s", a.client, a.title, a.differs)
		}
	}
	if flag.Lookup("update").Value.String() == "true" && !t.Failed() {
		writeDocs(t, all)
	}
}

// someData returns calls, turns and one row of every other table.
func someData() analyticstest.Data {
	return analyticstest.Data{
		Calls: []row{
			{"call_id": "c0", "agent_id": "a", "start_at": int64(1_760_000_000_000), "total_cost": "1.50", "metadata": `{"campaign":"q4"}`, "status": "ended", "duration_ms": int64(61_000)},
			{"call_id": "c1", "start_at": int64(1_763_000_000_000), "status": "ended", "duration_ms": int64(500)},
			{"call_id": "c2", "start_at": int64(1_766_000_000_123), "status": "error"},
		},
		Turns: []row{{"call_id": "c0", "turn": int64(0), "role": "agent", "content": "it's\t\"hello\""}, {"call_id": "c0", "turn": int64(1), "role": "user", "content": "ä\\n"}},
		Runs:  []row{{"run_id": "r1"}}, Others: analyticstest.One(),
	}
}

func clip(s string) string {
	if len(s) > 1500 {
		return s[:1500] + "…"
	}
	return s
}

// realPostgres starts a server with an empty database, and returns its connection string.
func realPostgres(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "callhouse-postgres-") // not the test's own: its owner may be another user
	test.OK(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	run := func(name string, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), filepath.Join(*pgPrograms, name), args...)
		cmd.Dir = dir
		asOther(t, cmd, dir)
		return cmd
	}
	data := filepath.Join(dir, "data")
	if out, err := run("initdb", "-D", data, "-A", "trust", "-U", "callhouse", "--locale=C.UTF-8").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	test.OK(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	server := run("postgres", "-D", data, "-p", fmt.Sprint(port), "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "timezone=UTC")
	server.Cancel = func() error { return server.Process.Signal(os.Interrupt) } // a fast shutdown
	server.WaitDelay = 10 * time.Second
	test.OK(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Signal(os.Interrupt)
		_ = server.Wait()
	})
	dsn := fmt.Sprintf("postgres://callhouse@127.0.0.1:%d/", port)
	for range 200 {
		c, err := pgx.Connect(t.Context(), dsn+"postgres")
		if err != nil {
			time.Sleep(50 * time.Millisecond)
			continue
		}
		defer c.Close(context.Background())
		_, err = c.Exec(t.Context(), "CREATE DATABASE callhouse")
		test.OK(t, err)
		return dsn + "callhouse"
	}
	t.Fatal("Postgres does not answer")
	return ""
}

// load copies the tables of one server to the other: columns, rows, keys, comments. If only is
// given, other tables stay empty.
func load(t *testing.T, from *pgx.Conn, dsn string) {
	t.Helper()
	to, err := pgx.Connect(t.Context(), dsn)
	test.OK(t, err)
	defer to.Close(context.Background())
	do := func(sql string) {
		if _, err := to.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	do("ALTER SCHEMA public OWNER TO callhouse")
	do("DROP EXTENSION plpgsql")
	for _, make := range texts(t, from, `SELECT 'CREATE TABLE ' || c.relname || ' (' || string_agg(quote_ident(a.attname) || ' ' || format_type(a.atttypid, a.atttypmod) || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END, ', ' ORDER BY a.attnum) || ')'
		FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.relkind = 'r' GROUP BY c.relname ORDER BY c.relname`) {
		do(make)
	}
	for _, table := range texts(t, from, "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'") {
		rows, into := io.Pipe()
		go func() {
			_, err := from.PgConn().CopyTo(t.Context(), into, "COPY "+table+" TO STDOUT")
			_ = into.CloseWithError(err)
		}()
		if _, err := to.PgConn().CopyFrom(t.Context(), rows, "COPY "+table+" FROM STDIN"); err != nil {
			t.Fatalf("copy %s: %v", table, err)
		}
	}
	do("SET session_replication_role = replica") // references need not resolve
	for _, key := range texts(t, from, `SELECT 'ALTER TABLE ' || conrelid::regclass::text || ' ADD CONSTRAINT ' || conname || ' ' || pg_get_constraintdef(oid) || CASE contype WHEN 'f' THEN ' NOT VALID' ELSE '' END FROM pg_constraint ORDER BY contype DESC, conname`) {
		do(key)
	}
	do("UPDATE pg_constraint SET convalidated = true")
	for _, comment := range texts(t, from, `SELECT 'COMMENT ON ' || CASE objsubid WHEN 0 THEN 'TABLE ' || c.relname ELSE 'COLUMN ' || c.relname || '.' || quote_ident(a.attname) END || ' IS ' || quote_literal(description)
		FROM pg_description d JOIN pg_class c ON c.oid = d.objoid LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.objsubid AND objsubid > 0`) {
		do(comment)
	}
}

// question is a statement for both servers, with the expected differences.
type question struct {
	client, title, text string
	with                []string // its parameters, each with type and value
	without             []string // columns not compared
	fewer               string   // why our rows are a part of theirs
	differs             string   // why the answers differ
	sorted              bool     // the order of rows, and numbers of objects, do not matter
}

// questions reads both files of statements: one per line, and those of tools.
func questions(t *testing.T) (out []question) {
	t.Helper()
	read := func(name string) string {
		raw := test.Read(t, "testdata/"+name)
		return strings.TrimSpace(string(raw))
	}
	for _, line := range strings.Split(read("statements.sql"), "\n") {
		q := question{client: "pgx"}
		q.text, q.differs, _ = strings.Cut(line, " -- differs: ")
		var with string
		if q.text, with, _ = strings.Cut(q.text, " -- with: "); with != "" {
			q.with = strings.Split(with, ", ")
		}
		q.title = q.text
		out = append(out, q)
	}
	for _, block := range strings.Split(read("tools.sql"), "\n\n") {
		head, text, _ := strings.Cut(block, "\n")
		q := question{sorted: true}
		q.client, q.title, _ = strings.Cut(strings.TrimPrefix(head, "-- "), ": ")
		for {
			line, rest, _ := strings.Cut(text, "\n")
			key, value, _ := strings.Cut(line, ": ")
			switch key {
			case "-- with":
				q.with = strings.Split(value, ", ")
			case "-- without":
				q.without = strings.Split(value, ", ")
			case "-- fewer":
				q.fewer = value
			case "-- differs":
				q.differs = value
			default:
				q.text = text
			}
			if q.text != "" {
				break
			}
			text = rest
		}
		out = append(out, q)
	}
	return out
}

// statements sends the files' statements to both servers.
func statements(t *testing.T, here, there string) (out []comparison) {
	t.Helper()
	for _, q := range questions(t) {
		for _, protocol := range []string{"simple", "extended"} {
			if protocol == "extended" && strings.Contains(strings.TrimSuffix(q.text, ";"), ";") || protocol == "simple" && q.with != nil {
				continue
			}
			a := comparison{client: q.client + ", " + protocol + " protocol", title: q.title, differs: q.differs}
			var ours, theirs answer
			for dsn, to := range map[string]*answer{here: &ours, there: &theirs} {
				c, err := pgx.Connect(t.Context(), dsn)
				test.OK(t, err)
				*to = answerOf(t, c, q, protocol)
				_ = c.Close(context.Background())
			}
			switch {
			case q.fewer != "":
				a.partly = "fewer rows: " + q.fewer
				if len(ours.rows) > 0 && len(ours.rows) < len(theirs.rows) {
					theirs.tag = ours.tag
					theirs.rows = slices.DeleteFunc(theirs.rows, func(r string) bool { return !slices.Contains(ours.rows, r) })
				}
			case q.without != nil:
				a.partly = "apart from " + strings.Join(q.without, ", ")
			}
			if q.differs != "" && q.sorted && ours.head == "" && theirs.head != "" { // it must still be an answer
				t.Errorf("%s: %s fails: %s", a.client, a.title, ours.tag)
			}
			a.here, a.there = ours.String(), theirs.String()
			out = append(out, a)
		}
	}
	return out
}

// answer is a server's answer: columns, rows, and the tag or SQLSTATE.
type answer struct {
	head string
	rows []string
	tag  string
}

func (a answer) String() string { return a.head + strings.Join(a.rows, "") + a.tag }

// sameType maps types of Postgres' own catalog to ours.
var sameType = map[uint32]uint32{18: 25, 19: 25, 24: 26, 28: 20, 30: 1028, 194: 25, 1002: 1009, 1003: 1009, 1033: 25, 1034: 1009, 1043: 25, 2205: 25, 2206: 25, 2277: 1009, 12_000: 25, 2278: 25}

var oidRE = regexp.MustCompile(`\b[12]\d{4}\b`)

// describe adds the names and types of columns to an answer.
func describe(out *answer, q question, fields []pgconn.FieldDescription) {
	for _, f := range fields {
		typ := f.DataTypeOID
		if same, ok := sameType[typ]; ok {
			typ = same
		}
		if typ > 12_000 || strings.Contains(strings.ToLower(q.text), "information_schema") { // whose types are texts and numbers
			typ = 0
		}
		if !slices.Contains(q.without, f.Name) {
			out.head += fmt.Sprintf("%s:%d ", f.Name, typ)
		}
	}
}

// rowsOf reads the answer to one statement.
func rowsOf(r *pgconn.ResultReader, q question) (out answer, err error) {
	fields := slices.Clone(r.FieldDescriptions())
	for r.NextRow() {
		row := "| "
		for i, cell := range r.Values() {
			switch {
			case slices.Contains(q.without, fields[i].Name):
			case cell == nil:
				row += "null, "
			default:
				row += fmt.Sprintf("%q, ", cell)
			}
		}
		if q.sorted {
			row = oidRE.ReplaceAllString(row, "OID")
		}
		out.rows = append(out.rows, row)
	}
	tag, err := r.Close()
	if err != nil {
		return answer{}, err
	}
	describe(&out, q, fields)
	if q.sorted {
		slices.Sort(out.rows)
	}
	out.tag = tag.String()
	return out, nil
}

func answerOf(t *testing.T, c *pgx.Conn, q question, protocol string) (out answer) {
	t.Helper()
	if protocol == "simple" {
		results := c.PgConn().Exec(t.Context(), q.text)
		for results.NextResult() {
			one, _ := rowsOf(results.ResultReader(), q) // Close returns the error
			out.head, out.rows, out.tag = out.head+one.head, append(out.rows, one.rows...), out.tag+one.tag
		}
		if err := results.Close(); err != nil {
			out.tag += code(err)
		}
		return out
	}
	values, types := parameters(t, c, q)
	statement, err := c.PgConn().Prepare(t.Context(), "s", q.text, types)
	if err != nil {
		return answer{tag: code(err)}
	}
	describe(&out, q, statement.Fields)
	if len(statement.ParamOIDs) > 0 {
		out.head += fmt.Sprint(statement.ParamOIDs, " ")
	}
	var first answer
	for run := range 6 { // after five runs, some drivers use binary
		var formats []int16
		if run == 5 && !q.sorted && !strings.Contains(q.text, "regclass") { // text here, a number there
			formats = []int16{1}
		}
		again, err := rowsOf(c.PgConn().ExecPrepared(t.Context(), "s", values, nil, formats), q)
		switch {
		case err != nil && run == 0: // it may also fail in planning
			return answer{tag: code(err)}
		case err != nil:
			again.tag = code(err)
		}
		if run == 0 {
			first = again
		}
		if run == 0 || formats != nil || again.String() != first.String() {
			out.head, out.rows, out.tag = out.head+again.head, append(out.rows, again.rows...), out.tag+again.tag
		}
	}
	return out
}

// parameters returns the values and types of a question's parameters.
func parameters(t *testing.T, c *pgx.Conn, q question) (values [][]byte, types []uint32) {
	t.Helper()
	for _, parameter := range q.with {
		typ, value, _ := strings.Cut(parameter, " ")
		oid := map[string]uint32{"int2": 21, "int4": 23, "int8": 20, "oid": 26, "text": 25, "varchar": 1043, "table": 20}[typ] // or unknown
		if typ == "table" {                                                                                                    // its number
			value = texts(t, c, "SELECT '"+value+"'::regclass::oid::text")[0]
		}
		values, types = append(values, []byte(value)), append(types, oid)
	}
	return values, types
}

// byPsql runs psql's commands on both.
func byPsql(t *testing.T, address, there string) (out []comparison) {
	t.Helper()
	raw := test.Read(t, "testdata/psql.txt")
	for _, line := range strings.Split(strings.TrimSpace(string(raw)), "\n") {
		a := comparison{client: "psql"}
		a.title, a.differs, _ = strings.Cut(line, " -- differs: ")
		for dsn, answer := range map[string]*string{"postgres://callhouse@" + address + "/callhouse": &a.here, there: &a.there} {
			cmd := exec.CommandContext(t.Context(), "psql", "-X", "-c", a.title, dsn)
			cmd.Env = append(os.Environ(), "PAGER=cat", "LC_ALL=C.UTF-8")
			said, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				t.Skipf("psql: %v", err)
			}
			*answer = string(said)
		}
		if strings.Contains(a.here, "ERROR:") { // at least it must be an answer
			a.differs = ""
		}
		out = append(out, a)
	}
	return out
}

// byPrograms runs the clients in testdata whose interpreter is available.
func byPrograms(t *testing.T, address, there string) (out []comparison) {
	t.Helper()
	here := "postgres://callhouse@" + address + "/callhouse"
	programs := map[string]func(dsn string) *exec.Cmd{}
	if python := os.Getenv("CALLHOUSE_PYTHON"); python != "" {
		programs["python"] = func(dsn string) *exec.Cmd {
			return exec.CommandContext(t.Context(), python, "testdata/clients.py", dsn)
		}
	}
	if jar := os.Getenv("CALLHOUSE_JDBC"); jar != "" {
		programs["java"] = func(dsn string) *exec.Cmd {
			return exec.CommandContext(t.Context(), "java", "-cp", jar, "testdata/Metadata.java", "jdbc:postgresql://"+strings.TrimPrefix(dsn, "postgres://callhouse@"))
		}
	}
	if modules := os.Getenv("CALLHOUSE_NODE_MODULES"); modules != "" {
		programs["node"] = func(dsn string) *exec.Cmd {
			return exec.CommandContext(t.Context(), "node", "testdata/client.mjs", dsn, modules)
		}
	}
	split := func(dsn string) (host, port string) {
		at, _, _ := strings.Cut(dsn[strings.Index(dsn, "@")+1:], "/")
		host, port, _ = net.SplitHostPort(at)
		return host, port
	}
	if driver := os.Getenv("CALLHOUSE_ODBC"); driver != "" {
		programs["odbc"] = func(dsn string) *exec.Cmd {
			host, port := split(dsn)
			return exec.CommandContext(t.Context(), os.Getenv("CALLHOUSE_PYTHON"), "testdata/odbc.py", driver, host, port)
		}
	}
	if rscript := os.Getenv("CALLHOUSE_R"); rscript != "" {
		programs["r"] = func(dsn string) *exec.Cmd {
			host, port := split(dsn)
			return exec.CommandContext(t.Context(), rscript, "testdata/client.R", host, port)
		}
	}
	for name, program := range programs {
		lines := map[string]map[string]string{}
		for _, dsn := range []string{here, there} {
			said, err := program(dsn).Output()
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				t.Errorf("%s: %v\n%s", name, err, exit.Stderr)
			} else if err != nil {
				t.Fatal(err)
			}
			lines[dsn] = map[string]string{}
			for _, line := range strings.Split(strings.TrimSpace(string(said)), "\n") {
				title, answer, _ := strings.Cut(line, "\t")
				lines[dsn][title] = oidRE.ReplaceAllString(answer, "OID")
			}
		}
		for title, answer := range lines[there] {
			client, what, _ := strings.Cut(title, ": ")
			out = append(out, comparison{client: client, title: what, here: lines[here][title], there: answer, differs: knownly[title]})
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].client+out[i].title < out[j].client+out[j].title })
	return out
}

// knownly are accepted differences of clients' answers.
var knownly = map[string]string{
	"JDBC: getIndexInfo": "it does not tell how many rows an index has, and the null of INDEX_QUALIFIER is an integer",
}

const tableBegins, tableEnds = "<!-- made by interop/postgres.sh -->\n", "<!-- end -->\n"

// writeDocs writes the table of questions.
func writeDocs(t *testing.T, all []comparison) {
	t.Helper()
	const path = "testdata/like.md"
	raw := test.Read(t, path)
	before, rest, ok := strings.Cut(string(raw), tableBegins)
	_, after, ok2 := strings.Cut(rest, tableEnds)
	if !ok || !ok2 {
		t.Fatal(path, "has no place for the table")
	}
	var b strings.Builder
	b.WriteString("| client | asks | answer |\n| --- | --- | --- |\n")
	var seen []string
	for _, a := range all {
		client, title := a.client, a.title
		if base, _, both := strings.Cut(client, ", "); both { // protocols in one line
			client = base
			if slices.Contains(seen, client+title) {
				continue
			}
			seen = append(seen, client+title)
		}
		answer := "the same"
		switch {
		case a.differs != "":
			answer = "differs: " + a.differs
		case a.partly != "":
			answer += ", " + a.partly
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s |\n", client, strings.ReplaceAll(title, "|", `\|`), answer)
	}
	test.OK(t, os.WriteFile(path, []byte(before+tableBegins+b.String()+tableEnds+after), 0o644))
}
