package serve

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// unacknowledged ends connections whose client acknowledged nothing for a while: keepalive does not
// probe while data is in flight.
func unacknowledged(_, _ string, raw syscall.RawConn) (err error) {
	const most = 90 * time.Second
	if cerr := raw.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(most.Milliseconds()))
	}); cerr != nil {
		return cerr
	}
	return err
}
