package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/organisation"
	"callhouse/internal/sandbox/render"
	"callhouse/internal/sandbox/world"
)

// Server is the call API over a [World], as an http.Handler: it admits requests, injects faults,
// sends the answers of api, and keeps statistics.
type Server struct {
	opts    Options
	api     *api
	ledger  *ledger
	begun   atomic.Int64 // number of requests so far
	scratch sync.Pool    // of *scratch
}

// New checks the options and prepares a server.
func New(opts Options) (*Server, error) {
	if err := opts.setDefaults(); err != nil {
		return nil, fmt.Errorf("check sandbox: %w", err)
	}
	opts.World.Orders = &world.Orders{}
	shown, err := world.New(opts.World)
	if err != nil {
		return nil, err
	}
	shown2 := shown // the world of v2
	if n := opts.V2.ExtraCalls; n > 0 {
		opts.World.Hidden = int64(n)
		if shown, err = world.New(opts.World); err != nil {
			return nil, err
		}
	}
	company, err := organisation.New(opts.Organisation, shown)
	if err != nil {
		return nil, err
	}
	s := &Server{opts: opts}
	s.api = &api{
		opts: &s.opts, world: shown, organisation: company,
		list:    &callList{world: shown, organisation: company, opts: &s.opts, key: dice.Hash(shown.Key, 2)},
		list2:   &callList{world: shown2, opts: &s.opts, keyed: true},
		trouble: trouble{resources: opts.ResourceFaults, v2: opts.V2},
	}
	s.ledger = newLedger(&s.opts)
	s.scratch.New = func() any { return &scratch{renderer: render.Renderer{Recordings: opts.Recordings}} }
	return s, nil
}

// World returns the data that the server shows.
func (s *Server) World() *world.World { return s.api.world }

// Organisation returns the server's data except calls.
func (s *Server) Organisation() *organisation.Organisation { return s.api.organisation }

// Now returns the time of the data's clock.
func (s *Server) Now() time.Time { return s.opts.Now() }

// Clock returns the data's clock; nil if it cannot be moved.
func (s *Server) Clock() *ManualClock { return s.opts.Clock }

// Truth returns the truth about the current data.
func (s *Server) Truth() *world.Truth { return s.api.world.Truth(s.Now()) }

// Stats returns the request statistics so far.
func (s *Server) Stats() *Stats { return s.ledger.snapshot() }

// SetResourceFaults replaces the faults of a resource (or of "all") from now on; no kinds means no
// faults.
func (s *Server) SetResourceFaults(resource string, kinds ...ResourceFault) error {
	if err := (ResourceFaults{resource: kinds}).check(); err != nil {
		return fmt.Errorf("set resource faults: %w", err)
	}
	t := &s.api.trouble
	t.mu.Lock()
	defer t.mu.Unlock()
	all := ResourceFaults{}
	maps.Copy(all, t.resources)
	all[resource] = kinds
	t.resources = all
	return nil
}

// Do performs an operation directly: without key, limits, request faults or statistics.
func (s *Server) Do(method, path, body string) (status int, answer []byte) {
	x := s.scratch.Get().(*scratch)
	defer s.scratch.Put(x)
	r, err := http.NewRequestWithContext(context.Background(), method, path, strings.NewReader(body))
	if err != nil {
		return http.StatusBadRequest, []byte(err.Error())
	}
	a := s.api.answer(find(r, x))
	return a.status, bytes.Clone(a.body)
}
