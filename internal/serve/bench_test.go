package serve_test

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"callhouse/internal/test"
)

var (
	benchQuery = flag.String("query", "", "the program query; make bench-postgres sets it")
	benchHouse = flag.String("warehouse", "", "the warehouse to measure; make bench-postgres sets it")
	benchOnly  = flag.String("tables", "", "the tables that Postgres gets the rows of, as in calls,runs; empty: all")
	benchRuns  = flag.Int("runs", 21, "how often each question is asked")
)

// asks are typical statements of BI tools. ID is the id of a call near the one before, FAR of a
// distant one.
var asks = []struct {
	title, text string
	scans       bool // reads all rows, which is slow
}{
	{"a connection and its first statement", "SELECT 1", false},
	{"`SELECT 1`", "SELECT 1", false},
	{"a call by its id", "SELECT * FROM calls WHERE call_id = 'ID'", false},
	{"five columns of a call", "SELECT call_id, status, start_at, duration_ms, total_cost FROM calls WHERE call_id = 'ID'", false},
	{"a call's turns", "SELECT * FROM transcript_turns WHERE call_id = 'ID' ORDER BY turn", false},
	{"the newest 100 calls", "SELECT * FROM calls ORDER BY start_at DESC LIMIT 100", false},
	{"the newest 100, five columns", "SELECT call_id, status, start_at, duration_ms, total_cost FROM calls " +
		"ORDER BY start_at DESC NULLS LAST LIMIT 100", false},
	{"`SELECT * FROM calls LIMIT 100`", "SELECT * FROM calls LIMIT 100", false},
	{"`SELECT * FROM calls LIMIT 1000`", "SELECT * FROM calls LIMIT 1000", false},
	{"first row of all calls", "SELECT * FROM calls", true},
	{"calls by status", "SELECT status, count(*) FROM calls GROUP BY 1 ORDER BY 2 DESC", false},
	{"calls and cost by week and outcome", "SELECT date_trunc('week', start_at) AS week, outcome, count(*), sum(total_cost) " +
		"FROM calls GROUP BY 1, 2 ORDER BY 1, 2", false},
	{"a call far from the one before", "SELECT * FROM calls WHERE call_id = 'FAR'", false},
}

var placeRE = regexp.MustCompile(`'(ID|FAR)'`)

// TestBesidePostgres measures query serve and a Postgres with the same rows, keys and comments
// alternately: with a new text, with the same text again, and prepared.
func TestBesidePostgres(t *testing.T) {
	if *benchQuery == "" || *pgPrograms == "" {
		t.Skip("make bench-postgres runs it")
	}
	here := "postgres://callhouse@" + serving(t) + "/callhouse"
	there := realPostgres(t)
	dial := func(dsn string) *pgx.Conn {
		for range 100 {
			if c, err := pgx.Connect(t.Context(), dsn); err == nil {
				t.Cleanup(func() { _ = c.Close(context.Background()) })
				return c
			}
			time.Sleep(100 * time.Millisecond)
		}
		t.Fatal("no answer from " + dsn)
		return nil
	}
	ours := dial(here)
	only := strings.FieldsFunc(*benchOnly, func(r rune) bool { return r == ',' })
	load(t, ours, there, only...)
	theirs := dial(there)
	if _, err := theirs.Exec(t.Context(), "VACUUM ANALYZE"); err != nil {
		t.Fatal(err)
	}
	texts(t, theirs, "CREATE INDEX ON calls (start_at DESC NULLS LAST)")
	n := texts(t, ours, "SELECT (count(*) / 100)::bigint FROM calls")[0]
	ids := texts(t, ours, "SELECT call_id FROM calls ORDER BY start_at LIMIT 50 OFFSET 30 * "+n)
	far := texts(t, ours, "SELECT call_id FROM (SELECT call_id, row_number() OVER (ORDER BY start_at) AS n FROM calls) AS t WHERE n % (2 * "+n+") = 1 ORDER BY md5(call_id)")
	fmt.Printf("%s00 calls; the medians of %d runs, in milliseconds, and their ratio\n\n", n, *benchRuns)
	fmt.Println("| | anew: Postgres | here | ratio | again: Postgres | here | ratio | prepared: Postgres | here | ratio |\n" +
		"| --- |" + strings.Repeat(" --- |", 9))
	for _, ask := range asks {
		if len(only) > 0 && !slices.ContainsFunc(only, func(table string) bool { return strings.Contains(ask.text+" ", " "+table+" ") }) {
			continue
		}
		line := "| " + ask.title
		for _, way := range []string{"anew", "again", "prepared"} {
			var took [2][]time.Duration
			runs := *benchRuns
			if ask.scans {
				runs = 5
			}
			for run := range runs {
				of := ids
				if strings.Contains(ask.text, "FAR") {
					of = far
				}
				id := of[0]
				if way != "again" {
					id = of[run%len(of)]
				}
				for at, c := range []*pgx.Conn{theirs, ours} {
					if strings.HasPrefix(ask.title, "a connection") {
						took[at] = append(took[at], connecting(t, []string{there, here}[at], ask.text))
						continue
					}
					took[at] = append(took[at], first(t, c.PgConn(), way, ask.text, id, run))
				}
			}
			for at := range took {
				slices.Sort(took[at])
			}
			pg, us := took[0][len(took[0])/2], took[1][len(took[1])/2]
			line += fmt.Sprintf(" | %.2f | %.2f | %.1f", ms(pg), ms(us), float64(us)/float64(pg))
		}
		for _, c := range []*pgx.Conn{theirs, ours} {
			test.OK(t, c.DeallocateAll(t.Context()))
		}
		fmt.Println(line + " |")
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// connecting returns the time of a connection and its first answer.
func connecting(t *testing.T, dsn, text string) time.Duration {
	t.Helper()
	began := time.Now()
	c, err := pgx.Connect(t.Context(), dsn)
	test.OK(t, err)
	first(t, c.PgConn(), "again", text, "", 0)
	took := time.Since(began)
	_ = c.Close(context.Background())
	return took
}

// first returns the time of a statement or, if it has more than 2,000 rows, up to the first row;
// the rest is read but not counted. In the way "first", no two statements have the same text; in
// "prepared", the id is a parameter.
func first(t *testing.T, c *pgconn.PgConn, way, text, id string, run int) (took time.Duration) {
	t.Helper()
	switch way {
	case "anew":
		text += fmt.Sprintf(" -- %d", run)
		fallthrough
	case "again":
		text = placeRE.ReplaceAllString(text, "'"+id+"'")
	default:
		if run == 0 {
			if _, err := c.Prepare(t.Context(), "s", placeRE.ReplaceAllString(text, "$$1"), nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	began := time.Now()
	n := 0
	read := func(r *pgconn.ResultReader) {
		for r.NextRow() {
			if n++; n == 1 {
				took = time.Since(began)
			}
		}
	}
	var err error
	if way != "prepared" {
		all := c.Exec(t.Context(), text)
		for all.NextResult() {
			read(all.ResultReader())
		}
		err = all.Close()
	} else {
		var values [][]byte
		if placeRE.MatchString(text) {
			values = [][]byte{[]byte(id)}
		}
		r := c.ExecPrepared(t.Context(), "s", values, nil, nil)
		read(r)
		_, err = r.Close()
	}
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if n <= 2000 {
		took = time.Since(began)
	}
	return took
}

// serving starts query serve over the warehouse, and returns its address.
func serving(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	test.OK(t, err)
	address := l.Addr().String()
	_ = l.Close()
	cmd := exec.CommandContext(t.Context(), *benchQuery, "serve", "--postgres", address, "--warehouse", *benchHouse)
	cmd.Stderr = os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	test.OK(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	return address
}
