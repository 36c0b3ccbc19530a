package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/conc"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/words"
)

// Longest is the time limit of an answer.
const Longest = 5 * time.Minute

// Other limits, so that no request blocks others.
const (
	mostKept  = 1 << 20  // bytes of one cached answer
	mostInAll = 64 << 20 // bytes of all cached answers
)

// answerTo is an answer to be made: its type, file name and writer.
type answerTo struct {
	kind  string
	small bool // made once for all concurrent readers
	name  string
	write func(ctx context.Context, w io.Writer) error
}

// answers returns a handler that sends the answer returned by find. find must be fast.
func (s *Server) answers(find func(q *request) (*answerTo, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q, err := s.ask(r)
		if err != nil {
			s.explain(w, r, err)
			return
		}
		var giveBack func()
		if q.house, giveBack, err = s.House.Borrow(r.Context(), q.zone, q.rights); err != nil {
			s.explain(w, r, err)
			return
		}
		defer giveBack()
		if err = q.settle(s.Now()); err == nil {
			var a *answerTo
			if a, err = find(q); err == nil {
				err = s.send(w, r, q, a)
			}
		}
		if err != nil {
			s.explain(w, r, err)
		}
	})
}

// send sends an answer, unless the reader already has it. On an error nothing was sent.
func (s *Server) send(w http.ResponseWriter, r *http.Request, q *request, a *answerTo) error {
	number := q.house.Snapshot().Manifest.Snapshot
	sum := sha256.Sum256([]byte(strings.Join([]string{q.house.Snapshot().Manifest.RunID, cli.Version(), q.path, q.values.Encode(),
		q.asOf.String(), q.rights.Key()}, "\n")))
	key := fmt.Sprintf("%d-%x", number, sum[:8])
	h := w.Header()
	h.Set("ETag", `W/"`+key+`"`)
	h.Set("X-Snapshot", fmt.Sprint(number))
	s.number.Set(float64(number))
	if strings.Contains(r.Header.Get("If-None-Match"), `"`+key+`"`) {
		s.made.WithLabelValues("unchanged").Inc()
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	m, isNew := s.find(number, key, a.small)
	switch {
	case m == nil:
		return s.stream(w, r, number, key, a)
	case isNew: // its context does not end with the first reader's, since others may be following it
		var making conc.WaitGroup
		defer making.Wait()
		making.Go(func() {
			err := errBroken
			defer func() { s.end(key, m, err) }()
			err = s.work(s.life, a, func(t *turn) (io.Writer, error) { return &paced{m, t}, nil })
		})
	default:
		s.made.WithLabelValues("kept").Inc()
	}
	begun, err := m.follow(r.Context(), w, func() { head(h, a) })
	if begun && err != nil {
		if a.kind == htmlType {
			why := s.Settings.Explain(err)
			_ = templates.ExecuteTemplate(words.Page(w), "broken",
				map[string]string{"Error": why.Error(), "Hint": cli.Hint(why)}) // the reader may be gone
			_ = http.NewResponseController(w).Flush()
		}
		s.cut(r, err)
	}
	return err
}

// cut closes the connection in the middle of an answer, so that a truncated answer is not taken for
// a complete one.
func (s *Server) cut(r *http.Request, err error) {
	s.Log.Warn("answer aborted", "path", r.URL.Path, "error", err)
	panic(http.ErrAbortHandler)
}

func head(h http.Header, a *answerTo) {
	h.Set("Content-Type", a.kind)
	if a.name != "" {
		h.Set("Content-Disposition", fmt.Sprintf("inline; filename=%q", a.name))
	}
}

// turn is the right to work on an answer. The number of concurrent holders is limited.
type turn struct {
	ctx     context.Context //nolint:containedctx // the answer's own: it has one turn
	working chan struct{}
	held    bool
}

// take waits for the turn, unless it is held.
func (t *turn) take() error {
	if t.held {
		return nil
	}
	select {
	case t.working <- struct{}{}:
		t.held = true
		return nil
	case <-t.ctx.Done():
		return context.Cause(t.ctx)
	}
}

func (t *turn) give() {
	if t.held {
		<-t.working
		t.held = false
	}
}

// work makes an answer. begin returns its destination; either of them takes the turn.
func (s *Server) work(ctx context.Context, a *answerTo, begin func(*turn) (io.Writer, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, Longest, errTooLong)
	defer cancel()
	t := &turn{ctx: ctx, working: s.working}
	defer t.give()
	to, err := begin(t)
	if err == nil {
		err = a.write(ctx, to)
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		s.made.WithLabelValues("failed").Inc()
		return err
	}
	s.made.WithLabelValues("made").Inc()
	return nil
}

// paced is a page being made. Its head needs little work and does not wait for other answers: the
// page takes its turn after sending the head.
type paced struct {
	*making
	turn *turn
}

// Flush implements page.Flusher.
func (p *paced) Flush() {
	p.making.Flush()
	_ = p.turn.take() // fails if the context has ended; the next query returns that error
}

var errTooLong = fmt.Errorf("the answer exceeded the time limit of %s", Longest)

// stream sends an answer while it is made, and caches it if it is small.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, number int64, key string, a *answerTo) error {
	to := &tee{w: w, begin: func() { head(w.Header(), a) }}
	err := s.work(r.Context(), a, func(t *turn) (io.Writer, error) {
		to.turn = t
		return to, t.take()
	})
	switch {
	case err != nil && to.begun:
		s.cut(r, err)
	case err != nil:
		return err
	case !to.begun:
		to.begin()
	case to.copy.Len() < mostKept:
		if m, isNew := s.find(number, key, true); isNew {
			_, _ = m.Write(to.copy.Bytes())
			s.end(key, m, nil)
		}
	}
	return nil
}

// tee forwards writes and keeps a copy of a small answer. While a slow reader blocks, it passes the
// turn to another answer.
type tee struct {
	w     io.Writer
	turn  *turn
	begin func()
	begun bool
	copy  bytes.Buffer
}

func (t *tee) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil // an empty write would start the answer
	}
	if !t.begun {
		t.begin()
		t.begun = true
	}
	if t.copy.Len() < mostKept {
		t.copy.Write(p)
	}
	t.turn.give()
	n, err := t.w.Write(p)
	return n, errors.Join(err, t.turn.take())
}

// find returns an answer that is cached or in progress. With begin, it starts a missing one; the
// caller that receives it as new must end it.
func (s *Server) find(number int64, key string, begin bool) (m *making, isNew bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if number > s.snapshot { // answers of the previous snapshot are obsolete
		s.snapshot, s.size = number, 0
		clear(s.kept)
	}
	m = s.kept[key]
	if m != nil || !begin {
		return m, false
	}
	m = &making{at: progress{news: make(chan struct{})}}
	if number == s.snapshot {
		s.kept[key] = m
	}
	return m, true
}

// end ends an answer, and caches it if it succeeded.
func (s *Server) end(key string, m *making, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m.tell(true, err)
	if s.kept[key] != m {
		return
	}
	if err != nil || len(m.body) > mostKept {
		delete(s.kept, key)
		return
	}
	if s.size += len(m.body); s.size > mostInAll {
		s.size = len(m.body)
		maps.DeleteFunc(s.kept, func(_ string, other *making) bool { return other.progress().over && other != m })
	}
}

// making is an answer made once for any number of readers.
type making struct {
	body []byte // written by its maker

	mu sync.Mutex
	at progress
}

// progress is the state of an answer.
type progress struct {
	body []byte        // the part that may be sent
	over bool          // complete, or failed
	err  error         // why it is incomplete
	news chan struct{} // closed at the next progress
}

// Write implements io.Writer.
func (m *making) Write(p []byte) (int, error) {
	m.body = append(m.body, p...)
	return len(p), nil
}

// Flush makes the written part available to the readers.
func (m *making) Flush() { m.tell(false, nil) }

func (m *making) tell(over bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.at.news)
	m.at = progress{m.body, over, err, make(chan struct{})}
}

func (m *making) progress() progress {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at
}

// follow sends each part of the answer as soon as it is available, until the end. begun reports
// whether anything was sent. The error is the reason why the answer is incomplete.
func (m *making) follow(ctx context.Context, w http.ResponseWriter, head func()) (begun bool, err error) {
	for sent := 0; ; {
		at := m.progress()
		if at.err != nil {
			return begun, at.err
		}
		if at.over || len(at.body) > sent {
			if !begun {
				head()
				begun = true
			}
			if _, err := w.Write(at.body[sent:]); err != nil || at.over {
				return begun, nil // the reader may be gone
			}
			_ = http.NewResponseController(w).Flush()
			sent = len(at.body)
		}
		select {
		case <-at.news:
		case <-ctx.Done():
			return begun, nil
		}
	}
}

var errBroken = errors.New("the answer was aborted")
