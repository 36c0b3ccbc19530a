package sandbox

import (
	"bytes"
	"cmp"
	"io"
	"net"
	"net/http"
	"strconv"
)

// send sends an answer and records it in the statistics.
func (s *Server) send(w http.ResponseWriter, r *http.Request, a answer, fault FaultKind) {
	h := w.Header()
	whole := a.body
	// Counted before it is sent, so that a client with the answer finds it in the stats.
	switch a.end {
	case FaultHang, FaultReset, FaultSlow:
		s.ledger.answered(0, 0, a.end)
		if a.end == FaultHang {
			<-r.Context().Done() // until the client gives up
		} else if a.end == FaultReset {
			reset(w)
		}
		return
	case FaultHuge:
		s.ledger.answered(http.StatusOK, hugeBlock*hugeBlocks, a.end)
		h.Set("Content-Type", "application/json")
		huge(w)
		return
	case FaultCut:
		a.header, a.body = [2]string{}, a.body[:len(a.body)/2]
		s.ledger.answered(0, int64(len(a.body)), a.end)
	default:
		s.ledger.answered(a.status, int64(len(a.body)), fault)
		s.ledger.sent(&a)
	}
	if a.status != http.StatusNoContent {
		h.Set("Content-Type", cmp.Or(a.kind, "application/json"))
		h.Set("Content-Length", strconv.Itoa(len(whole)))
	}
	if a.header[0] != "" {
		h.Set(a.header[0], a.header[1])
	}
	w.WriteHeader(a.status)
	var err error
	if len(a.body) > 0 {
		_, err = w.Write(a.body)
	}
	if a.end != FaultCut {
		return // an error cannot be reported: the client may have disconnected
	}
	if err == nil {
		_ = http.NewResponseController(w).Flush() // only ending the connection matters
	}
	panic(http.ErrAbortHandler)
}

// reset closes the connection without an answer: with a TCP reset if it is a TCP connection.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // otherwise Close ends it normally
	}
	_ = conn.Close()
}

// A huge answer is a JSON document larger than any real one.
const hugeBlock, hugeBlocks = 1 << 20, 65

func huge(w http.ResponseWriter) {
	w.WriteHeader(http.StatusOK)
	spaces := bytes.Repeat([]byte{' '}, hugeBlock)
	for range hugeBlocks {
		if _, err := w.Write(spaces); err != nil {
			return
		}
	}
	_, _ = io.WriteString(w, "{}")
}
