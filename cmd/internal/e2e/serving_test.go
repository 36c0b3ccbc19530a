package e2e

import (
	"bufio"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/longtest"
	logins "callhouse/internal/serve"
	"callhouse/internal/test"
	"callhouse/internal/words"
)

// serving is a running query serve.
type serving struct {
	cmd            *exec.Cmd
	postgres, http string        // addresses
	ended          chan struct{} // closed when it has ended
}

const servePassword = "a-good-password"

// smallUser is the name of users limited to 64 MiB.
const smallUser = "small"

// serve starts query serve for users, and waits until it listens. heard is called with each later line of output.
func serve(t *testing.T, heard func(line string), names []string, args ...string) *serving {
	t.Helper()
	list := filepath.Join(t.TempDir(), "users.json")
	for _, name := range names {
		u, err := logins.NewUser(name, servePassword)
		if name == smallUser {
			u.Memory = 64 << 20
		}
		if err == nil {
			_, err = logins.PutUser(list, u)
		}
		test.OK(t, err)
	}
	args = append([]string{"serve", "--postgres", "127.0.0.1:0", "--http", "127.0.0.1:0", "--users", list}, args...)
	s := &serving{cmd: exec.CommandContext(context.WithoutCancel(t.Context()), linkProgram(t, t.TempDir(), "query"), args...), ended: make(chan struct{})}
	stderr, err := s.cmd.StderrPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	test.OK(t, err)
	lines := bufio.NewScanner(stderr)
	for s.postgres == "" || s.http == "" {
		if !lines.Scan() {
			t.Fatalf("query serve ended: %v", s.cmd.Wait())
		}
		address := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(lines.Text())
		if strings.Contains(lines.Text(), "serving HTTP") {
			s.http = "http://" + address
		} else {
			s.postgres = address
		}
	}
	said := words.Head{MaxBytes: 16 << 10}
	go func() {
		defer close(s.ended)
		for lines.Scan() {
			words.Fprintf(&said, "%s\n", lines.Text())
			heard(lines.Text())
		}
	}()
	t.Cleanup(func() {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		<-s.ended
		if err := s.cmd.Wait(); err != nil {
			t.Errorf("query serve ended with %v:\n%s", err, said.String())
		}
	})
	return s
}

// as returns the connection string of a user.
func (s *serving) as(user string) string {
	return "postgres://" + user + ":" + servePassword + "@" + s.postgres + "/callhouse?sslmode=disable"
}

// With a certificate, query serve refuses unencrypted connections, also on the loopback. Without
// one, it does not listen on other addresses.
func TestServeEncrypts(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	analyticstest.Write(t, root, 1, analyticstest.Agencies())
	pair := certificate(t, "127.0.0.1", time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	test.OK(t, err)
	for name, b := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, "key.pem": {Type: "PRIVATE KEY", Bytes: key}} {
		test.OK(t, os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(b), 0o600))
	}
	s := serve(t, func(string) {}, []string{"ana"}, "--warehouse", root, "--tls-cert", filepath.Join(dir, "cert.pem"), "--tls-key", filepath.Join(dir, "key.pem"))
	for _, mode := range []string{"disable", "require"} {
		c, err := pgconn.Connect(t.Context(), strings.Replace(s.as("ana"), "sslmode=disable", "sslmode="+mode, 1))
		var p *pgconn.PgError
		refused := errors.As(err, &p) && p.Code == "28000"
		if err == nil {
			err = c.Close(t.Context())
		}
		if refused != (mode == "disable") || !refused && err != nil {
			t.Errorf("sslmode=%s: %v", mode, err)
		}
	}
	r := (&company{t: t, warehouse: root}).query("serve", "--postgres", "0.0.0.0:0")
	r.reports(t, cli.ExitUsage, "0.0.0.0:0 is not a loopback address, so it requires logins and TLS")
}

// endsItsProcess is the shortest statement that ends its process: a pattern that recurses until the stack is full.
const endsItsProcess = "SELECT repeat('a', 1000000) LIKE repeat('%a', 500000) || 'b'"

// bombs are statements that need more memory, time or depth than available.
func bombs() []string {
	deep := func(n int, open, inner, end string) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
	}
	chain := func(n int, part, between string) string {
		return strings.TrimSuffix(strings.Repeat(part+between, n), between)
	}
	ctes := "WITH c0 AS (SELECT 1 AS a)"
	for i := range 600 {
		ctes += fmt.Sprintf(", c%d AS (SELECT x.a + y.a AS a FROM c%d x, c%d y)", i+1, i, i)
	}
	blown := "'a'"
	for range 12 {
		blown = "replace(" + blown + ", 'a', 'aaaaaaaaaaaaaaaa')"
	}
	return []string{
		// Lists and texts.
		"SELECT range(500000000)", "SELECT list_sum(range(500000000))", "SELECT list_sort(range(300000000))", "SELECT [range(1000000) FOR x IN range(10000)]", "SELECT repeat('x', 4000000000)", "SELECT repeat('x', 900000000)",
		"SELECT repeat('x', 300000000), repeat('y', 300000000), repeat('z', 300000000), repeat('w', 300000000), repeat('v', 300000000)", "SELECT repeat('x', 400000000) FROM range(100)", "SELECT length(repeat(repeat('x', 1000000), 1000000))",
		"SELECT string_agg(repeat('x', 1000000), '') FROM range(10000)", "SELECT lpad('x', 2147483647, 'y')", "SELECT array_agg(a) FROM range(10000000000) t(a)", "SELECT list(repeat('x', 10000)) FROM range(1000000)", "SELECT length(" + blown + ")",
		"SELECT printf('%2147483647d', 1)", "SELECT format('{:>2147483647}', 'x')", "SELECT bar(1, 0, 10, 2147483647)", "SELECT array_to_string(range(200000000), ',')", "SELECT to_json(range(200000000))", "SELECT string_split(repeat(',', 300000000), ',')",
		"SELECT regexp_replace(repeat('a', 10000000), 'a', repeat('b', 10000), 'g')", "SELECT levenshtein(repeat('a', 300000), repeat('b', 300000))", "SELECT damerau_levenshtein(repeat('a', 100000), repeat('b', 100000))", "SELECT CAST(repeat('1', 100000000) AS BIT)",
		"SELECT (repeat('[', 100000000))::json", "SELECT repeat('a', 10000000) GLOB (repeat('*a', 5000000) || 'b')", "SELECT json_contains((repeat('[', 300000) || '1' || repeat(']', 300000))::json, '2')", "SELECT json_extract((repeat('[', 50000) || repeat(']', 50000))::json, '$[0]')", "SELECT json_structure(('[' || repeat('{\"a\":', 100000) || '1' || repeat('}', 100000) || ']')::json)", "SELECT map(range(100000000), range(100000000))",
		"COPY (SELECT repeat('x', 900000000)) TO STDOUT", "COPY (SELECT repeat('x', 300000000) FROM range(20)) TO STDOUT (FORMAT csv)", "SELECT histogram(a) FROM range(10000000000) t(a)", "SELECT quantile_cont(a, 0.5) FROM range(10000000000) t(a)",
		"SELECT mode(a::varchar || repeat('x', 100)) FROM range(1000000000) t(a)", "SELECT count(DISTINCT a::varchar || repeat('x', 100)) FROM range(1000000000) t(a)", "SELECT approx_top_k(a, 1000000) FROM range(10000000000) t(a)", "SELECT reservoir_quantile(a, 0.5, 2000000000) FROM range(10000000000) t(a)",
		// Rows.
		"SELECT * FROM range(100000000000) t(a) ORDER BY random() LIMIT 5 OFFSET 1000000000", "SELECT count(*) FROM range(1000000) a, range(1000000) b, range(1000000) c", "SELECT a, count(*) FROM range(100000000000) t(a) GROUP BY a", "SELECT row_number() OVER (ORDER BY random()) FROM range(10000000000)",
		"SELECT count(*) FROM range(100000000) a JOIN range(100000000) b ON a.range % 2 = b.range % 2", "SELECT unnest(range(1000000000)), unnest(range(1000000000))", "SELECT sum(a) FROM generate_series(1, 1000000000000000) t(a)",
		"WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r", "WITH RECURSIVE r(s) AS (SELECT 'x' UNION ALL SELECT s || s FROM r) SELECT max(length(s)) FROM r", "WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT n + 1 FROM r, range(1000)) SELECT count(*) FROM r",
		"WITH RECURSIVE r(a) AS (SELECT range(1000000) UNION ALL SELECT a || a FROM r) SELECT max(len(a)) FROM r", "WITH RECURSIVE r(n) USING KEY (n) AS (SELECT 1 UNION SELECT n + 1 FROM r) SELECT count(*) FROM r",
		// Patterns.
		"SELECT regexp_matches(repeat('a', 100000000), '(a*)*b')", "SELECT regexp_matches('x', '((((a{1,100}){1,100}){1,100}){1,100}){1,100}')", "SELECT regexp_matches('x', repeat('(', 100000) || 'a' || repeat(')', 100000))", "SELECT regexp_extract_all(repeat('a', 300000000), 'a')", "SELECT repeat('a', 100000) LIKE repeat('%a', 50000) || 'b'", endsItsProcess,
		"SELECT 'x' ~ repeat('a?', 100000)", "SELECT repeat('a', 1000000) SIMILAR TO '(a|aa)+b'",
		// Depth and length of the statement.
		"SELECT " + deep(100_000, "(", "1", ")"), "SELECT " + deep(2_000, "(", "1", ")"), "SELECT " + deep(20_000, "abs(", "1", ")"), "SELECT " + deep(900, "abs(", "1", ")"), deep(20_000, "SELECT (", "SELECT 1", ")"), deep(300, "SELECT (", "SELECT 1", ")"), deep(300, "SELECT * FROM (", "SELECT 1", ")"),
		"SELECT " + strings.Repeat("NOT ", 100_000) + "true", "SELECT " + strings.Repeat("- ", 200_000) + "1", "SELECT " + deep(50_000, "[", "1", "]"), "SELECT " + deep(900, "[", "1", "]"), "SELECT " + deep(900, "{'a': ", "1", "}"), "SELECT CAST(NULL AS INT" + strings.Repeat("[]", 50_000) + ")", "SELECT CAST(NULL AS INT" + strings.Repeat("[]", 900) + ")",
		"SELECT 1::int" + strings.Repeat("::int", 50_000), "SELECT " + deep(900, "CASE WHEN true THEN ", "1", " END"), "SELECT " + deep(30_000, "CASE WHEN true THEN ", "1", " END"), "SELECT " + chain(250_000, "1", "+"), "SELECT " + chain(60_000, "'a'", "||"), "SELECT 1 WHERE " + chain(60_000, "1=1", " AND "), "SELECT 1 WHERE " + chain(60_000, "random()=1", " OR "),
		chain(20_000, "SELECT 1", " UNION ALL "), chain(20_000, "SELECT 1", " EXCEPT "), "SELECT 1 WHERE 1 IN (" + chain(250_000, "7", ",") + ")", "SELECT " + chain(300_000, "1", ","), "SELECT " + chain(20_000, "*", ",") + " FROM calls", ctes + " SELECT * FROM c600", "SELECT * FROM " + chain(2_000, "calls", ", "),
		"SELECT count(*) FROM calls c0 " + strings.Repeat("JOIN calls USING (call_id) ", 300), "SELECT 1 /*" + strings.Repeat("/*", 200_000), "SELECT '" + strings.Repeat("''", 400_000) + "'", "SELECT $" + strings.Repeat("9", 100_000), "SELECT 1" + strings.Repeat("0", 900_000), strings.Repeat("SELECT 1;", 100_000),
		strings.Repeat("(", 900_000), strings.Repeat("EXPLAIN ", 100_000) + "SELECT 1", "EXPLAIN SELECT " + deep(900, "abs(", "1", ")"), "SELECT " + deep(900, "list_transform([1], x -> ", "1", ")"), deep(400, "SELECT 1 WHERE EXISTS (", "SELECT 1", ")"), "SELECT * FROM calls " + strings.Repeat("PIVOT (count(*) FOR status IN ('a')) ", 500),
		"SELECT a" + strings.Repeat(".a", 100_000), "SELECT x FROM (SELECT {'a': 1} AS x) WHERE x" + strings.Repeat(".a", 5_000) + " = 1", "SUMMARIZE SELECT " + chain(3_000, "1", ","), "VALUES " + chain(150_000, "(1)", ","), "SELECT \"" + strings.Repeat("x", 900_000) + "\"", "SELECT * FROM calls GROUP BY CUBE (" + chain(40, "call_id", ",") + ")",
		"SELECT count(*) FROM calls GROUP BY GROUPING SETS (" + chain(60_000, "(call_id)", ",") + ")", "SELECT " + chain(3_000, "sum(duration_ms) OVER (ORDER BY start_at)", ",") + " FROM calls", "SELECT '1'::decimal(38,37) * '1'::decimal(38,37)", "SELECT interval '9999999999999 years'", "SELECT make_timestamp(9223372036854775807) + interval '1 day'",
		// Casts and conversions with limits of their own.
		"SELECT 'x'::varchar[][]::int[][]", "SELECT (range(10000000))::varchar", "SELECT ('[' || repeat('1,', 50000000) || '1]')::int[]", "SELECT unhex(repeat('ff', 200000000))", "SELECT to_base64(repeat('x', 500000000)::blob)", "SELECT list_transform(range(100000000), x -> repeat('x', 100))", "SELECT list_reduce(range(100000000), (x, y) -> x + y)",
		"SELECT list_transform(range(3000), x -> list_transform(range(3000), y -> range(3000)))", "SELECT flatten([range(10000000) FOR x IN range(100)])", "SELECT array_cross_product(array_value(1.0,2,3), array_value(1.0,2,3))", "SELECT struct_pack(" + strings.TrimSuffix(strings.Repeat("a := 1, ", 5_000), ", ") + ")",
	}
}

var tryBombs = flag.Bool("bombs", false, "send a server statements that would take too much of everything; make soak does")

// An excessive statement ends with an error, or ends its user's process: the server and other users continue.
func TestBombs(t *testing.T) {
	if !*tryBombs {
		t.Skip("make soak tries it")
	}
	root := t.TempDir()
	analyticstest.Write(t, root, 1, analyticstest.Agencies())
	users := []string{"quiet", "one", "two", "three"}
	s := serve(t, func(line string) { t.Logf("%.300s", line) }, users,
		"--warehouse", root, "--memory", "256MiB", "--statement-timeout", "3s", "--max-connections", "20")
	connect := func(user string) *pgx.Conn {
		c, err := pgx.Connect(t.Context(), s.as(user))
		if err != nil {
			t.Error(err)
			runtime.Goexit()
		}
		return c
	}
	quiet := connect("quiet")
	defer quiet.Close(context.Background())
	var fell atomic.Int32
	todo := make(chan string)
	var wg sync.WaitGroup
	for _, user := range users[1:] { // several at once
		wg.Go(func() {
			c := connect(user)
			defer func() { _ = c.Close(context.Background()) }()
			for text := range todo {
				began := time.Now()
				_, err := c.Exec(t.Context(), text, pgx.QueryExecModeSimpleProtocol)
				var p *pgconn.PgError
				switch {
				case errors.As(err, &p) && p.Code == "57P02":
					fell.Add(1)
				case errors.As(err, &p) && p.Code == "XX000":
					t.Errorf("%.100s: an error that nobody foresaw: %v", text, err)
				case err != nil && p == nil:
					t.Errorf("%.100s ended the connection without a word: %v", text, err)
				}
				t.Logf("%.100s: %.150v (%v)", text, err, time.Since(began).Round(time.Millisecond))
				if c.IsClosed() {
					c = connect(user)
				}
			}
		})
	}
	for _, text := range bombs() {
		todo <- text
		var n int
		if err := quiet.QueryRow(t.Context(), "SELECT count(*) FROM calls").Scan(&n); err != nil || n != 4 {
			t.Fatalf("beside %.100s, or one just before, somebody's statement: %d, %v", text, n, err)
		}
	}
	close(todo)
	wg.Wait()
	t.Logf("%d of %d statements ended the process of their user", fell.Load(), len(bombs()))
}

// A statement that ends its process affects no other user.
func TestAStatementEndsItsUsersProcess(t *testing.T) {
	longtest.Only(t) // the pool's own tests in isolate end processes
	root := t.TempDir()
	analyticstest.Write(t, root, 1, analyticstest.Agencies())
	log := filepath.Join(t.TempDir(), "audit.jsonl")
	said := make(chan string, 10)
	s := serve(t, func(line string) { said <- line }, []string{"ana", smallUser}, "--warehouse", root, "--audit", log, "--max-connections", "5")
	connect := func(user string) *pgx.Conn {
		t.Helper()
		c, err := pgx.Connect(t.Context(), s.as(user))
		test.OK(t, err)
		t.Cleanup(func() { _ = c.Close(context.Background()) })
		return c
	}
	ana, too, small := connect("ana"), connect("ana"), connect(smallUser)
	_, err := small.Exec(t.Context(), "BEGIN")
	test.OK(t, err)
	var p *pgconn.PgError
	if _, err := ana.Exec(t.Context(), endsItsProcess); !errors.As(err, &p) || p.Code != "57P02" {
		t.Errorf("the statement: %v", err)
	}
	if err := too.Ping(t.Context()); err == nil {
		t.Error("the user's other connection lasts")
	}
	again := connect("ana")
	for user, c := range map[string]*pgx.Conn{smallUser: small, "ana": again} {
		var n int
		if err := c.QueryRow(t.Context(), "SELECT count(*) FROM calls").Scan(&n); err != nil || n != 4 {
			t.Errorf("afterwards %s counts %d: %v", user, n, err)
		}
	}
	if line := <-said; !strings.Contains(line, `of "ana" ended`) || !strings.Contains(line, "2 connections; it was running: SELECT repeat(") || strings.Contains(line, "goroutine") {
		t.Errorf("the server says: %s", line)
	}
	const large = "SELECT len(list(a)) FROM range(12000000) t(a)"
	if _, err := again.Exec(t.Context(), large); err != nil {
		t.Errorf("a list of 96 MB: %v", err)
	}
	if _, err := small.Exec(t.Context(), large); !errors.As(err, &p) || p.Code != "53200" {
		t.Errorf("the same for a user limited to 64 MiB: %v", err)
	}
	raw, err := os.ReadFile(log)
	if err != nil || !strings.Contains(string(raw), `"user":"ana","from":"127.0.0.1:`) || !strings.Contains(string(raw), `"sqlstate":"57P02","statement":"SELECT repeat(`) {
		t.Errorf("the audit: %s, %v", raw, err)
	}
}
