package querycmd

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener on an in-memory network.
type pipes struct {
	dialed chan net.Conn
	once   sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	c, ok := <-p.dialed
	if !ok {
		return nil, net.ErrClosed
	}
	if c == nil {
		return nil, syscall.EMFILE
	}
	return c, nil
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.dialed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// pipe is a connection from an address.
type pipe struct {
	net.Conn
	from string
}

func (p pipe) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(p.from), 1))
}

// dial connects from an address.
func (p *pipes) dial(from string) net.Conn {
	ours, theirs := net.Pipe()
	p.dialed <- pipe{theirs, from}
	return ours
}

// get requests a path on a connection.
func get(c net.Conn, path string) string {
	_, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if err != nil {
		return err.Error()
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return err.Error()
	}
	body, err := io.ReadAll(res.Body)
	return fmt.Sprint(string(body), err)
}

// Clients that make no progress keep nobody out, whatever they have sent and from where.
func TestClientsThatStall(t *testing.T) {
	const limit, others = 20, 70
	const head = "POST /any HTTP/1.1\r\nHost: localhost\r\n"
	for name, begin := range map[string]string{
		"nothing": "", "part of a header": "POST /any HT", "no end of the headers": head, "TLS": "\x16\x03\x01",
		"no body": head + "Content-Length: 1000\r\n\r\n", "part of a body": head + "Content-Length: 1000\r\n\r\n{",
		"no chunk": head + "Transfer-Encoding: chunked\r\n\r\n", "idle": "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
	} {
		for _, from := range []func(i int) string{func(int) string { return "192.0.2.1" }, func(i int) string { return fmt.Sprintf("2001:db8:0:%x::%x", i%4, i) }} {
			synctest.Test(t, func(t *testing.T) {
				goOn := make(chan bool)
				handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					defer admit(r.Context())()
					if r.URL.Path == "/long" {
						<-goOn
					}
					_, _ = io.WriteString(w, "ok")
				})
				p := &pipes{dialed: make(chan net.Conn)}
				d := &door{Listener: p, limit: limit}
				server := newHTTPServer(handler, slog.New(slog.DiscardHandler))
				served := make(chan error, 1)
				go func() { served <- server.Serve(d) }()
				long, idle := make(chan string), p.dial("192.0.2.1")
				go func() { long <- get(p.dial("192.0.2.1"), "/long") }()
				synctest.Wait()
				_ = get(idle, "/")
				for i := range others {
					c := p.dial(from(i))
					go func() { _, _ = io.Copy(io.Discard, c) }()
					go func() { _, _ = io.WriteString(c, begin) }()
				}
				synctest.Wait()
				began := time.Now()
				for _, address := range []string{"192.0.2.1", "192.0.2.2", "2001:db8::ffff"} {
					if got := get(p.dial(address), "/"); got != "ok<nil>" {
						t.Errorf("%s: %s gets %q", name, address, got)
					}
				}
				open := func() (all, strangers int) {
					d.mu.Lock()
					defer d.mu.Unlock()
					return d.open, len(d.strangers)
				}
				if all, strangers := open(); all > 2*limit || strangers >= all || from(0) == from(1) && all > limit+5 {
					t.Errorf("%s: %d are open, %d of them strangers'", name, all, strangers)
				}
				p.dialed <- nil // too many open files
				if got := get(p.dial("192.0.2.3"), "/"); got != "ok<nil>" {
					t.Errorf("%s: without descriptors: %q", name, got)
				}
				goOn <- true
				if got := <-long; got != "ok<nil>" {
					t.Errorf("%s: a long answer is %q", name, got)
				}
				if took := time.Since(began); took > time.Second {
					t.Errorf("%s: others waited %v", name, took)
				}
				time.Sleep(3 * time.Minute)
				if all, strangers := open(); all > 0 || strangers > 0 {
					t.Errorf("%s: %d are still open, %d of them strangers'", name, all, strangers)
				}
				_ = server.Close()
				if err := <-served; !errors.Is(err, http.ErrServerClosed) {
					t.Error(err)
				}
			})
		}
	}
}
