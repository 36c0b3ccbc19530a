package querycmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/cmd/internal/querycmd/web"
	"callhouse/internal/analytics"
	"callhouse/internal/proven"
	"callhouse/internal/words"
)

// readyEvery is how often a server looks for a new snapshot by itself.
const readyEvery = 15 * time.Second

// serveCommand serves the warehouse until it is told to stop.
func (a *app) serveCommand() *cobra.Command {
	var address, title string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the page, the reports and the calls to browsers and spreadsheets",
		Long: `Serve the warehouse over HTTP: the morning page, whose numbers and bars lead to the
calls that they count, every report as a page and as a file for spreadsheets, and what
was said in a call. It only reads; what a run commits appears by itself.

Anybody who reaches the address may read, so it has to be a loopback address: 127.0.0.1
or localhost.`,
		Example: `  query serve --http 127.0.0.1:8080
  curl 'http://127.0.0.1:8080/reports/funnel.csv?since=7d&by=agent'`,
		GroupID: "more",
		Args:    cli.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.serve(cmd.Context(), address, title) },
	}
	f := cmd.Flags()
	f.StringVar(&address, "http", "127.0.0.1:8080", "serve browsers at `ADDRESS`")
	f.StringVar(&title, "title", "", "the page's `TITLE`; default: Calls, in the page's language")
	a.AddOwnFlags(cmd, config.Query)
	return cmd
}

func (a *app) serve(ctx context.Context, address, title string) (err error) {
	loc, err := a.Location()
	if err != nil {
		return err
	}
	host, _, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return cli.Usage("write --http 127.0.0.1:8080", "%q is no loopback address with a port", address)
	}
	house := analytics.NewCurrent(a.Warehouse, analytics.Options{Currency: a.Currency, Prover: proven.Open(a.Warehouse, time.Now)})
	defer func() { err = cmp.Or(err, house.Close()) }()
	if _, giveBack, err := house.Borrow(ctx, loc); err != nil {
		return err
	} else { //nolint:revive // err is of this one call
		giveBack()
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return cli.Fail(cli.ExitFailed, fmt.Errorf("serve HTTP: %w", err), "another program may serve there: choose another port")
	}
	pages := web.New(web.Config{House: house, Settings: a.Command, Title: title, Now: time.Now,
		Log: slog.New(slog.NewTextHandler(a.Stderr, nil)), Metrics: prometheus.NewRegistry()})
	server := &http.Server{Handler: pages, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
	words.Fprintf(a.Stderr, "serving %s at http://%s/\n", a.Warehouse, listener.Addr())
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	pages.Ready(ctx)
	stop := cli.Every(readyEvery, func() { pages.Ready(ctx) })
	defer stop()
	select {
	case err = <-served:
		return err
	case <-ctx.Done(): // it was told to stop: what is being answered is answered
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		if err = server.Shutdown(ending); errors.Is(err, context.DeadlineExceeded) {
			err = server.Close()
		}
		return err
	}
}
