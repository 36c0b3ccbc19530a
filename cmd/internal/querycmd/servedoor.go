package querycmd

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"sync"
	"syscall"

	"callhouse/internal/serve"
)

// door is a listener that limits the connections of strangers: those before a login, and those of HTTP
// between requests. A newcomer beyond the limit replaces the oldest, so that silent clients keep nobody out.
type door struct {
	net.Listener
	limit int // of strangers per address; all connections together may be twice as many

	mu        sync.Mutex
	strangers []*visitor // oldest first
	open      int
}

// visitor is a connection through a door.
type visitor struct {
	net.Conn
	door     *door
	network  string
	admitted int  // sessions or requests in progress
	closed   bool // and no longer counted
}

// Accept implements net.Listener.
func (d *door) Accept() (net.Conn, error) {
	c, err := d.Listener.Accept()
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
			d.closeOldest("")
		}
		return nil, err
	}
	v := &visitor{Conn: c, door: d, network: serve.Network(c.RemoteAddr().String())}
	d.open++
	d.add(v)
	return v, nil
}

// add adds a stranger, and closes one that is too many.
func (d *door) add(v *visitor) {
	d.strangers = append(d.strangers, v)
	n := 0
	for _, other := range d.strangers {
		if other.network == v.network {
			n++
		}
	}
	if n > d.limit {
		d.closeOldest(v.network)
	} else if d.open > 2*d.limit {
		d.closeOldest("")
	}
}

// closeOldest closes the oldest stranger of an address; "": of the one with the most.
func (d *door) closeOldest(network string) {
	if network == "" {
		n := map[string]int{}
		for _, v := range d.strangers {
			if n[v.network]++; n[v.network] > n[network] {
				network = v.network
			}
		}
	}
	for _, v := range d.strangers {
		if v.network == network {
			v.end()
			_ = v.Conn.Close()
			return
		}
	}
}

// remove removes a stranger from the list.
func (d *door) remove(v *visitor) {
	if i := slices.Index(d.strangers, v); i >= 0 {
		d.strangers = slices.Delete(d.strangers, i, i+1)
	}
}

// end stops counting a connection.
func (v *visitor) end() {
	if !v.closed {
		v.closed = true
		v.door.open--
		v.door.remove(v)
	}
}

// Close implements net.Conn.
func (v *visitor) Close() error {
	v.door.mu.Lock()
	v.end()
	v.door.mu.Unlock()
	return v.Conn.Close()
}

// admit reports that a connection has logged in, or that its request may be answered. leave ends that.
func (v *visitor) admit() (leave func()) {
	v.door.mu.Lock()
	defer v.door.mu.Unlock()
	v.admitted++
	v.door.remove(v)
	return func() {
		v.door.mu.Lock()
		defer v.door.mu.Unlock()
		if v.admitted--; v.admitted == 0 && !v.closed {
			v.door.add(v)
		}
	}
}

// visitorKey is the context key of a request's connection.
type visitorKey struct{}

// visit notes the connection of a request in its context.
func visit(ctx context.Context, c net.Conn) context.Context {
	if secure, ok := c.(*tls.Conn); ok {
		c = secure.NetConn()
	}
	return context.WithValue(ctx, visitorKey{}, c)
}

// admit admits the request of a context, if it came through a door.
func admit(ctx context.Context) (leave func()) {
	if v, ok := ctx.Value(visitorKey{}).(*visitor); ok {
		return v.admit()
	}
	return func() {}
}
