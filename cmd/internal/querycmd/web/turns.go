package web

import (
	"context"
	"errors"
	"net/http"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/analytics/rights"
	"callhouse/internal/serve"
)

// reader is somebody with requests in progress.
type reader struct {
	rights   rights.Rights
	requests int
	turns    chan struct{}  // limits the answers made at once
	zones    map[string]int // of snapshots in use, which a slow client holds for longer than a turn
}

// maxRequests is the maximum number of a reader's requests in progress. So many pages can be made within
// the time limit of an answer.
const maxRequests = 64

// readerKey is the context key of the reader.
type readerKey struct{}

// readerOf returns the reader of a request. The server itself is a reader, too.
func readerOf(r *http.Request) *reader {
	if of, ok := r.Context().Value(readerKey{}).(*reader); ok {
		return of
	}
	return newReader(rights.Rights{}, 1)
}

func newReader(may rights.Rights, turns int) *reader {
	return &reader{rights: may, turns: make(chan struct{}, turns), zones: map[string]int{}}
}

// errBusy refuses a request that would keep too much open.
var errBusy = cli.Fail(cli.ExitFailed, errors.New("too many requests of this reader are in progress"), "send fewer at once")

// enter begins a reader's request, unless too many are in progress. With users, one turn is left
// to others, so that nobody waits for all that one reader requests.
func (s *Server) enter(user string, may rights.Rights) (of *reader, leave func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := user + "\n" + may.Key() // rights may have changed since
	of = s.readers[key]
	if of == nil {
		n := cap(s.working)
		if s.Login != nil {
			n--
		}
		of = newReader(may, n)
		s.readers[key] = of
	}
	if of.requests >= maxRequests {
		return nil, nil, false
	}
	of.requests++
	return of, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if of.requests--; of.requests == 0 {
			delete(s.readers, key)
		}
	}, true
}

// turn lets a request open a snapshot and make an answer: only some do at once.
type turn struct {
	of   []chan struct{}
	held int
}

// begin waits for the turn, unless it has begun.
func (t *turn) begin(ctx context.Context) error {
	for t.held < len(t.of) {
		select {
		case t.of[t.held] <- struct{}{}:
			t.held++
		case <-ctx.Done():
			t.end()
			return context.Cause(ctx)
		}
	}
	return nil
}

// end ends the turn; it may be called repeatedly.
func (t *turn) end() {
	for ; t.held > 0; t.held-- {
		<-t.of[t.held-1]
	}
}

// acquire acquires the snapshot of a request. If it must be opened, this begins the request's turn.
func (s *Server) acquire(ctx context.Context, q *request) (release func(), err error) {
	if !s.Snapshots.IsOpen(q.zone, q.rights) {
		if err := q.turn.begin(ctx); err != nil {
			return nil, err
		}
	}
	zone := q.zone.String()
	use := func(n int) (ok bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if q.reader.zones[zone] += n; q.reader.zones[zone] == 0 {
			delete(q.reader.zones, zone)
		}
		return len(q.reader.zones) <= serve.MaxViews
	}
	var free func()
	if !use(1) {
		err = errBusy
	} else {
		q.warehouse, free, err = s.Snapshots.Acquire(ctx, q.zone, q.rights)
	}
	release = func() {
		q.turn.end()
		use(-1)
		if err == nil {
			free()
		}
	}
	if err != nil {
		release()
	}
	return release, err
}
