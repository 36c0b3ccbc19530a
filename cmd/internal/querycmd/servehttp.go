package querycmd

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/analytics/rights"
	"callhouse/internal/serve"
	"callhouse/internal/words"
)

const (
	readyEvery = 15 * time.Second // interval of checks for a new snapshot
	usersEvery = 5 * time.Second  // interval of checks of the users file
	ending     = 10 * time.Second // time limit for in-flight requests at shutdown
)

// newHTTPServer returns a server whose connections are all closed if their clients make no progress.
func newHTTPServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 15 * time.Second,
		WriteTimeout: longestAnswer + time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10, ConnContext: visit,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
}

// openHTTP listens for browsers, if requested.
func (c *serving) openHTTP(ctx context.Context, loc *time.Location, who admitted, log *serve.AuditLog,
	snapshots *serve.Snapshots) (func(context.Context) error, error) {
	if c.http == "" {
		return nil, nil
	}
	pages := &liveServer{Snapshots: snapshots, Settings: *c.Command, Now: time.Now,
		Log: slog.New(slog.NewTextHandler(c.Stderr, nil)), Metrics: c.metrics, Audit: log}
	if who.list != nil {
		pages.Login = func(ctx context.Context, user, password, address string) (rights.Rights, bool, error) {
			done, err := who.limiter.Try(ctx, user, address)
			if err != nil {
				return rights.Rights{}, false, err
			}
			u, ok := who.list.Check(user, password)
			done(!ok)
			return u.Rights, ok, nil
		}
	}
	listener, err := c.listen(ctx, "--http", c.http)
	if err != nil {
		return nil, err
	}
	server := newHTTPServer(newLive(pages), pages.Log)
	scheme, run := "http", server.Serve
	if who.tls != nil {
		server.TLSConfig = who.tls.Clone()
		scheme, run = "https", func(l net.Listener) error { return server.ServeTLS(l, "", "") }
	}
	words.Fprintf(c.Stderr, "serving HTTP on %s://%s/; days in %s\n", scheme, listener.Addr(), loc)
	return func(ctx context.Context) error {
		ready, stop := context.WithCancel(ctx)
		defer stop()
		go func() {
			pages.Ready(ready)
			defer cli.Every(readyEvery, func() { pages.Ready(ready) })()
			<-ready.Done()
		}()
		served := make(chan error, 1)
		go func() { served <- run(listener) }()
		select {
		case err := <-served:
			return err
		case <-ctx.Done():
		}
		stop()
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), ending)
		defer cancel()
		err := server.Shutdown(last)
		if errors.Is(err, context.DeadlineExceeded) {
			err = server.Close()
		}
		return err
	}, nil
}
