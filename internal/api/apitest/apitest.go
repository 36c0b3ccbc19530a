// Package apitest lets tests serve HTTP without sockets.
package apitest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
)

// network is an in-memory network. Its connections are pipes, so it works in simulated time, where
// sockets do not.
type network struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (n *network) Accept() (net.Conn, error) {
	select {
	case c := <-n.conns:
		return c, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

func (n *network) Close() error {
	n.once.Do(func() { close(n.closed) })
	return nil
}

func (n *network) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "unix"} }

func (n *network) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case n.conns <- theirs:
		return ours, nil
	case <-n.closed:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Serve answers requests with h until stop is called or the test ends. It returns a transport for
// those requests.
func Serve(t testing.TB, h http.Handler) (tr *http.Transport, stop func()) {
	t.Helper()
	n := &network{conns: make(chan net.Conn), closed: make(chan struct{})}
	s := &http.Server{Handler: h}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(n)
	}()
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	tr = &http.Transport{DialContext: n.dial, MaxIdleConnsPerHost: 65, Protocols: protocols}
	stop = sync.OnceFunc(func() {
		tr.CloseIdleConnections()
		_ = s.Close()
		<-done
	})
	t.Cleanup(stop)
	return tr, stop
}
