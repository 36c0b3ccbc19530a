package sandbox

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"callhouse/internal/sandbox/dice"
)

const webPage = "<!DOCTYPE html>\n<html><head><title>%</title></head>\n<body><center><h1>%</h1></center><hr><center>edge proxy</center></body></html>\n"

// disturb gives a request the answer of its fault, and returns false if it
// should get the right one (or a right one to be distorted).
func (s *Server) disturb(w http.ResponseWriter, e *exchange, fault FaultKind) bool {
	r, x := e.r, e.x
	if fault == "" || fault.ofPages() {
		return false
	}
	if status, err := strconv.Atoi(string(fault)); err == nil {
		a := failure(x, status, "injected fault", "")
		if status == http.StatusTooManyRequests {
			a.header = [2]string{"Retry-After", strconv.Itoa(1 + int(e.number%3))}
		}
		s.send(w, r, a, fault)
		return true
	}
	switch fault {
	case Fault429Bare, Fault429Date, Fault429Malformed:
		a := failure(x, http.StatusTooManyRequests, "injected fault", "")
		if fault == Fault429Date {
			a.header = [2]string{"Retry-After", s.opts.DateNow().Add(2 * time.Second).UTC().Format(http.TimeFormat)}
		} else if fault == Fault429Malformed {
			a.header = [2]string{"Retry-After", "soon"}
		}
		s.send(w, r, a, fault)
	case Fault503HTML:
		s.send(w, r, webAnswer(503, "503 Service Temporarily Unavailable"), fault)
	case FaultNonJSON:
		s.send(w, r, webAnswer(200, "Please sign in"), fault)
	case FaultTruncated:
		a := s.answer(e, "")
		a.body, a.view, a.object = a.body[:len(a.body)/2], nil, ""
		s.send(w, r, a, fault)
	case FaultCut:
		s.cut(w, s.answer(e, ""))
	case FaultReset:
		s.ledger.answered(0, 0, fault)
		reset(w)
	case FaultHuge:
		s.huge(w)
	case FaultHang:
		s.hang(r)
	case FaultSlow:
		if sleep(r, s.opts.SlowFor) {
			s.send(w, r, s.answer(e, ""), fault)
		} else {
			s.ledger.answered(0, 0, fault)
		}
	}
	return true
}

func webAnswer(status int, title string) answer {
	body := []byte(strings.ReplaceAll(webPage, "%", title))
	return answer{status: status, kind: "text/html; charset=utf-8", body: body}
}

// hang answers nothing until the client gives up.
func (s *Server) hang(r *http.Request) {
	s.ledger.answered(0, 0, FaultHang)
	<-r.Context().Done()
}

// cut sends the first half of an answer and ends the connection.
func (s *Server) cut(w http.ResponseWriter, a answer) {
	s.ledger.answered(0, int64(len(a.body)/2), FaultCut)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	w.WriteHeader(a.status)
	if _, err := w.Write(a.body[:len(a.body)/2]); err == nil {
		_ = http.NewResponseController(w).Flush() // what matters is that it ends
	}
	panic(http.ErrAbortHandler)
}

// reset ends the connection without a word, with a TCP reset where there is TCP.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // without it the end is merely an orderly one
	}
	_ = conn.Close()
}

// huge sends a JSON document that is longer than any real answer.
func (s *Server) huge(w http.ResponseWriter) {
	const block, blocks = 1 << 20, 65
	s.ledger.answered(http.StatusOK, block*blocks, FaultHuge)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	spaces := bytes.Repeat([]byte{' '}, block)
	for range blocks {
		if _, err := w.Write(spaces); err != nil {
			return
		}
	}
	_, _ = io.WriteString(w, "{}")
}

// distort makes a right page go wrong. Following its next_cursor with care still
// leads to every item. cursor is the one that the page was asked for with, offset
// whether cursors count items; before returns the item before the first one,
// where it can be repeated.
func (p *page[T]) distort(fault FaultKind, h uint64, cursor string, offset bool, before func() (T, bool)) {
	n := len(p.items)
	switch fault {
	case FaultDuplicate:
		if n == 0 {
			return
		}
		if it, ok := before(); ok && h%2 == 0 {
			p.items = slices.Insert(p.items, 0, it)
			return
		}
		p.items = append(p.items, p.items[dice.Pick(dice.Mix(h), n)])
	case FaultShort, FaultEmpty:
		keep := 0
		if fault == FaultShort && n > 1 {
			keep = 1 + dice.Pick(h, n-1)
		}
		if !offset {
			p.shorten(keep)
		}
	case FaultLoop:
		if cursor != "" {
			p.next = cursor
		}
	case FaultTotal:
		p.total = max(0, p.total+int64(dice.Pick(h, 2001))-1000)
	case FaultDisorder:
		for i := range p.items {
			j := i + dice.Pick(dice.Hash(h, uint64(i)), n-i)
			p.items[i], p.items[j] = p.items[j], p.items[i]
		}
	}
}

// shorten leaves the first keep items of a page; the rest come with the next
// cursor.
func (p *page[T]) shorten(keep int) {
	if len(p.items) == 0 || keep >= len(p.items) {
		return
	}
	position := p.start
	if keep > 0 {
		position = p.at(&p.items[keep-1])
	}
	p.items = slices.Clip(p.items[:keep])
	p.next = p.seal(position)
}
