package querycmd

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/sourcegraph/conc/pool"
	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/internal/analytics/rights"
	"callhouse/internal/isolate"
	"callhouse/internal/postgres"
	"callhouse/internal/serve"
	"callhouse/internal/words"
)

// serving holds the flags of one run of query serve.
type serving struct {
	*answer.Command
	postgres       string // addresses; empty: not served
	http           string
	users          string
	cert, key      string
	memory         cli.Size
	maxConnections int
	timeout        time.Duration
	audit          string
	metrics        *prometheus.Registry
}

func (a *app) serveCommand() *cobra.Command {
	c := &serving{Command: &a.Command, memory: 2 << 30, metrics: prometheus.NewRegistry()}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve BI tools over the Postgres protocol, and browsers and spreadsheets over HTTP",
		Long: `Serve the warehouse until interrupted. The server only reads; new commits appear
without a restart. Without addresses, it serves both protocols on the loopback.

--postgres serves programs that speak the Postgres protocol: psql, BI tools and drivers
of all languages. They can read only the tables of query list. Each transaction, or
statement outside a transaction, reads one commit. docs/reference/postgres.md lists the
tested programs and the differences from Postgres.

--http serves browsers and spreadsheets: the morning page, whose numbers and bars link
to the calls behind them, each report as a page and as a file, and the transcript of a
call. docs/reference/page.md lists the addresses.

On the loopback, without --users, every user name is accepted without a password. Other
addresses require --users and TLS; query serve user add NAME creates a user. With
--tls-cert all connections must be encrypted, also on the loopback.`,
		Example: `  query serve --postgres 127.0.0.1:5433 --http 127.0.0.1:8080
  psql -h 127.0.0.1 -p 5433 -c 'SELECT status, count(*) FROM calls GROUP BY 1'
  curl 'http://127.0.0.1:8080/reports/funnel.csv?since=7d&by=agent'
  query serve --postgres :5433 --users /etc/callhouse/users.json --tls-cert cert.pem --tls-key key.pem`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.StringVar(&c.postgres, "postgres", "", "`ADDRESS` for the Postgres protocol, e.g. "+usualPostgres)
	f.StringVar(&c.http, "http", "", "`ADDRESS` for HTTP, e.g. "+usualHTTP)
	f.StringVar(&c.cert, "tls-cert", "", "certificate `FILE`, PEM")
	f.StringVar(&c.key, "tls-key", "", "key `FILE` of the certificate, PEM")
	f.Var(&c.memory, "memory", "limit the memory of one user's statements over one snapshot to `SIZE`")
	f.IntVar(&c.maxConnections, "max-connections", 100, "maximum number of sessions, and per address of connections that have not logged in")
	cli.SpanVar(f, &c.timeout, "statement-timeout", 5*time.Minute,
		"cancel statements after `TIME`, e.g. 30s or 5m, unless the user has another limit")
	f.StringVar(&c.audit, "audit", "", "log each statement and request to `FILE`; - is stderr")
	cmd.PersistentFlags().StringVar(&c.users, "users", "", "`FILE` with the users who may log in; without it, everybody on this machine may")
	c.AddOwnFlags(cmd, config.Query)
	cmd.AddCommand(c.userCommand())
	return cmd
}

// idle is how long a connection may be idle in a transaction, which keeps its snapshot open.
const idle = 10 * time.Minute

// minStrangers is the least limit of connections before login: browsers open six at once.
const minStrangers = 16

// The default addresses.
const usualPostgres, usualHTTP = "127.0.0.1:5433", "127.0.0.1:8080"

func (c *serving) run(ctx context.Context) (err error) {
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
	log, err := serve.OpenAudit(c.audit, c.Stderr, func(err error) { c.note(err.Error()) })
	if err != nil {
		return cli.Usage("", "%v", err)
	}
	defer func() { err = cmp.Or(err, log.Close()) }()
	j, err := c.job(ctx, loc)
	if err != nil {
		return err
	}
	snapshots, free := j.snapshots(c.note, nil)
	defer func() { err = cmp.Or(err, free()) }()
	if _, release, err := snapshots.Acquire(ctx, loc, rights.Rights{}); err != nil {
		return err
	} else { //nolint:revive // err is of this one call
		release()
	}
	workers := j.pool(who, log, c.note)
	defer workers.Close()
	c.metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	overPostgres, err := c.openPostgres(ctx, loc, who, workers)
	if err != nil {
		return err
	}
	overHTTP, err := c.openHTTP(ctx, loc, who, log, snapshots)
	if err != nil {
		return err
	}
	all := pool.New().WithContext(ctx).WithCancelOnError().WithFirstError()
	for _, serve := range []func(context.Context) error{overPostgres, overHTTP} {
		if serve != nil {
			all.Go(serve)
		}
	}
	return all.Wait()
}

// openPostgres listens for the Postgres protocol, if requested.
func (c *serving) openPostgres(ctx context.Context, loc *time.Location, who admitted,
	workers *isolate.Pool) (func(context.Context) error, error) {
	if c.postgres == "" {
		return nil, nil
	}
	server := c.server(who, workers)
	c.metrics.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "callhouse_serve", Name: "connections",
		Help: "Connections over the Postgres protocol."}, func() float64 { return float64(server.Connections()) }))
	listener, err := c.listen(ctx, "--postgres", c.postgres)
	if err != nil {
		return nil, err
	}
	words.Fprintf(c.Stderr, "serving the Postgres protocol on %s; days in %s\n", listener.Addr(), loc)
	return func(ctx context.Context) error {
		if who.list != nil {
			defer cli.Every(usersEvery, endRemovedUsers(server, who.list, c.note))()
		}
		return server.Serve(ctx, listener)
	}, nil
}

// server returns the server of the Postgres protocol. With a certificate, which other addresses than
// the loopback require, all connections must be encrypted.
func (c *serving) server(who admitted, host postgres.Host) *postgres.Server {
	s := &postgres.Server{Host: host, MaxConnections: c.maxConnections, Log: c.note, TLS: who.tls, NeedTLS: who.tls != nil,
		Limits: postgres.Limits{Statement: c.timeout, Idle: idle}, Admitted: func(conn net.Conn) { conn.(*visitor).admit() }}
	if who.list != nil {
		s.Find, s.Try = who.list.ForPostgres(s.Limits), who.limiter.Try
	}
	return s
}

// endRemovedUsers returns a function that ends the connections of removed or changed users.
func endRemovedUsers(server *postgres.Server, list *serve.Users, note func(string)) func() {
	changed := list.Watch()
	_, _ = changed()
	return func() {
		gone, err := changed()
		if err != nil {
			note("cannot check for removed users, connections stay open: " + err.Error())
		}
		for _, name := range gone {
			server.End(name)
		}
	}
}

func (c *serving) listen(ctx context.Context, flag, address string) (net.Listener, error) {
	// A dead client sends nothing. Its connection ends after a minute and a half.
	l, err := (&net.ListenConfig{KeepAliveConfig: net.KeepAliveConfig{Enable: true,
		Idle: 30 * time.Second, Interval: 15 * time.Second, Count: 4}}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, cli.Fail(cli.ExitFailed, fmt.Errorf("listen on %s: %w", address, err),
			"another program may use that port; choose one with "+flag)
	}
	return &door{Listener: l, limit: max(c.maxConnections, minStrangers)}, nil
}

func (c *serving) note(text string) { words.Fprintf(c.Stderr, "%s\n", text) }

// admitted defines who may connect, and how.
type admitted struct {
	list    *serve.Users // nil: everyone who reaches the address
	limiter *serve.LoginLimiter
	tls     *tls.Config // nil: none
}

// admission reads who may connect.
func (c *serving) admission() (who admitted, err error) {
	if (c.cert == "") != (c.key == "") {
		return who, cli.Usage("give both --tls-cert and --tls-key", "a certificate requires its key")
	}
	if c.cert != "" {
		pair, err := tls.LoadX509KeyPair(c.cert, c.key)
		if err != nil {
			return who, cli.Usage("", "read the certificate: %v", err)
		}
		who.tls = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	}
	who.limiter = new(serve.LoginLimiter)
	if c.users != "" {
		if who.list, err = serve.OpenUsers(c.users); err != nil {
			return who, c.noUsers(err)
		}
	}
	for _, given := range [...]struct{ flag, address, usual string }{
		{"--postgres", c.postgres, usualPostgres}, {"--http", c.http, usualHTTP},
	} {
		address := given.address
		if _, _, err := net.SplitHostPort(address); address != "" && err != nil {
			example := given.usual
			if _, err := strconv.ParseUint(address, 10, 16); err == nil {
				example = "127.0.0.1:" + address
			}
			return who, cli.Usage("for example "+given.flag+" "+example, "%s takes a host and a port, not %q", given.flag, address)
		}
		if address != "" && !isLoopback(address) && (who.list == nil || who.tls == nil) {
			return who, cli.Usage("give --users, --tls-cert and --tls-key, or listen on 127.0.0.1",
				"%s is not a loopback address, so it requires logins and TLS", address)
		}
	}
	return who, nil
}

// isLoopback reports whether only this machine reaches an address.
func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback() // a host name may resolve to any address
}
