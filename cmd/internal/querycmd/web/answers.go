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
		ctx, cancel := context.WithTimeoutCause(r.Context(), Longest, errTooLong)
		defer cancel()
		q, err := s.ask(r)
		if err == nil {
			var release func()
			if release, err = s.acquire(ctx, q); err == nil {
				defer release()
				if err = q.resolve(s.Now()); err == nil {
					var a *answerTo
					if a, err = find(q); err == nil {
						err = s.send(w, r.WithContext(ctx), q, a)
					}
				}
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
	key := fmt.Sprintf("%d-%x", number, sum[:16])
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
		return s.stream(w, r, q, a)
	}
	body, err := s.whole(r.Context(), key, q, a)
	if err == nil {
		head(h, a)
		_, _ = w.Write(body) // the reader may be gone
	}
	return err
}

// whole returns a page. The one made in advance is made once; its readers wait for it meanwhile.
func (s *Server) whole(ctx context.Context, key string, q *request, a *answerTo) ([]byte, error) {
	if a.ahead {
		q.turn.end() // the page being made may need it
		select {
		case s.making <- struct{}{}:
			defer func() { <-s.making }()
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if s.key == key {
			s.made.WithLabelValues("kept").Inc()
			return s.body, nil
		}
	}
	var out bytes.Buffer
	err := s.work(ctx, q, a, &out)
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

// work makes an answer when it is its turn.
func (s *Server) work(ctx context.Context, q *request, a *answerTo, to io.Writer) error {
	err := q.turn.begin(ctx)
	if err == nil {
		err = a.write(ctx, to)
	}
	q.turn.end()
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
func (s *Server) stream(w http.ResponseWriter, r *http.Request, q *request, a *answerTo) error {
	to := &begun{Writer: w, progress: http.NewResponseController(w)}
	to.begin = sync.OnceFunc(func() { head(w.Header(), a); q.turn.end() }) // a slow reader keeps nobody waiting
	err := s.work(r.Context(), q, a, to)
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
	progress *http.ResponseController
	begin    func()
	sent     bool
}

// stall is the time limit for a client to accept a part of a file.
const stall = time.Minute

func (b *begun) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil // an empty write would start the answer
	}
	b.begin()
	b.sent = true
	_ = b.progress.SetWriteDeadline(time.Now().Add(stall)) // ignored where unsupported
	return b.Writer.Write(p)
}
