// Package serve is the command query serve: it opens the addresses, and joins the
// protocols with the warehouse.
package serve

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/sourcegraph/conc/pool"
	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/cmd/internal/querycmd/safe"
	"callhouse/internal/analytics"
	"callhouse/internal/analytics/rights"
	"callhouse/internal/postgres"
	"callhouse/internal/proven"
	"callhouse/internal/scratch"
	"callhouse/internal/serve"
	"callhouse/internal/serve/audit"
	"callhouse/internal/serve/pgcatalog"
	"callhouse/internal/serve/users"
	"callhouse/internal/sink/snapshot"
	"callhouse/internal/words"
)

// command is the flags of one run.
type command struct {
	*answer.Command
	postgres      string // addresses; empty: not served
	http, title   string
	users         string
	cert, key     string
	memory, temp  string
	threads, most int
	timeout, idle time.Duration
	audit         string
	perUser       int
	metrics       *prometheus.Registry
}

// Command returns the command.
func Command(a *answer.Command) *cobra.Command {
	c := &command{Command: a, metrics: prometheus.NewRegistry()}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Answer BI tools over the Postgres protocol, and browsers and spreadsheets over HTTP",
		Long: `Serve the warehouse until it is told to stop. It only reads, and what a run commits
appears by itself. Without addresses both are served on the loopback.

--postgres is for programs that speak the Postgres protocol: psql, BI tools, drivers of
every language. They read the tables of query list, and nothing else; docs/postgres.md
says which programs were tried, and what differs from Postgres. Each transaction, or
statement outside of one, sees one commit.

--http is for browsers and spreadsheets: the morning page, whose numbers and bars lead
to the calls that they count, every report as a page and as a file, and what was said in
a call; docs/serve.md lists the addresses.

On the loopback, without --users, everybody is let in by any name. Any other address
needs --users and TLS: query serve user add NAME makes a user.`,
		Example: `  query serve --postgres 127.0.0.1:5433 --http 127.0.0.1:8080
  psql -h 127.0.0.1 -p 5433 -c 'SELECT status, count(*) FROM calls GROUP BY 1'
  curl 'http://127.0.0.1:8080/reports/funnel.csv?since=7d&by=agent'
  query serve --postgres :5433 --users /etc/callhouse/users.json --tls-cert cert.pem --tls-key key.pem`,
		GroupID: "more",
		Args:    cli.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.StringVar(&c.postgres, "postgres", "", "`ADDRESS` for the Postgres protocol, as "+usualPostgres)
	f.StringVar(&c.http, "http", "", "`ADDRESS` for browsers, as "+usualHTTP)
	f.StringVar(&c.title, "title", "", "`TITLE` of the page over HTTP; default: Calls, in the page's language")
	f.StringVar(&c.cert, "tls-cert", "", "`FILE` of the certificate, PEM")
	f.StringVar(&c.key, "tls-key", "", "`FILE` of its key, PEM")
	f.StringVar(&c.memory, "memory", "2GiB", "the most memory for all statements over one snapshot, as `SIZE`")
	f.StringVar(&c.temp, "temp", "10GiB", "the most space for what does not fit in memory, as `SIZE`")
	f.IntVar(&c.threads, "threads", 0, "the most processors for statements; 0: all")
	f.IntVar(&c.most, "max-connections", 100, "the most connections")
	f.IntVar(&c.perUser, "max-connections-per-user", 0, "the most connections of a user whose entry says no others; 0: no limit")
	cli.SpanVar(f, &c.timeout, "statement-timeout", 5*time.Minute, "the most `TIME` of a statement, as 30s or 5m, where the user's entry says no other")
	cli.SpanVar(f, &c.idle, "idle-in-transaction-timeout", 10*time.Minute, "the most `TIME` between two statements of a transaction, which keeps its snapshot")
	f.StringVar(&c.audit, "audit", "", "write a line for each statement and each request to `FILE`; - is stderr")
	cmd.PersistentFlags().StringVar(&c.users, "users", "", "`FILE` of the users who may log in; without it everybody on this machine may")
	c.AddOwnFlags(cmd, config.Query)
	cmd.AddCommand(c.userCommand())
	return cmd
}

// Where is served without addresses.
const usualPostgres, usualHTTP = "127.0.0.1:5433", "127.0.0.1:8080"

func (c *command) run(ctx context.Context) (err error) {
	if c.postgres == "" && c.http == "" {
		c.postgres, c.http = usualPostgres, usualHTTP
	}
	loc, err := c.Location()
	if err != nil {
		return err
	}
	who, err := c.admission()
	if err != nil {
		return err
	}
	log, err := audit.Open(c.audit, c.Stderr, func(err error) { c.note(err.Error()) })
	if err != nil {
		return cli.Usage("", "%v", err)
	}
	defer func() { err = cmp.Or(err, log.Close()) }()
	l, err := c.limits(ctx, loc)
	if err != nil {
		return err
	}
	houses, free, err := c.houses(l)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, free()) }()
	if _, giveBack, err := houses.Borrow(ctx, loc, rights.Rights{}); err != nil {
		return err
	} else { //nolint:revive // err is of this one call
		giveBack()
	}
	c.metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		gauge("snapshots_open", "Snapshots that are open: the current one, and those before it that somebody reads.", func() int { return len(houses.Snapshots()) }))
	var serving []func(context.Context) error
	for _, open := range []func(context.Context, *time.Location, admitted, *audit.Log, *serve.Houses) (func(context.Context) error, error){c.openPostgres, c.openHTTP} {
		serve, err := open(ctx, loc, who, log, houses)
		if err != nil {
			return err
		}
		if serve != nil {
			serving = append(serving, serve)
		}
	}
	all := pool.New().WithContext(ctx).WithCancelOnError().WithFirstError()
	for _, serve := range serving {
		all.Go(serve)
	}
	return all.Wait()
}

// openPostgres listens for the Postgres protocol, if that is to be served.
func (c *command) openPostgres(ctx context.Context, loc *time.Location, who admitted, log *audit.Log, houses *serve.Houses) (func(context.Context) error, error) {
	if c.postgres == "" {
		return nil, nil
	}
	server := &postgres.Server{Most: c.most, Log: c.note, TLS: who.tls, NeedTLS: !isLoopback(c.postgres),
		Limits: postgres.Limits{Connections: c.perUser, Statement: c.timeout, Idle: c.idle}}
	if who.list != nil {
		server.Users, server.Try = who.list.Defaults(server.Limits), who.brake.Try
	}
	if log != nil {
		server.Audit = func(e postgres.Entry) {
			log.Write(audit.Entry{At: e.At.UTC(), User: e.User, From: e.From, Application: e.Application, Millis: float64(e.Took.Microseconds()) / 1000, Rows: e.Rows, Code: e.Code, Text: e.Text})
		}
	}
	backend := &serve.Backend{Houses: houses, Zone: loc}
	if who.list != nil {
		backend.Rights = who.list.Rights
	}
	server.Backend = backend
	c.metrics.MustRegister(gauge("connections", "Connections over the Postgres protocol.", server.Connections))
	listener, err := c.listen(ctx, "--postgres", c.postgres)
	if err != nil {
		return nil, err
	}
	words.Fprintf(c.Stderr, "answering the Postgres protocol on %s; days of %s\n", listener.Addr(), loc)
	return func(ctx context.Context) error { return server.Serve(ctx, listener) }, nil
}

func (c *command) listen(ctx context.Context, flag, address string) (net.Listener, error) {
	// A client whose machine is gone says nothing more. Its connection ends after a minute and a half.
	l, err := (&net.ListenConfig{Control: unacknowledged, KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second, Interval: 15 * time.Second, Count: 4}}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, cli.Fail(cli.ExitFailed, fmt.Errorf("listen on %s: %w", address, err), "is another program on that port? "+flag+" takes another one")
	}
	return l, nil
}

func gauge(name, help string, count func() int) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "callhouse_serve", Name: name, Help: help}, func() float64 { return float64(count()) })
}

func (c *command) note(text string) { words.Fprintf(c.Stderr, "%s\n", text) }

// admitted is who may come in, and how.
type admitted struct {
	list  *users.List // nil: everybody who reaches the address
	brake *users.Brake
	tls   *tls.Config // nil: none
}

// admission reads who may come in.
func (c *command) admission() (who admitted, err error) {
	if (c.cert == "") != (c.key == "") {
		return who, cli.Usage("give both --tls-cert and --tls-key", "a certificate needs its key")
	}
	if c.cert != "" {
		pair, err := tls.LoadX509KeyPair(c.cert, c.key)
		if err != nil {
			return who, cli.Usage("", "read the certificate: %v", err)
		}
		who.tls = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	}
	who.brake = new(users.Brake)
	if c.users != "" {
		if who.list, err = users.Open(c.users); err != nil {
			return who, cli.Usage("make it by: query serve user add NAME --users "+c.users, "%v", err)
		}
	}
	for _, address := range []string{c.postgres, c.http} {
		if address != "" && !isLoopback(address) && (who.list == nil || who.tls == nil) {
			return who, cli.Usage("give --users, --tls-cert and --tls-key, or listen on 127.0.0.1", "%s is not on the loopback, so who connects must log in, and be encrypted", address)
		}
	}
	return who, nil
}

// isLoopback says whether only this machine reaches an address.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback() // a name may mean anything
}

// headroom and perConnection are the address space that the process may take besides the
// memory of two snapshots: Go's heap, and threads with what allocators reserve for them.
const (
	headroom      = 3 << 30
	perConnection = 16 << 20
)

// ownHeap is the memory that Go may need for what it copies of rows, and for all else.
const ownHeap = 1 << 30

// reserve takes the address space that Go needs for itself before it is limited, for Go ends
// the process where it gets no more: a heap, which it keeps once it had it, and threads.
func reserve(connections int) {
	runtime.KeepAlive(make([]byte, ownHeap)) // no page of it is touched
	debug.FreeOSMemory()
	var ready sync.WaitGroup
	all := make(chan struct{})
	for range connections + 4*runtime.GOMAXPROCS(0) {
		ready.Add(1)
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			ready.Done()
			<-all
		}()
	}
	ready.Wait()
	close(all)
}

// limits are those of the statements over one snapshot, in bytes.
type limits struct {
	of, temp int64
	root     string // of the warehouse, absolute
}

// limits reads them, looks whether there is a warehouse, and bounds the process.
func (c *command) limits(ctx context.Context, loc *time.Location) (l limits, err error) {
	memory, err := humanize.ParseBytes(c.memory)
	if err == nil && memory < 64<<20 {
		return l, cli.Usage("the least is 64MiB", "--memory %s is too little", c.memory)
	}
	temp, terr := humanize.ParseBytes(c.temp)
	if err != nil || terr != nil || memory > 1<<50 || temp > 1<<50 {
		return l, cli.Usage("write sizes as in 512MiB or 4GB", "--memory %s or --temp %s is no size", c.memory, c.temp)
	}
	if err := analytics.CheckZone(ctx, loc); err != nil {
		return l, err
	}
	snap, err := analytics.CurrentAbsolute(c.Warehouse)
	if err != nil {
		return l, err
	}
	l = limits{int64(memory), int64(temp), snap.Root()}
	space := 2*l.of + int64(headroom+c.most*perConnection)
	if c.http != "" {
		space += serve.MostViews * l.of
	}
	reserve(c.most)
	// DuckDB does not hold its limit everywhere (a list of a billion numbers); the process does.
	if err := safe.LimitSpace(space); err != nil {
		return l, fmt.Errorf("limit the memory: %w", err)
	}
	return l, nil
}

// houses opens the warehouse. free closes it, and ends the pin.
func (c *command) houses(l limits) (h *serve.Houses, free func() error, err error) {
	prover := proven.Open(c.Warehouse, time.Now)
	h = &serve.Houses{Root: l.root, Log: c.note, Open: func(ctx context.Context, loc *time.Location, r rights.Rights) (*analytics.Warehouse, error) {
		return analytics.Open(ctx, c.Warehouse, analytics.Options{Location: loc, Currency: c.Currency, Prover: prover, Threads: c.threads,
			Safe: &analytics.Limits{Memory: l.of, Temp: l.temp}, Dialect: pgcatalog.Dialect(r), Rights: r})
	}}
	// The pin holds for as long as this folder is there, which a killed process leaves to the next.
	holder, err := scratch.Make("callhouse-serve-")
	if err != nil {
		return nil, nil, fmt.Errorf("make a folder: %w", err)
	}
	h.Hold = func(snapshots []int64) error {
		err := snapshot.Hold(l.root, holder.Path, snapshots, time.Now())
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
			if len(snapshots) == 1 {
				c.note("the warehouse cannot be written to, so the snapshot is not pinned: it stays for 24 hours after the next commit")
			}
			return nil
		}
		return err
	}
	return h, func() error { return errors.Join(h.Close(), holder.Remove()) }, nil
}
