package isolate

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"callhouse/internal/postgres"
)

// order is a message to a process, over a socket that preserves message boundaries.
type order struct {
	Connection *postgres.Connection `json:",omitempty"` // its connection is attached
	Cancel     uint32               `json:",omitempty"` // the client whose statement must stop
}

// event is a message from a process.
type event struct {
	Log          string          `json:",omitempty"`
	Began, Ended *postgres.Entry `json:",omitempty"`
}

// maxOrder exceeds the size of every order: a startup packet has at most 10,000 bytes.
const maxOrder = 128 << 10

// pair returns both ends of a socket, one of them as a file for another process.
func pair(kind int) (here *net.UnixConn, there *os.File, err error) {
	syscall.ForkLock.RLock() // so that no child process inherits the sockets
	fds, err := unix.Socketpair(unix.AF_UNIX, kind, 0)
	if err == nil {
		unix.CloseOnExec(fds[0])
		unix.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	there = os.NewFile(uintptr(fds[1]), "process")
	if here, err = connOf(fds[0]); err != nil {
		return nil, nil, errors.Join(err, there.Close())
	}
	return here, there, nil
}

// connOf returns a connection for a socket.
func connOf(fd int) (*net.UnixConn, error) {
	f := os.NewFile(uintptr(fd), "socket")
	defer f.Close() // FileConn duplicates the descriptor
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(errors.ErrUnsupported, c.Close())
	}
	return u, nil
}

// send sends the process an order and a socket.
func (w *worker) send(o order, with *os.File) error {
	raw, err := json.Marshal(o)
	if err != nil {
		return err
	}
	var rights []byte
	if with != nil {
		rights = unix.UnixRights(int(with.Fd()))
	}
	_ = w.orders.SetWriteDeadline(time.Now().Add(10 * time.Second)) // a stuck process does not read orders
	_, _, err = w.orders.WriteMsgUnix(raw, rights, nil)
	return err
}

// receive waits for the next order. fd is the socket of its client.
func receive(from *net.UnixConn, buf []byte) (o order, fd int, err error) {
	rights := make([]byte, unix.CmsgSpace(4))
	n, m, _, _, err := from.ReadMsgUnix(buf, rights)
	if err != nil {
		return o, 0, err
	}
	if err := json.Unmarshal(buf[:n], &o); err != nil || o.Connection == nil {
		return o, 0, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:m])
	if err != nil || len(messages) != 1 {
		return o, 0, errors.Join(errors.New("a client without a connection"), err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return o, 0, err
	}
	return o, fds[0], nil
}

// forward copies a session's output to its client. It reports whether a final message is still due:
// not after an error message, which gives the reason, and not within a message.
func forward(to net.Conn, from io.Reader) bool {
	var at place
	for buf := make([]byte, 64<<10); ; {
		n, err := from.Read(buf)
		if n > 0 {
			at.pass(buf[:n])
			_ = to.SetWriteDeadline(time.Now().Add(postgres.WriteTimeout))
			if _, err := to.Write(buf[:n]); err != nil {
				return false
			}
		}
		if err != nil {
			return at.left == 0 && at.read == 0 && at.head[0] != 'E'
		}
	}
}

// place is the position of a stream within a protocol message.
type place struct {
	head [5]byte // the kind and the length
	read int     // bytes of the head read
	left int     // bytes to the end
}

func (a *place) pass(p []byte) {
	for len(p) > 0 {
		if n := min(a.left, len(p)); n > 0 {
			a.left -= n
			p = p[n:]
			continue
		}
		n := copy(a.head[a.read:], p)
		a.read += n
		p = p[n:]
		if a.read == len(a.head) {
			a.read, a.left = 0, int(binary.BigEndian.Uint32(a.head[1:]))-4
		}
	}
}
