package serve

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/netutil"

	"callhouse/cmd/internal/cmdtest"
)

func TestMain(m *testing.M) { cmdtest.Main(m) }

// pipes is a listener on an in-memory network.
type pipes struct {
	dialed chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.dialed:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial() net.Conn {
	ours, theirs := net.Pipe()
	p.dialed <- theirs
	return ours
}

// Clients that make no progress use up the connections only for a while.
func TestClientsThatStall(t *testing.T) {
	const most = 100
	const head = "POST /any HTTP/1.1\r\nHost: localhost\r\n"
	for name, begin := range map[string]string{
		"nothing": "", "part of a header": "POST /any HT", "no end of the headers": head,
		"no body": head + "Content-Length: 1000\r\n\r\n", "part of a body": head + "Content-Length: 1000\r\n\r\n{",
		"no chunk": head + "Transfer-Encoding: chunked\r\n\r\n", "part of a chunk": head + "Transfer-Encoding: chunked\r\n\r\n5\r\n{",
	} {
		for _, drip := range []bool{false, true} { // another byte every second
			synctest.Test(t, func(t *testing.T) {
				handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					_, _ = io.WriteString(w, "ok")
				})
				p := &pipes{dialed: make(chan net.Conn), closed: make(chan struct{})}
				server := newServer(handler, slog.New(slog.DiscardHandler))
				served := make(chan error, 1)
				go func() { served <- server.Serve(netutil.LimitListener(p, most)) }()
				stop := make(chan struct{})
				for range most {
					c := p.dial()
					go func() { _, _ = io.Copy(io.Discard, c) }()
					go func() {
						defer c.Close()
						_, err := io.WriteString(c, begin)
						for err == nil {
							select {
							case <-stop:
								return
							case <-time.After(time.Second):
							}
							if drip {
								_, err = io.WriteString(c, "x")
							}
						}
					}()
				}
				synctest.Wait()
				began := time.Now()
				client := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return p.dial(), nil }, DisableKeepAlives: true},
					Timeout: 10 * time.Minute}
				res, err := client.Post("http://localhost/", "application/json", strings.NewReader("{}"))
				if err != nil || res.StatusCode != http.StatusOK {
					t.Errorf("%s, drip %v: %v", name, drip, err)
				} else {
					_, _ = io.Copy(io.Discard, res.Body)
					_ = res.Body.Close()
				}
				if took := time.Since(began); took > 20*time.Second {
					t.Errorf("%s, drip %v: another client waited %v", name, drip, took)
				}
				close(stop)
				_ = server.Close()
				if err := <-served; !errors.Is(err, http.ErrServerClosed) {
					t.Error(err)
				}
			})
		}
	}
}
