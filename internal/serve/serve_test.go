package serve_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/analyticstest"
	"callhouse/internal/analytics/database"
	"callhouse/internal/analytics/rights"
	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/postgres"
	"callhouse/internal/serve"
	"callhouse/internal/serve/dialect"
	"callhouse/internal/test"
)

type row = analyticstest.Row

// testServer is a server over a small warehouse.
type testServer struct {
	root, address string
	snapshots     *serve.Snapshots
	mu            sync.Mutex
	audit         []postgres.Entry
	running       map[uint64]string // statements in progress
}

func calls(n int) (out []row) {
	for i := range n {
		out = append(out, row{"call_id": fmt.Sprintf("c%d", i), "start_at": int64(1_760_000_000_000), "total_cost": "1.50", "metadata": `{"a":[1,2]}`, "status": "ended"})
	}
	return out
}

func start(t *testing.T, settle func(*postgres.Server)) *testServer {
	t.Helper()
	h := &testServer{root: t.TempDir(), running: map[uint64]string{}}
	analyticstest.Write(t, h.root, 1, analyticstest.Data{Calls: calls(2), Turns: []row{{"call_id": "c0", "turn": int64(0), "role": "agent", "content": "hello"}}})
	h.snapshots = &serve.Snapshots{Root: h.root, Log: func(text string) { t.Log(text) },
		Open: func(ctx context.Context, zone *time.Location, r rights.Rights) (*analytics.Warehouse, error) {
			return analytics.Open(ctx, h.root, analytics.Options{Options: database.Options{Location: zone, Threads: 1, Safe: &database.Limits{Memory: 256 << 20, Temp: 1 << 20}, Dialect: dialect.Catalog(r), Rights: r}})
		}}
	log := func(text string) { t.Log(text) }
	s := &postgres.Server{Log: log, Host: &postgres.Sessions{Backend: &serve.Backend{Snapshots: h.snapshots, Zone: time.UTC}, Log: log,
		Began: func(e postgres.Entry) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.running[e.Run] = e.Text
		},
		Ended: func(e postgres.Entry) {
			h.mu.Lock()
			defer h.mu.Unlock()
			if _, ok := h.running[e.Run]; !ok {
				t.Errorf("%q ended twice, or never began", e.Text)
			}
			delete(h.running, e.Run)
			if e.Code != "" {
				h.audit = append(h.audit, e)
			}
		}}}
	if settle != nil {
		settle(s)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	test.OK(t, err)
	h.address = l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error)
	go func() { served <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		test.OK(t, <-served)
		if n := s.Connections(); n != 0 {
			t.Errorf("%d connections are left", n)
		}
		if len(h.running) > 0 {
			t.Errorf("statements that never ended: %v", h.running)
		}
		test.OK(t, h.snapshots.Close())
	})
	return h
}

// holds waits until exactly these snapshots are open.
func (h *testServer) holds(t *testing.T, want ...int64) {
	t.Helper()
	for wait := time.Now(); ; time.Sleep(time.Millisecond) {
		names, err := filepath.Glob(filepath.Join(h.root, layout.SnapshotsName, "*"))
		test.OK(t, err)
		var open []int64
		for _, name := range names {
			if n, ok := layout.ParseSnapshotName(filepath.Base(name)); ok && layout.InUse(filepath.Join(name, layout.ManifestName)) {
				open = append(open, n)
			}
		}
		if slices.Equal(open, want) {
			return
		}
		if time.Since(wait) > time.Minute {
			t.Fatalf("open are %v, want %v", open, want)
		}
	}
}

func (h *testServer) connect(t *testing.T, options string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), "postgres://somebody@"+h.address+"/callhouse?"+options)
	test.OK(t, err)
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// texts runs a statement with the simple protocol, and returns its cells.
func texts(t *testing.T, c *pgx.Conn, sql string) []string {
	t.Helper()
	out, err := cellsOf(t, c, sql)
	if err != nil {
		t.Errorf("%s: %v", sql, err)
	}
	return out
}

func cellsOf(t *testing.T, c *pgx.Conn, sql string) (out []string, err error) {
	t.Helper()
	results, err := c.PgConn().Exec(t.Context(), sql).ReadAll()
	for _, r := range results {
		for _, row := range r.Rows {
			for _, cell := range row {
				out = append(out, string(cell))
			}
		}
	}
	return out, err
}

func code(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return fmt.Sprint(err)
}

// Read-only tests share one server.
func TestProtocol(t *testing.T) {
	h := start(t, nil)
	t.Run("types", func(t *testing.T) { testTypes(t, h) })
	t.Run("UTF-8", func(t *testing.T) { testNotUTF8(t, h) })
	t.Run("plan", func(t *testing.T) { testPlan(t, h) })
	t.Run("audit", func(t *testing.T) { testAudit(t, h) })
	t.Run("cursors", func(t *testing.T) { testCursors(t, h) })
	t.Run("binary parameters", func(t *testing.T) { testBinaryParameters(t, h) })
	t.Run("copy", func(t *testing.T) { testCopyMessages(t, h) })
	t.Run("parameters", func(t *testing.T) { testParameters(t, h) })
	t.Run("extended", func(t *testing.T) { testExtended(t, h) })
	t.Run("dialect", func(t *testing.T) { testDialect(t, h) })
	t.Run("settings", func(t *testing.T) { testSettings(t, h) })
	t.Run("hostile", func(t *testing.T) { testHostile(t, h) })
}

// Values have Postgres' form, as text and in binary.
func testTypes(t *testing.T, h *testServer) {
	c := h.connect(t, "")
	for _, x := range longtest.Some(2, []struct{ sql, oid, text string }{
		{"true", "16", "t"}, {"CAST(7 AS SMALLINT)", "21", "7"}, {"-7", "23", "-7"}, {"9007199254740993", "20", "9007199254740993"}, {"CAST(1 AS HUGEINT)", "1700", "1"},
		{"CAST(-1234.5 AS DECIMAL(18,4))", "1700", "-1234.5000"}, {"CAST(0.0001 AS DECIMAL(38,18))", "1700", "0.000100000000000000"}, {"CAST(1e20 AS DOUBLE)", "701", "1e+20"}, {"1.5e0", "701", "1.5"}, {"CAST('NaN' AS DOUBLE)", "701", "NaN"},
		{"'ä'", "25", "ä"}, {`'{"a": 1}'::json`, "114", `{"a": 1}`}, {"DATE '2026-02-28'", "1082", "2026-02-28"}, {"TIMESTAMP '2026-02-28 01:02:03.5'", "1114", "2026-02-28 01:02:03.5"},
		{"TIMESTAMPTZ '2026-02-28 01:02:03+00'", "1184", "2026-02-28 01:02:03+00"}, {"INTERVAL '1 year 2 days 03:04:05.5'", "1186", "1 year 2 days 03:04:05.5"}, {"[1, NULL]", "1007", "{1,NULL}"}, {"['a', 'b c', '']", "1009", `{a,"b c",""}`},
		{"{'a': 1, 'b': [2]}", "114", `{"a":1,"b":[2]}`}, {"'00000000-0000-0000-0000-00000000000a'::uuid", "2950", "00000000-0000-0000-0000-00000000000a"}, {"'x'::blob", "17", `\x78`}, {"TIME '01:02:03'", "1083", "01:02:03"}, {"5 / 2", "23", "2"}, {"mean_of(5, 2)", "20", "3"},
	}) {
		simple, err := c.PgConn().Exec(t.Context(), "SELECT "+x.sql).ReadAll()
		if err != nil {
			t.Errorf("%s: %v", x.sql, err)
			continue
		}
		if got := string(simple[0].Rows[0][0]); got != x.text || fmt.Sprint(simple[0].FieldDescriptions[0].DataTypeOID) != x.oid {
			t.Errorf("%s = %s of type %d, want %s of %s", x.sql, got, simple[0].FieldDescriptions[0].DataTypeOID, x.text, x.oid)
		}
		// pgx decodes binary; its result is compared as text.
		values := c.PgConn().ExecParams(t.Context(), "SELECT "+x.sql, nil, nil, nil, []int16{1}).Read()
		if values.Err != nil {
			t.Errorf("%s in binary: %v", x.sql, values.Err)
			continue
		}
		oid := values.FieldDescriptions[0].DataTypeOID
		var back any
		kind, _ := c.TypeMap().TypeForOID(oid)
		v, err := kind.Codec.DecodeValue(c.TypeMap(), oid, 1, values.Rows[0][0])
		if err == nil {
			back, err = kind.Codec.DecodeValue(c.TypeMap(), oid, 0, []byte(x.text))
		}
		if instant, ok := v.(time.Time); ok {
			v, back = instant.UTC(), back.(time.Time).UTC()
		}
		if got, want := fmt.Sprintf("%v", v), fmt.Sprintf("%v", back); err != nil || number(got) != number(want) {
			t.Errorf("%s in binary is %s, want %s (%v)", x.sql, got, want, err)
		}
	}
}

// number normalises a number that pgx holds as {15 -1 …} or {150 -2 …}.
func number(s string) string {
	var digits string
	var exponent int
	if n, _ := fmt.Sscanf(s, "{%s %d", &digits, &exponent); n != 2 {
		return s
	}
	for ; strings.HasSuffix(digits, "0") && len(digits) > 1; exponent++ {
		digits = digits[:len(digits)-1]
	}
	return fmt.Sprint(digits, "e", exponent)
}

// Parameters have types, the number of rows can be limited, and cursors continue.
func testExtended(t *testing.T, h *testServer) {
	c := h.connect(t, "")
	var id string
	var cost float64
	var at time.Time
	err := c.QueryRow(t.Context(), "SELECT call_id, total_cost::float8, start_at FROM public.calls WHERE call_id = $1 AND start_at >= $2 AND call_id = ANY($3::text[]) LIMIT $4", "c1", time.UnixMilli(1_760_000_000_000), []string{"c1", "c,\"2"}, 1).Scan(&id, &cost, &at)
	if err != nil || id != "c1" || cost != 1.5 || at.UnixMilli() != 1_760_000_000_000 {
		t.Errorf("%s, %v, %v, %v", id, cost, at, err)
	}
	tx, err := c.Begin(t.Context())
	test.OK(t, err)
	// Two cursors are read alternately, with another statement between.
	got := texts(t, c, "DECLARE a CURSOR FOR SELECT * FROM range(5000) ORDER BY 1; DECLARE b CURSOR FOR SELECT call_id FROM calls ORDER BY 1; FETCH 2 FROM a; FETCH b; SELECT 'x'; FETCH 1 FROM a; FETCH ALL FROM b")
	if want := []string{"0", "1", "c0", "x", "2", "c1"}; !slices.Equal(got, want) {
		t.Errorf("cursors: %v, want %v", got, want)
	}
	testHold(t, c)
	if _, err := tx.Exec(t.Context(), "SELECT nothing FROM calls"); code(err) != "42703" {
		t.Errorf("a missing column: %v", err)
	}
	if _, err := tx.Exec(t.Context(), "SELECT 1"); code(err) != "25P02" {
		t.Errorf("after an error: %v", err)
	}
	test.OK(t, tx.Rollback(t.Context()))
	var b strings.Builder
	if _, err := c.PgConn().CopyTo(t.Context(), &b, "COPY (SELECT call_id, total_cost, NULL, 'a,\"b' AS x FROM calls ORDER BY 1) TO STDOUT (FORMAT csv, HEADER)"); err != nil {
		t.Error(err)
	}
	if want := "call_id,total_cost,?column?,x\nc0,1.500000000000000000,,\"a,\"\"b\"\nc1,1.500000000000000000,,\"a,\"\"b\"\n"; b.String() != want {
		t.Errorf("COPY: %q, want %q", b.String(), want)
	}
}

// Cursors WITH HOLD outlive c's transaction, unless it is rolled back.
func testHold(t *testing.T, c *pgx.Conn) {
	got := texts(t, c, "DECLARE h CURSOR WITH HOLD FOR SELECT * FROM range(5000) ORDER BY 1; FETCH 2 FROM h; COMMIT; FETCH 1 FROM h")
	got = append(got, texts(t, c, "BEGIN; DECLARE k CURSOR WITH HOLD FOR SELECT 1; FETCH k; ROLLBACK; FETCH 1 FROM h")...)
	if want := []string{"0", "1", "2", "1", "3"}; !slices.Equal(got, want) {
		t.Errorf("cursors WITH HOLD: %v, want %v", got, want)
	}
	if _, err := c.Exec(t.Context(), "FETCH k"); code(err) != "34000" {
		t.Errorf("a cursor that was rolled back: %v", err)
	}
	_ = texts(t, c, "CLOSE h; BEGIN")
}

// A transaction sees one commit, and the next statement the newest. A snapshot in use is kept,
// and released after use, whether its client is idle or not.
func TestSnapshots(t *testing.T) {
	h := start(t, nil)
	reads, sleeps, next := h.connect(t, ""), h.connect(t, ""), h.connect(t, "")
	count := func(c *pgx.Conn) string { return strings.Join(texts(t, c, "SELECT count(*) FROM calls"), "") }
	texts(t, reads, "BEGIN")
	if count(reads) != "2" || count(sleeps) != "2" {
		t.Fatal("not two calls")
	}
	prepared, err := sleeps.Prepare(t.Context(), "s", "SELECT count(*) FROM calls WHERE status = $1")
	test.OK(t, err)
	analyticstest.Write(t, h.root, 2, analyticstest.Data{Calls: calls(5)})
	if n := count(next); n != "5" {
		t.Errorf("after the commit: %s calls", n)
	}
	if n := count(reads); n != "2" {
		t.Errorf("in the transaction: %s calls", n)
	}
	h.holds(t, 1, 2)
	texts(t, reads, "DECLARE h CURSOR WITH HOLD FOR SELECT call_id FROM calls; COMMIT")
	if n := len(texts(t, reads, "FETCH ALL FROM h")); n != 2 {
		t.Errorf("after the transaction a cursor of before has %d calls", n)
	}
	h.holds(t, 1, 2)
	texts(t, reads, "CLOSE h")
	if n := count(reads); n != "5" {
		t.Errorf("after the transaction: %s calls", n)
	}
	var n int
	if err := sleeps.QueryRow(t.Context(), prepared.Name, "ended").Scan(&n); err != nil || n != 5 {
		t.Errorf("a statement of before: %d, %v", n, err)
	}
	h.holds(t, 2)
	analyticstest.Write(t, h.root, 3, analyticstest.Data{Calls: calls(6)})
	h.snapshots.Look()
	h.holds(t)
	if n := count(sleeps); n != "6" {
		t.Errorf("who was asleep counts %s calls", n)
	}
	h.holds(t, 3)
}

// A client continues after a cancelled or timed-out statement.
func TestStopped(t *testing.T) {
	h := start(t, func(s *postgres.Server) { s.Limits = postgres.Limits{Connections: 2} })
	c := h.connect(t, "")
	texts(t, c, "SELECT 1") // a cancelled statement does not wait until the snapshot is open
	const long = "SELECT count(*) FROM range(100000000000) a, range(1000) b WHERE a.range + b.range < 0"
	begun := make(chan struct{})
	go func() {
		for { // a cancel request may come before the statement
			select {
			case <-begun:
				return
			case <-time.After(5 * time.Millisecond):
				_ = c.PgConn().CancelRequest(context.Background())
			}
		}
	}()
	_, err := c.Exec(t.Context(), long)
	close(begun)
	if code(err) != "57014" {
		t.Errorf("cancelled: %v", err)
	}
	for code(err) != "<nil>" { // a late request
		_, err = c.Exec(t.Context(), "SET statement_timeout = 30")
	}
	if _, err := c.Exec(t.Context(), long); code(err) != "57014" {
		t.Errorf("out of time: %v", err)
	}
	if got := texts(t, c, "SET statement_timeout = 0; SELECT 1"); !slices.Equal(got, []string{"1"}) {
		t.Errorf("afterwards: %v", got)
	}
	h.connect(t, "")
	if _, err := pgx.Connect(t.Context(), "postgres://somebody@"+h.address+"/callhouse"); code(err) != "53300" {
		t.Errorf("a third connection: %v", err)
	}
}

// Idle clients in a transaction, or before its end in the extended protocol, are disconnected;
// others are not.
func TestIdleInTransaction(t *testing.T) {
	longtest.Only(t)
	h := start(t, nil)
	ended := func(c *pgx.Conn) string {
		t.Helper()
		m, err := c.PgConn().ReceiveMessage(t.Context())
		if err == nil {
			return fmt.Sprintf("%T", m)
		}
		return code(err)
	}
	awake, sleeper, failed := h.connect(t, "options=-c%20idle_in_transaction_session_timeout%3D50"), h.connect(t, "idle_in_transaction_session_timeout=50ms"), h.connect(t, "idle_in_transaction_session_timeout=50")
	texts(t, awake, "BEGIN; SELECT 1; COMMIT; SELECT 1")
	texts(t, sleeper, "BEGIN; SELECT count(*) FROM calls")
	_, _ = failed.Exec(t.Context(), "BEGIN; SELECT nothing", pgx.QueryExecModeSimpleProtocol)
	analyticstest.Write(t, h.root, 2, analyticstest.Data{Calls: calls(5)})
	for _, c := range []*pgx.Conn{sleeper, failed} {
		if got := ended(c); got != "25P03" {
			t.Errorf("after a sleep in a transaction: %s", got)
		}
	}
	half := h.connect(t, "idle_in_transaction_session_timeout=50")
	half.PgConn().Frontend().SendParse(&pgproto3.Parse{Query: "SELECT count(*) FROM calls"})
	half.PgConn().Frontend().Send(&pgproto3.Flush{})
	test.OK(t, half.PgConn().Frontend().Flush())
	if got := ended(half); got != "*pgproto3.ParseComplete" {
		t.Errorf("a statement: %s", got)
	}
	if got := ended(half); got != "25P03" {
		t.Errorf("after a sleep before Sync: %s", got)
	}
	if got := texts(t, awake, "SELECT count(*) FROM calls"); !slices.Equal(got, []string{"5"}) {
		t.Errorf("after a sleep outside of a transaction: %v", got)
	}
	h.holds(t, 2)
}

// Statements that reach outside the warehouse, or would change it, are refused with either
// protocol; names shared by Postgres and DuckDB are ours.
func testHostile(t *testing.T, h *testServer) {
	c := h.connect(t, "")
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	file, err := filepath.Glob(filepath.Join(h.root, "snapshots/*/calls/*.parquet"))
	if err != nil || len(file) == 0 {
		files, _ := filepath.Glob(filepath.Join(h.root, "snapshots/*/calls/*/*.parquet"))
		file = files
	}
	ours := []string{"FROM pg_catalog.pg_settings", "FROM information_schema.tables", "SELECT current_setting('temp_directory')", "BEGIN", "RESET threads", "ANALYZE", "SET memory_limit = '100GB'", "DEALLOCATE p"}
	statements := slices.Concat(analyticstest.Unsafe(out, file[0], "/etc/passwd"), analyticstest.Changing(out, file[0]), []string{
		"FROM pg.fact_table", "FROM memory.pg.pg_class", "SELECT pg.getenv('HOME')", "SELECT pg_catalog.getenv('HOME')", "SELECT public.getenv('HOME')", "FROM pg.read_text('/etc/passwd')", "FROM pg_catalog.read_text('/etc/passwd')",
		"FROM pg_catalog.\"duckdb_settings\"()", "SELECT pg_read_file('/etc/passwd')", "SELECT lo_import('/etc/passwd')", "COPY calls FROM STDIN", "COPY (FROM '/etc/passwd') TO STDOUT", "COPY calls TO PROGRAM 'id'", "COPY \"/etc/passwd\" TO STDOUT",
		"DECLARE x CURSOR FOR FROM '/etc/passwd'", "SET ROLE postgres", "WITH pg_class AS (FROM '/etc/passwd') FROM pg_class", "SELECT '/etc/passwd'::regclass FROM read_text('/etc/passwd')", "EXPLAIN ANALYZE SELECT pg_catalog.getenv('HOME')",
	})
	for _, text := range longtest.Some(2, statements) {
		if strings.HasPrefix(text, "SELECT 'xxx") && len(text) > 1<<20 {
			text = "SELECT '" + strings.Repeat("x", 17<<20) + "'" // longer than a message may be
			_, err := h.connect(t, "").Exec(t.Context(), text, pgx.QueryExecModeSimpleProtocol)
			if err == nil {
				t.Error("a message of 17 MiB passes")
			}
			continue
		}
		for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeDescribeExec} {
			_, err := c.Exec(t.Context(), text, mode)
			if err == nil && !slices.Contains(ours, text) {
				t.Errorf("%.80q passes", text)
			}
			if strings.Contains(text, "pg.") && code(err) != "42501" { // refused, and not merely unknown
				t.Errorf("%.80q: %v", text, err)
			}
			if c.IsClosed() {
				t.Fatalf("%.80q ended the connection: %v", text, err)
			}
			if c.PgConn().TxStatus() != 'I' {
				texts(t, c, "ROLLBACK")
			}
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("files were written: %v, %v", left, err)
	}
	if got := texts(t, c, "SELECT count(*) FROM calls"); !slices.Equal(got, []string{"2"}) {
		t.Errorf("afterwards: %v", got)
	}
}

// Users log in with SCRAM, over TLS if required; others do not, and no one learns which names
// exist.
func TestUsers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.json")
	u, err := serve.NewUser("ann", "a good password")
	test.OK(t, err)
	u.Connections = 1
	_, err = serve.PutUser(path, u)
	test.OK(t, err)
	if raw, err := os.ReadFile(path); err != nil || strings.Contains(string(raw), "a good password") {
		t.Errorf("the file holds the password, or is not there: %v", err)
	}
	list, err := serve.OpenUsers(path)
	test.OK(t, err)
	var mu sync.Mutex
	var tried []string // and whether the password was wrong
	var limited error
	h := start(t, func(s *postgres.Server) {
		s.Try = func(_ context.Context, user, _ string) (func(bool), error) {
			mu.Lock()
			defer mu.Unlock()
			return func(isWrong bool) {
				mu.Lock()
				defer mu.Unlock()
				tried = append(tried, fmt.Sprint(user, ":", isWrong))
			}, limited
		}
		s.Find, s.NeedTLS, s.TLS = list.ForPostgres(postgres.Limits{}), true, &tls.Config{Certificates: []tls.Certificate{certificate(t)}}
	})
	connect := func(user, password, mode string) error {
		c, err := pgx.Connect(t.Context(), fmt.Sprintf("postgres://%s:%s@%s/callhouse?sslmode=%s", user, password, h.address, mode))
		if err != nil {
			return err
		}
		defer c.Close(context.Background())
		if _, err := pgx.Connect(t.Context(), c.Config().ConnString()); code(err) != "53300" {
			t.Errorf("a second connection of one who may have one: %v", err)
		}
		return c.Ping(t.Context())
	}
	for _, mode := range []string{"require", "require&channel_binding=require", "require&channel_binding=disable"} {
		if err := connect("ann", "a%20good%20password", mode); err != nil {
			t.Errorf("%s: %v", mode, err)
		}
	}
	for _, x := range []struct{ user, password, mode, code string }{
		{"ann", "a%20bad%20password", "require", "28P01"}, {"bob", "a%20good%20password", "require", "28P01"}, {"ann", "", "require", ""}, {"ann", "a%20good%20password", "disable", "28000"},
	} {
		if err := connect(x.user, x.password, x.mode); err == nil || x.code != "" && code(err) != x.code {
			t.Errorf("%+v: %v", x, err)
		}
	}
	mu.Lock()
	if got := strings.Join(tried, " "); got != strings.Repeat("ann:false ", 6)+"ann:true bob:true ann:true" {
		t.Errorf("passwords that were looked at: %s", got)
	}
	limited = serve.ErrTooMany
	mu.Unlock()
	if err := connect("ann", "a%20good%20password", "require"); code(err) != "28000" || !strings.Contains(err.Error(), "wait a minute") {
		t.Errorf("while passwords from this address are not looked at: %v", err)
	}
	mu.Lock()
	limited = nil
	mu.Unlock()
	test.OK(t, os.Chmod(path, 0o644))
	if err := connect("ann", "a%20good%20password", "require"); err == nil {
		t.Error("a file that others can read lets somebody in")
	}
}

func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	test.OK(t, err)
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	raw, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	test.OK(t, err)
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
}

// A client learns that a file is damaged, but not the warehouse's path.
func TestDamageNamesNoFolder(t *testing.T) {
	h := start(t, nil)
	files, err := filepath.Glob(filepath.Join(h.root, "snapshots", "*", "calls", "*", "*.parquet"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		test.OK(t, os.Truncate(f, 10))
	}
	c := h.connect(t, "")
	_, err = c.Exec(t.Context(), "SELECT max(hash(c)) FROM calls c")
	if err == nil || code(err) == "" || strings.Contains(err.Error(), h.root) || !strings.Contains(err.Error(), "snapshots/") {
		t.Errorf("%v", err)
	}
}
