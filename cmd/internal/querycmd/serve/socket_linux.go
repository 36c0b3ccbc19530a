package serve

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// unacknowledged ends connections whose client took nothing of what was sent for a while:
// keepalive asks nothing as long as something is under way.
func unacknowledged(_, _ string, raw syscall.RawConn) (err error) {
	const most = 90 * time.Second
	if cerr := raw.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(most.Milliseconds()))
	}); cerr != nil {
		return cerr
	}
	return err
}
