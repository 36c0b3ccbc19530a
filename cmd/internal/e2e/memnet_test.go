package e2e

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
)

// memNet is a network in memory, whose connections are pipes: it works in a
// bubble of simulated time, where sockets do not.
type memNet struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (n *memNet) Accept() (net.Conn, error) {
	select {
	case c := <-n.conns:
		return c, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

func (n *memNet) Close() error {
	n.once.Do(func() { close(n.closed) })
	return nil
}

func (n *memNet) Addr() net.Addr { return memAddr{} }

type memAddr struct{}

func (memAddr) Network() string { return "mem" }
func (memAddr) String() string  { return "mem" }

func (n *memNet) dial(ctx context.Context, _, _ string) (net.Conn, error) {
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

// serve runs a handler until stop is called, and returns a transport to it.
func serve(t *testing.T, h http.Handler) (rt http.RoundTripper, stop func()) {
	t.Helper()
	n := &memNet{conns: make(chan net.Conn), closed: make(chan struct{})}
	s := &http.Server{Handler: h}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(n)
	}()
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	tr := &http.Transport{DialContext: n.dial, MaxIdleConnsPerHost: 65, Protocols: protocols}
	return tr, func() {
		tr.CloseIdleConnections()
		_ = s.Close()
		<-done
	}
}
