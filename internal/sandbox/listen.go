package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"
)

// Running is a server on a listener.
type Running struct {
	// URL is the base address, without a trailing slash.
	URL    string
	Server *Server

	http *http.Server
	done chan struct{}
	err  error // why it stopped; read after done
	stop func() bool
}

// Listen serves s on a TCP address; port 0 chooses a free one. It stops when ctx is done or Close
// is called.
func Listen(ctx context.Context, addr string, s *Server) (*Running, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	r := &Running{URL: "http://" + l.Addr().String(), Server: s, done: make(chan struct{})}
	r.http = &http.Server{
		Handler: s, ReadHeaderTimeout: time.Minute,
		ErrorLog: log.New(io.Discard, "", 0), // requested faults are no errors
	}
	go func() {
		defer close(r.done)
		if err := r.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			r.err = fmt.Errorf("serve: %w", err)
		}
	}()
	r.stop = context.AfterFunc(ctx, func() { _ = r.http.Close() })
	return r, nil
}

// Done is closed once the server has stopped.
func (r *Running) Done() <-chan struct{} { return r.done }

// Close closes every connection immediately and waits until the server has stopped.
func (r *Running) Close() error {
	r.stop()
	err := r.http.Close()
	<-r.done
	return errors.Join(r.err, err)
}
