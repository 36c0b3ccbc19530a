package querycmd

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/analytics/rights"
	"callhouse/internal/serve"
)

// longestAnswer is the time limit of an answer.
const longestAnswer = 5 * time.Minute

// answerTo is an answer to be made: a page, which is sent when it is whole, or a file, which is sent
// while it is made.
type answerTo struct {
	kind  string
	name  string // of a file; empty: a page
	ahead bool   // the page that Ready makes in advance
	write func(ctx context.Context, w io.Writer) error
}

// answers returns a handler that sends the answer returned by find. find must be fast.
func (s *liveServer) answers(find func(q *request) (*answerTo, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeoutCause(r.Context(), longestAnswer, errTooLong)
		defer cancel()
		err := s.answer(w, r.WithContext(ctx), find)
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			s.explain(w, r, err)
		}
	})
}

// answer answers a request. On an error nothing was sent.
func (s *liveServer) answer(w http.ResponseWriter, r *http.Request, find func(q *request) (*answerTo, error)) error {
	q, err := s.ask(r)
	if err != nil {
		return err
	}
	release, err := s.open(r.Context(), q)
	if err != nil {
		return err
	}
	defer release()
	if err := q.resolve(s.Now()); err != nil {
		return err
	}
	a, err := find(q)
	if err != nil {
		return err
	}
	return s.send(w, r, q, a)
}

// reader is who sends a request.
type reader struct {
	name   string
	rights rights.Rights
}

// readerKey is the context key of the reader.
type readerKey struct{}

// readerOf returns the reader of a request; without a login, the zero value.
func readerOf(r *http.Request) reader {
	of, _ := r.Context().Value(readerKey{}).(reader)
	return of
}

// load is what a reader has in progress.
type load struct {
	requests map[string]int // numbers of requests, by zone
	turns    chan struct{}  // limits the answers made at once
}

// maxRequests is the maximum number of a reader's requests in progress.
const maxRequests = 32

// errBusy refuses a request that would keep too much open.
var errBusy = cli.Fail(cli.ExitFailed, errors.New("too many requests of this reader are in progress"), "send fewer at once")

// enter begins a request. A slow client holds its snapshot for long, so that a reader may have only some in progress, in a
// few zones. With users, one turn is left to others.
func (s *liveServer) enter(q *request) (leave func(), ok bool) {
	name, zone := q.reader.name, q.zone.String()
	s.mu.Lock()
	defer s.mu.Unlock()
	of, n := s.loads[name], 0
	if of == nil {
		turns := cap(s.working)
		if s.Login != nil {
			turns--
		}
		of = &load{map[string]int{}, make(chan struct{}, turns)}
	}
	for _, requests := range of.requests {
		n += requests
	}
	if n >= maxRequests || of.requests[zone] == 0 && len(of.requests) >= serve.MaxViews {
		return nil, false
	}
	s.loads[name], q.load = of, of
	of.requests[zone]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if of.requests[zone]--; of.requests[zone] == 0 {
			delete(of.requests, zone)
		}
		if len(of.requests) == 0 {
			delete(s.loads, name)
		}
	}, true
}

// open acquires the snapshot of a request.
func (s *liveServer) open(ctx context.Context, q *request) (release func(), err error) {
	leave, ok := s.enter(q)
	if !ok {
		return nil, errBusy
	}
	at, free, err := s.Snapshots.Acquire(ctx, q.zone, q.reader.rights)
	if err != nil {
		leave()
		return nil, err
	}
	q.warehouse = at.Warehouse
	return func() { free(); leave() }, nil
}

// send sends an answer, unless the reader already has it. On an error nothing was sent.
func (s *liveServer) send(w http.ResponseWriter, r *http.Request, q *request, a *answerTo) error {
	number := q.warehouse.Snapshot().Manifest.Snapshot
	sum := sha256.Sum256([]byte(strings.Join([]string{q.warehouse.Snapshot().Manifest.RunID, cli.Version(), q.path, q.values.Encode(),
		q.asOf.String(), q.reader.rights.Key()}, "\n")))
	key := fmt.Sprintf("%d-%x", number, sum[:16])
	h := w.Header()
	h.Set("ETag", `W/"`+key+`"`)
	h.Set("X-Snapshot", fmt.Sprint(number))
	s.number.Set(float64(number))
	if strings.Contains(r.Header.Get("If-None-Match"), `"`+key+`"`) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	if a.name != "" {
		return s.stream(w, r, q, a)
	}
	s.mu.Lock()
	body := s.prepared[key]
	s.mu.Unlock()
	if body == nil {
		done, err := s.turn(r.Context(), q)
		if err != nil {
			return err
		}
		defer done()
		var out bytes.Buffer
		if err := a.write(r.Context(), &out); err != nil {
			return err
		}
		done()
		body = out.Bytes()
	}
	if a.ahead {
		s.mu.Lock()
		s.prepared = map[string][]byte{key: body}
		s.mu.Unlock()
	}
	head(h, a)
	_, _ = w.Write(body) // the reader may be gone
	return nil
}

// Ready makes the default page in advance, once per commit, so that no reader waits for it. Call it
// periodically.
func (s *liveServer) Ready(ctx context.Context) {
	defer func() { // as net/http does for requests
		if why := recover(); why != nil {
			s.Log.Error("the page could not be prepared", "error", why, "stack", string(debug.Stack()))
		}
	}()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
	if err == nil {
		s.answers(s.page).ServeHTTP(unread{}, r)
	}
}

// unread is an answer without a reader.
type unread struct{}

func (unread) Header() http.Header         { return http.Header{} }
func (unread) Write(p []byte) (int, error) { return len(p), nil }
func (unread) WriteHeader(int)             {}

// cut closes the connection in the middle of an answer, so that a truncated answer is not taken for
// a complete one.
func (s *liveServer) cut(r *http.Request, err error) {
	s.Log.Warn("answer aborted", "path", r.URL.Path, "error", err)
	panic(http.ErrAbortHandler)
}

func head(h http.Header, a *answerTo) {
	h.Set("Content-Type", a.kind)
	if a.name != "" {
		h.Set("Content-Disposition", fmt.Sprintf("inline; filename=%q", a.name))
	}
}

// turn waits for the turn of an answer to be made.
func (s *liveServer) turn(ctx context.Context, q *request) (done func(), err error) {
	held, all := 0, []chan struct{}{q.load.turns, s.working}
	done = sync.OnceFunc(func() {
		for _, of := range all[:held] {
			<-of
		}
	})
	for _, of := range all {
		select {
		case of <- struct{}{}:
			held++
		case <-ctx.Done():
			done()
			return nil, context.Cause(ctx)
		}
	}
	return done, nil
}

var errTooLong = fmt.Errorf("the answer exceeded the time limit of %s", longestAnswer)

// stream sends a file while it is made. Its turn ends with its first byte: a slow client keeps nobody waiting.
func (s *liveServer) stream(w http.ResponseWriter, r *http.Request, q *request, a *answerTo) error {
	done, err := s.turn(r.Context(), q)
	if err != nil {
		return err
	}
	defer done()
	to := &begun{Writer: w, progress: http.NewResponseController(w), begin: sync.OnceFunc(func() { head(w.Header(), a); done() })}
	err = a.write(r.Context(), to)
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
