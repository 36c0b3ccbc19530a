package serve

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"callhouse/internal/analytics"
	"callhouse/internal/analytics/rights"
	"callhouse/internal/layout"
)

// Snapshots holds the open snapshots of a warehouse: the current one, once per zone and rights of its
// readers, and older ones while they are in use.
type Snapshots struct {
	Root string
	// Open opens the current snapshot in a zone, with a reader's rights.
	Open func(ctx context.Context, zone *time.Location, r rights.Rights) (*analytics.Warehouse, error)
	// Log is called with errors that no caller receives.
	Log func(string)

	mu       sync.Mutex
	link     string             // name of the current snapshot
	current  map[view]*Snapshot // the views of that snapshot
	open     map[*Snapshot]bool
	releases int // so far
	closed   bool
	uses     sync.WaitGroup
	closing  sync.WaitGroup
}

// errClosed is returned after Close. Callers see it only while the program ends.
var errClosed = errors.New("the program is ending")

// view identifies how a snapshot is opened.
type view struct{ zone, rights string }

// MaxViews is the maximum number of views in which the current snapshot stays open while unused.
const MaxViews = 4

// Snapshot is an open snapshot.
type Snapshot struct {
	*analytics.Warehouse
	of    *Snapshots
	view  view
	uses  int
	conns []*conn       // of no session
	last  int           // number of releases when it was last released
	ready chan struct{} // closed once it is open
	err   error         // why it could not be opened
}

// Acquire returns the current snapshot for one request or transaction, in a zone and with a reader's
// rights. It opens a new snapshot after a commit. The caller must call release after reading the last
// answer. Errors are those of Open; after Close it fails.
func (s *Snapshots) Acquire(ctx context.Context, loc *time.Location, r rights.Rights) (at *Snapshot, release func(), err error) {
	if at, err = s.take(ctx, loc, r); err != nil {
		return nil, nil, err
	}
	release = sync.OnceFunc(func() { s.release(at) })
	select {
	case <-at.ready:
		err = at.err
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		release()
		return nil, nil, err
	}
	return at, release, nil
}

// name returns the name of the current snapshot, such as 000042; "" if it is unknown.
func (s *Snapshots) name() string {
	d, err := layout.OpenDir(s.Root)
	if err != nil {
		return ""
	}
	defer d.Close()
	target, err := d.Readlink(filepath.Join(s.Root, layout.CurrentName))
	if err != nil {
		return ""
	}
	return filepath.Base(target)
}

// take returns the current snapshot in a view. It may still be opening: that takes a moment,
// during which all who need this view wait, and nobody else.
func (s *Snapshots) take(ctx context.Context, zone *time.Location, r rights.Rights) (*Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	s.follow()
	to := view{zone.String(), r.Key()}
	at := s.current[to]
	if at == nil {
		if s.open == nil {
			s.open, s.current = map[*Snapshot]bool{}, map[view]*Snapshot{}
		}
		at = &Snapshot{of: s, view: to, uses: 1, ready: make(chan struct{})} // by its opener
		s.current[to], s.open[at] = at, true
		s.uses.Add(1)
		go func() {
			w, err := s.Open(context.WithoutCancel(ctx), zone, r)
			s.opened(at, w, err)
			s.release(at)
		}()
	}
	at.uses++
	s.uses.Add(1)
	return at, nil
}

// opened ends the opening of a snapshot.
func (s *Snapshots) opened(at *Snapshot, w *analytics.Warehouse, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at.Warehouse, at.err = w, err
	close(at.ready)
	if s.current[at.view] != at {
		return
	}
	if err != nil {
		delete(s.current, at.view)
	} else if link := filepath.Base(w.Snapshot().Dir); link != s.link { // of a commit since
		delete(s.current, at.view)
		s.drop()
		s.link, s.current[at.view] = link, at
	}
}

// follow makes the views of a snapshot that is no longer current old ones. A link that is unreadable now
// was readable a moment ago.
func (s *Snapshots) follow() {
	if link := s.name(); link != "" && link != s.link {
		s.drop()
		s.link = link
	}
}

// Look closes a snapshot that is no longer current, even if nobody opens the next one. Call it
// regularly.
func (s *Snapshots) Look() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.follow()
}

// drop makes the views of the current snapshot old ones.
func (s *Snapshots) drop() {
	for v, old := range s.current {
		delete(s.current, v)
		s.closeUnused(old)
	}
}

// release ends a use.
func (s *Snapshots) release(at *Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at.uses--
	s.uses.Done()
	s.releases++
	at.last = s.releases
	s.closeUnused(at)
	for len(s.current) > MaxViews {
		var oldest *Snapshot
		for _, old := range s.current {
			if old.uses == 0 && (oldest == nil || old.last < oldest.last) {
				oldest = old
			}
		}
		if oldest == nil {
			break
		}
		delete(s.current, oldest.view)
		s.closeUnused(oldest)
	}
}

// Invalidate makes the next caller open the snapshot again.
func (at *Snapshot) Invalidate() {
	at.of.mu.Lock()
	defer at.of.mu.Unlock()
	if at.of.current[at.view] == at {
		delete(at.of.current, at.view)
		at.of.log("DuckDB failed with an internal error; the snapshot is reopened")
	}
}

// conn returns a connection for a session, to be kept at the end.
func (at *Snapshot) conn(ctx context.Context) (*conn, error) {
	at.of.mu.Lock()
	if last := len(at.conns) - 1; last >= 0 {
		defer at.of.mu.Unlock()
		c := at.conns[last]
		at.conns = at.conns[:last]
		return c, nil
	}
	at.of.mu.Unlock()
	made, err := at.Session(ctx)
	return &conn{Session: made}, err
}

// keep keeps the connections of a session for the next.
func (at *Snapshot) keep(conns []*conn) {
	at.of.mu.Lock()
	defer at.of.mu.Unlock()
	at.conns = append(at.conns, conns...)
}

// Close closes the snapshot.
func (at *Snapshot) Close() error {
	for _, c := range at.conns {
		c.Close()
	}
	return at.Warehouse.Close()
}

// closeUnused closes an old snapshot that is not in use. It closes in the background, since DuckDB may
// take a while to release its resources; only Close waits for that.
func (s *Snapshots) closeUnused(at *Snapshot) {
	if at.uses > 0 || s.current[at.view] == at {
		return
	}
	delete(s.open, at)
	if at.err != nil {
		return
	}
	s.closing.Go(func() {
		if err := at.Close(); err != nil {
			s.log("close a snapshot: " + err.Error())
		}
	})
}

func (s *Snapshots) log(text string) {
	if s.Log != nil {
		s.Log(text)
	}
}

// Close waits until all snapshots are released, and closes them: DuckDB crashes the program if its
// database is closed under a statement.
func (s *Snapshots) Close() error {
	defer s.closing.Wait()
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.uses.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for at := range s.open {
		errs = append(errs, at.Close())
		delete(s.open, at)
	}
	clear(s.current)
	return errors.Join(errs...)
}
