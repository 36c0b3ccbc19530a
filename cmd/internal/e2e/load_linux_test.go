package e2e

import (
	"bytes"
	"context"
	crand "crypto/rand"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"golang.org/x/sys/unix"

	"callhouse/internal/layout"
	"callhouse/internal/longtest"
	"callhouse/internal/schema"
	"callhouse/internal/test"
)

var (
	loadConnections = flag.Int("load-connections", 7, "how many clients TestServeUnderLoad has; make soak has 200")
	loadCommits     = flag.Int("load-commits", 1, "how many commits land meanwhile; make soak has 100")
	loadFor         = flag.Duration("load-for", 0, "how long that takes; 0: as long as it needs; make soak has 10m")
)

// isLong reports whether to test everything, which takes minutes.
func isLong() bool { return *loadFor > 0 }

// served is a running query serve over a busy warehouse.
type served struct {
	*busy
	*serving

	mu   sync.Mutex
	saw  map[totals]int // sums seen by transactions
	rows map[int64]int  // rows of the calls as a file, by snapshot
	done map[string]int // counts by kind
	rnd  *rand.Rand
}

// startServing starts the program and waits until it listens.
func startServing(t *testing.T) *served {
	t.Helper()
	s := &served{busy: newBusy(t), saw: map[totals]int{}, rows: map[int64]int{}, done: map[string]int{}, rnd: longtest.Rand(t)}
	s.serving = serve(t, func(line string) {
		if !regexp.MustCompile("a message exceeds the limit|answer aborted").MatchString(line) { // messages that the test provokes
			t.Errorf("query serve: %s", line)
		}
	}, servedUsers, "--warehouse", s.root, "--max-connections", fmt.Sprint(*loadConnections+50), "--statement-timeout", "1h")
	return s
}

// count counts an action.
func (s *served) count(kind string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done[kind]++
}

// connect logs in as one of the users.
func (s *served) connect(ctx context.Context, options ...func(*pgx.ConnConfig)) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(s.as(servedUsers[s.rnd.IntN(2)]))
	if err != nil {
		return nil, err
	}
	for _, o := range options {
		o(config)
	}
	return pgx.ConnectConfig(ctx, config)
}

func (s *served) mustConnect(options ...func(*pgx.ConnConfig)) *pgx.Conn {
	s.t.Helper()
	c, err := s.connect(s.t.Context(), options...)
	test.OK(s.t, err)
	return c
}

// get requests an address over HTTP.
func (s *served) get(ctx context.Context, address string) (*http.Response, []byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.http+address, nil)
	if err != nil {
		return nil, nil, err
	}
	r.SetBasicAuth("ana", servePassword)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", address, answer.Status, body)
	}
	return answer, body, err
}

// gauges are the server's own metrics.
type gauges struct{ connections, goroutines, files, megabytes int }

func (g gauges) String() string {
	return fmt.Sprintf("%d connections, %d goroutines, %d files, %d MB", g.connections, g.goroutines, g.files, g.megabytes)
}

func (s *served) gauges() gauges {
	s.t.Helper()
	_, body, err := s.get(context.WithoutCancel(s.t.Context()), "/metrics")
	test.OK(s.t, err)
	of := func(name string) int {
		for line := range strings.Lines(string(body)) {
			if text, ok := strings.CutPrefix(line, name+" "); ok {
				v, _ := strconv.ParseFloat(strings.TrimSpace(text), 64)
				return int(v)
			}
		}
		s.t.Fatalf("there is no metric %s", name)
		return 0
	}
	files, bytes := of("process_open_fds"), of("process_resident_memory_bytes")
	for _, pid := range s.workers() {
		open, _ := filepath.Glob(filepath.Join("/proc", pid, "fd", "*"))
		files += len(open)
		var size, resident int                                      // pages
		raw, _ := os.ReadFile(filepath.Join("/proc", pid, "statm")) // it may have just ended
		_, _ = fmt.Sscan(string(raw), &size, &resident)
		bytes += resident * os.Getpagesize()
	}
	return gauges{of("callhouse_serve_connections"), of("go_goroutines"), files, bytes >> 20}
}

// workers returns the processes that run statements.
func (s *served) workers() (pids []string) {
	s.t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", s.cmd.Process.Pid))
	if err != nil || len(lists) == 0 {
		s.t.Fatal(lists, err)
	}
	for _, list := range lists {
		raw, _ := os.ReadFile(list) // a thread that has ended has no children
		pids = append(pids, strings.Fields(string(raw))...)
	}
	return pids
}

// touch makes the server and each user's process open the current snapshot.
func (s *served) touch() {
	s.t.Helper()
	if _, _, err := s.get(s.t.Context(), "/healthz"); err != nil {
		s.t.Error(err)
	}
	http.DefaultClient.CloseIdleConnections()
	for _, user := range servedUsers {
		c := s.mustConnect(func(c *pgx.ConnConfig) { c.User = user })
		if _, err := c.Exec(s.t.Context(), "SELECT 1 FROM calls"); err != nil {
			s.t.Error(err)
		}
		_ = c.Close(s.t.Context())
	}
}

// servedUsers are the users.
var servedUsers = []string{"ana", "bo"}

// calm waits until the server holds no client's resources, and no more than before the first client connected.
func (s *served) calm(what string, before gauges) {
	s.t.Helper()
	http.DefaultClient.CloseIdleConnections()
	began := time.Now()
	s.touch()
	for ; ; time.Sleep(10 * time.Millisecond) {
		now, old := s.gauges(), s.oldInUse()
		if now.connections == 0 && len(old) == 0 && now.goroutines <= before.goroutines && now.files <= before.files {
			s.t.Logf("after %s: %s", what, now)
			return
		}
		if time.Since(began) > time.Minute {
			s.t.Errorf("after %s there are %s, and somebody holds the snapshots %v; before there were %s", what, now, old, before)
			return
		}
	}
}

// oldInUse returns the snapshots that are in use and not the current one.
func (s *served) oldInUse() (old []string) {
	s.t.Helper()
	current, err := layout.Current(s.root)
	test.OK(s.t, err)
	for _, name := range snapshotsIn(s.t, s.root) {
		if name != filepath.Base(current.Dir) && layout.InUse(filepath.Join(s.root, layout.SnapshotsName, name, layout.ManifestName)) {
			old = append(old, name)
		}
	}
	return old
}

const (
	totalOfCalls = "SELECT count(*), coalesce(sum(turn_count), 0)::bigint, coalesce(sum(total_cost) * 10000, 0)::bigint FROM calls"
	countOfTurns = "SELECT count(*) FROM transcript_turns"
	countOfItems = "SELECT count(*) FROM analysis_items"
)

// pause lets time pass within a transaction while commits happen. Some pauses are long.
func (s *served) pause(ctx context.Context) {
	if !isLong() {
		return
	}
	d := time.Duration(s.rnd.Int64N(int64(2 * time.Second)))
	if s.rnd.IntN(100) == 0 {
		d = 40 * time.Second
	}
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// ways are the ways in which clients sum three tables in a transaction.
var ways = map[string]func(s *served, ctx context.Context, c *pgx.Conn) (totals, error){
	"simple": func(s *served, ctx context.Context, c *pgx.Conn) (out totals, err error) {
		// Text, one message per statement, the session's own transaction.
		numbersOf := func(sql string) (numbers []int64, err error) {
			results, err := c.PgConn().Exec(ctx, sql).ReadAll()
			if err != nil {
				return nil, err
			}
			for _, r := range results {
				for _, row := range r.Rows {
					for _, cell := range row {
						n, err := strconv.ParseInt(string(cell), 10, 64)
						if err != nil {
							return nil, err
						}
						numbers = append(numbers, n)
					}
				}
			}
			return numbers, nil
		}
		first, err := numbersOf("BEGIN; " + totalOfCalls)
		if err != nil {
			return out, err
		}
		s.pause(ctx)
		second, err := numbersOf(countOfTurns + ";" + countOfItems + "; COMMIT")
		if err != nil {
			return out, err
		}
		return totals{first[0], second[0], second[1], first[1], first[2]}, nil
	},
	"prepared": inTransaction(func(s *served, ctx context.Context, tx pgx.Tx, out *totals) error {
		// The extended protocol, binary; pgx keeps prepared statements.
		err := tx.QueryRow(ctx, totalOfCalls+" WHERE start_at > $1", time.UnixMilli(0)).Scan(&out.Calls, &out.TurnCount, &out.Cost)
		s.pause(ctx)
		return errors.Join(err, tx.QueryRow(ctx, countOfTurns).Scan(&out.Turns), tx.QueryRow(ctx, countOfItems).Scan(&out.Items))
	}),
	"cursor": inTransaction(func(s *served, ctx context.Context, tx pgx.Tx, out *totals) error {
		if _, err := tx.Exec(ctx, "DECLARE t CURSOR FOR SELECT call_id FROM transcript_turns", pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
		for {
			tag, err := tx.Exec(ctx, "FETCH 100 FROM t", pgx.QueryExecModeSimpleProtocol)
			if err != nil {
				return err
			}
			if out.Turns += tag.RowsAffected(); tag.RowsAffected() < 100 {
				break
			}
			s.pause(ctx)
		}
		return errors.Join(tx.QueryRow(ctx, totalOfCalls).Scan(&out.Calls, &out.TurnCount, &out.Cost), tx.QueryRow(ctx, countOfItems).Scan(&out.Items))
	}),
	"copy": inTransaction(func(s *served, ctx context.Context, tx pgx.Tx, out *totals) error {
		var lines bytes.Buffer
		_, err := tx.Conn().PgConn().CopyTo(ctx, &lines, "COPY (SELECT call_id, turn FROM transcript_turns) TO STDOUT")
		out.Turns = int64(bytes.Count(lines.Bytes(), []byte("\n")))
		s.pause(ctx)
		return errors.Join(err, tx.QueryRow(ctx, totalOfCalls).Scan(&out.Calls, &out.TurnCount, &out.Cost), tx.QueryRow(ctx, countOfItems).Scan(&out.Items))
	}),
}

func inTransaction(read func(s *served, ctx context.Context, tx pgx.Tx, out *totals) error) func(*served, context.Context, *pgx.Conn) (totals, error) {
	return func(s *served, ctx context.Context, c *pgx.Conn) (out totals, err error) {
		return out, pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error { return read(s, ctx, tx, &out) })
	}
}

// read runs a client that reads in one way until stopped, and reconnects at times.
func (s *served) read(stop <-chan struct{}, way string) error {
	ctx := s.t.Context()
	for {
		c, err := s.connect(ctx)
		if err != nil {
			return err
		}
		for range 20 {
			select {
			case <-stop:
				return c.Close(ctx)
			default:
			}
			out, err := ways[way](s, ctx, c)
			if err != nil {
				return fmt.Errorf("%s: %w", way, err)
			}
			s.mu.Lock()
			s.saw[out]++
			s.done[way]++
			s.mu.Unlock()
		}
		if err := c.Close(ctx); err != nil {
			return err
		}
	}
}

// browse runs a client over HTTP: its file of calls is consistent with one snapshot.
func (s *served) browse(stop <-chan struct{}) error {
	for {
		select {
		case <-stop:
			return nil
		default:
		}
		answer, body, err := s.get(s.t.Context(), "/reports/calls.csv")
		if tooMany(answer) {
			s.pause(s.t.Context())
			continue
		}
		if err != nil {
			return err
		}
		rows, err := csv.NewReader(bytes.NewReader(body)).ReadAll()
		if err != nil {
			return err
		}
		number, err := strconv.ParseInt(answer.Header.Get("X-Snapshot"), 10, 64)
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.rows[number] = len(rows) - 1
		s.done["http"]++
		s.mu.Unlock()
		if answer, _, err := s.get(s.t.Context(), "/reports/funnel.json?since=90d&by=agent"); err != nil && !tooMany(answer) {
			return err
		}
		s.pause(s.t.Context())
	}
}

// tooMany reports whether an answer asks for fewer requests at once: all browsers here are one user's.
func tooMany(answer *http.Response) bool {
	return answer != nil && answer.Header.Get("Retry-After") != ""
}

// Clients read in every way, over both protocols, during commits and the removal of snapshots: no
// error, and every transaction sees one commit. No kind of disturbance by clients leaves anything
// behind. make long does a little of it, and make soak all.
func TestServeUnderLoad(t *testing.T) {
	longtest.Only(t)
	s := startServing(t)
	c := s.mustConnect() // create lazily allocated resources before counting
	_, err := ways["prepared"](s, t.Context(), c)
	test.OK(t, err)
	test.OK(t, c.Close(t.Context()))
	_, _, err = s.get(t.Context(), "/")
	test.OK(t, err)
	http.DefaultClient.CloseIdleConnections()
	s.touch()
	before := s.gauges()
	t.Logf("before: %s", before)
	before.files += 4 * (1 + len(servedUsers)) // DuckDB keeps some of a snapshot's files open, and the system opens some late
	before.goroutines += 4
	s.underLoad()
	s.calm("load", before)
	if isLong() {
		s.slow()
		s.calm("slow readers", before)
		s.vanished()
		s.calm("vanished clients", before)
	}
	t.Logf("done: %v", s.done)
}

// underLoad makes clients read while commits happen.
func (s *served) underLoad() {
	stop := make(chan struct{})
	var clients sync.WaitGroup
	names := slices.Sorted(maps.Keys(ways))
	for i := range *loadConnections {
		clients.Go(func() {
			var err error
			if n := i % (len(names) + 1); n == len(names) {
				err = s.browse(stop)
			} else {
				err = s.read(stop, names[n])
			}
			if err != nil {
				s.t.Error(err)
			}
		})
	}
	began := time.Now()
	var most [2]gauges // in each half of the test
	for i := range *loadCommits {
		for wait := time.Duration(i+1) * *loadFor / time.Duration(*loadCommits); time.Since(began) < wait; {
			time.Sleep(min(5*time.Second, wait))
			g, half := s.gauges(), &most[i*2 / *loadCommits]
			half.megabytes, half.files = max(half.megabytes, g.megabytes), max(half.files, g.files)
			half.goroutines, half.connections = max(half.goroutines, g.goroutines), max(half.connections, g.connections)
		}
		if err := s.commit(); err != nil {
			s.t.Error(err)
		}
	}
	for seen := 0; seen < len(ways)+1; time.Sleep(time.Millisecond) { // wait until each has read something
		s.mu.Lock()
		seen = len(s.done)
		s.mu.Unlock()
		if s.t.Failed() {
			break
		}
	}
	close(stop)
	clients.Wait()
	s.t.Logf("the most in the first half: %s; in the second: %s", most[0], most[1])
	if most[1].megabytes > most[0].megabytes*5/4 || most[1].files > most[0].files*3/2 {
		s.t.Error("it grows")
	}
	wanted := map[totals]bool{}
	for _, w := range s.want {
		wanted[w] = true
	}
	for got, n := range s.saw {
		if !wanted[got] {
			s.t.Errorf("%d transactions saw %+v, which no commit left", n, got)
		}
	}
	for number, n := range s.rows {
		if want := s.want[number].Calls; int64(n) != want {
			s.t.Errorf("snapshot %d has %d calls over HTTP, want %d", number, n, want)
		}
	}
	left, err := filepath.Glob(filepath.Join(s.root, layout.SnapshotsName, "*"))
	if err != nil || *loadCommits > 30 && len(left) == len(s.want) { // an hour passes between commits
		s.t.Errorf("no snapshot was removed: %v", err)
	}
	s.t.Logf("transactions saw %d different commits of %d; %d of %d snapshots are left", len(s.saw), len(wanted), len(left), len(s.want))
}

// some returns the number of concurrent clients of each kind.
func some() int { return max(2, *loadConnections/40) }

const endless = "SELECT count(*) FROM range(100000000000) a, range(1000) b WHERE a.range + b.range < 0"

// raw returns a logged-in connection for raw bytes.
func (s *served) raw(options ...func(*pgx.ConnConfig)) *pgconn.HijackedConn {
	s.t.Helper()
	c, err := s.mustConnect(options...).PgConn().Hijack()
	test.OK(s.t, err)
	return c
}

// ask begins a transaction and sends a statement without awaiting the answer.
func (s *served) ask(c *pgconn.HijackedConn, sql string) {
	s.t.Helper()
	for _, text := range []string{"BEGIN; SELECT count(*) FROM calls", sql} {
		raw, err := (&pgproto3.Query{String: text}).Encode(nil)
		if err == nil {
			_, err = c.Conn.Write(raw)
		}
		if err == nil && text != sql {
			_, err = c.Frontend.Receive()
		}
		if err != nil {
			s.t.Error(err)
		}
	}
	time.Sleep(10 * time.Millisecond) // it may or may not have started
}

// attackStatements are the statements that clients abandon.
var attackStatements = []string{"SELECT 1", endless, manyRows}

const manyRows = "SELECT repeat('x', 1000) FROM range(1000000000)"

// smallWindow makes the system buffer little for a slow client.
func smallWindow(c *pgx.ConnConfig) {
	c.DialFunc = (&net.Dialer{Control: func(_, _ string, raw syscall.RawConn) (err error) {
		cerr := raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 4096) })
		return errors.Join(cerr, err)
	}}).DialContext
}

// slow reads one byte per second, over both protocols. Meanwhile others are answered.
func (s *served) slow() {
	s.put1("long", 30_000)
	test.OK(s.t, s.commit())
	began := time.Now()
	var all sync.WaitGroup
	drip := func(kind string, c net.Conn) {
		all.Go(func() {
			defer c.Close()
			for one := make([]byte, 1); ; time.Sleep(time.Second) {
				if _, err := c.Read(one); err != nil {
					break
				}
				if time.Since(began) > 15*time.Minute {
					s.t.Errorf("%s: a slow reader is served for ever", kind)
					break
				}
			}
			s.count(kind)
		})
	}
	for range some() {
		c := s.raw(smallWindow)
		s.ask(c, manyRows)
		drip("slow over Postgres", c.Conn)
	}
	config := &pgx.ConnConfig{}
	smallWindow(config)
	for range some() {
		c, err := config.DialFunc(s.t.Context(), "tcp", strings.TrimPrefix(s.http, "http://"))
		test.OK(s.t, err)
		r, _ := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.http+"/reports/call.csv?call=long", nil)
		r.SetBasicAuth("bo", servePassword)
		if err := r.Write(c); err != nil {
			s.t.Error(err)
		}
		drip("slow over HTTP", c)
	}
	time.Sleep(5 * time.Second)
	s.t.Logf("while they read: %s", s.gauges())
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	if _, body, err := s.get(ctx, "/reports/call.csv?call=call-000001"); err != nil {
		s.t.Errorf("others are not answered: %v", err)
	} else {
		s.t.Logf("another one got %d bytes", len(body))
	}
	for s.gauges().connections > 0 && time.Since(began) < 15*time.Minute {
		time.Sleep(time.Second)
	}
	s.t.Logf("the last slow reader over Postgres was left after %s", time.Since(began).Round(time.Second))
}

// put1 stores a long call: turns of a kilobyte.
func (s *served) put1(id string, turns int) {
	body := fmt.Appendf(nil, `{"id":%q,"status":"ended","start_at":%d,"end_at":%d,"transcript":[`, id, s.now.UnixMilli(), s.now.UnixMilli()+1)
	for i := range turns {
		body = fmt.Appendf(append(body, ","[:min(i, 1)]...), `{"role":"user","content":"%d %x"}`, i, crand.Text()+crand.Text()+crand.Text()+crand.Text()+crand.Text())
	}
	test.OK(s.t, s.w.Put(context.Background(), schema.Record{Kind: schema.KindDetail, CallID: id, FetchedAt: s.now.UnixMilli(), Body: append(body, "]}"...)}))
}

// vanished are dead clients: nothing sent to them is acknowledged.
func (s *served) vanished() {
	began := time.Now()
	for range some() {
		for _, sql := range attackStatements {
			c := s.raw()
			s.ask(c, sql)
			time.Sleep(time.Second) // wait until its data has arrived, or it would be sent again
			raw, err := c.Conn.(*net.TCPConn).SyscallConn()
			test.OK(s.t, err)
			if cerr := raw.Control(func(fd uintptr) {
				nothing := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K} // passes no bytes of a packet
				err = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: 1, Filter: &nothing})
			}); cerr != nil || err != nil {
				s.t.Fatal(cerr, err)
			}
			defer c.Conn.Close()
			s.count("vanished")
		}
	}
	for s.gauges().connections > 0 && time.Since(began) < 20*time.Minute {
		time.Sleep(time.Second)
	}
	s.t.Logf("the last client whose machine is gone was left after %s", time.Since(began).Round(time.Second))
}
