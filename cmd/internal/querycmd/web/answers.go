package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"callhouse/cmd/internal/cli"
)

// Longest is the time limit of an answer.
const Longest = 5 * time.Minute

// answerTo is an answer to be made: a page, which is sent when it is whole, or a file, which is sent
// while it is made.
type answerTo struct {
	kind  string
	name  string // of a file; empty: a page
	ahead bool   // the page that Ready makes in advance
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
		var release func()
		if q.warehouse, release, err = s.Snapshots.Acquire(r.Context(), q.zone, q.rights); err != nil {
			s.explain(w, r, err)
			return
		}
		defer release()
		if err = q.resolve(s.Now()); err == nil {
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
	number := q.warehouse.Snapshot().Manifest.Snapshot
	sum := sha256.Sum256([]byte(strings.Join([]string{q.warehouse.Snapshot().Manifest.RunID, cli.Version(), q.path, q.values.Encode(),
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
	if a.name != "" {
		return s.stream(w, r, a)
	}
	body, err := s.whole(r.Context(), key, a)
	if err == nil {
		head(h, a)
		_, _ = w.Write(body) // the reader may be gone
	}
	return err
}

// whole returns a page. The one made in advance is made once; its readers wait for it meanwhile.
func (s *Server) whole(ctx context.Context, key string, a *answerTo) ([]byte, error) {
	if a.ahead {
		s.making.Lock()
		defer s.making.Unlock()
		if s.key == key {
			s.made.WithLabelValues("kept").Inc()
			return s.body, nil
		}
	}
	var out bytes.Buffer
	err := s.work(ctx, a, func(func()) io.Writer { return &out })
	if err == nil && a.ahead {
		s.key, s.body = key, out.Bytes()
	}
	return out.Bytes(), err
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

// work makes an answer when it is its turn; the number of answers in progress is limited. to returns
// its destination, which may give the turn to another answer.
func (s *Server) work(ctx context.Context, a *answerTo, to func(free func()) io.Writer) error {
	ctx, cancel := context.WithTimeoutCause(ctx, Longest, errTooLong)
	defer cancel()
	var err error
	select {
	case s.working <- struct{}{}:
		free := sync.OnceFunc(func() { <-s.working })
		defer free()
		err = a.write(ctx, to(free))
	case <-ctx.Done():
		err = ctx.Err()
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

var errTooLong = fmt.Errorf("the answer exceeded the time limit of %s", Longest)

// stream sends a file while it is made.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, a *answerTo) error {
	to := &begun{Writer: w}
	err := s.work(r.Context(), a, func(free func()) io.Writer {
		to.begin = sync.OnceFunc(func() { head(w.Header(), a); free() }) // a slow reader keeps nobody waiting
		return to
	})
	if err != nil && to.sent {
		s.cut(r, err)
	}
	if err == nil {
		to.begin()
	}
	return err
}

// begun calls begin before the first byte.
type begun struct {
	io.Writer
	begin func()
	sent  bool
}

func (b *begun) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil // an empty write would start the answer
	}
	b.begin()
	b.sent = true
	return b.Writer.Write(p)
}
