package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/operation"
	"callhouse/internal/sandbox/organisation"
	"callhouse/internal/sandbox/render"
	"callhouse/internal/sandbox/service"
	"callhouse/internal/sandbox/world"
)

// Server is the call API over a [World], as an http.Handler: it lets requests in, lets them
// go wrong, sends what the api answers and counts.
type Server struct {
	opts    Options
	api     *api
	ledger  *ledger
	begun   atomic.Int64 // requests, in the order of their coming
	scratch sync.Pool    // of *scratch
}

// api answers the operations.
type api struct {
	opts         *Options
	world        *world.World
	organisation *organisation.Organisation
	service      *service.Service
	list         *list
	list2        *list // of v2
	trouble      trouble
}

// scratch is what one answer is written with.
type scratch struct {
	renderer render.Renderer
	body     []byte
	v2       bool // failures are told as in v2
}

// New checks the options and prepares a server.
func New(opts Options) (*Server, error) {
	if err := opts.setDefaults(); err != nil {
		return nil, fmt.Errorf("check sandbox: %w", err)
	}
	var company *organisation.Organisation
	if opts.NamedVersions {
		opts.World.VersionOf = func(agent int, start int64) (int, float64) { return company.VersionOf(agent, start) }
	}
	opts.World.Orders, opts.World.Changes = &world.Orders{}, &world.Changes{}
	shown, err := world.New(opts.World)
	if err != nil {
		return nil, err
	}
	shown2 := shown // by v2
	if n := opts.V2.ExtraCalls; n > 0 {
		if err := hideExtra(&opts.World, int64(n)); err != nil {
			return nil, fmt.Errorf("check sandbox: %w", err)
		}
		if shown, err = world.New(opts.World); err != nil {
			return nil, err
		}
	}
	company, err = organisation.New(opts.Organisation, shown)
	if err != nil {
		return nil, err
	}
	s := &Server{opts: opts}
	s.api = &api{
		opts: &s.opts, world: shown, organisation: company, service: service.New(company, shown, s.keep),
		list:    &list{world: shown, organisation: company, opts: &s.opts, key: dice.Hash(shown.Key, 2)},
		list2:   &list{world: shown2, opts: &s.opts, keyed: true},
		trouble: trouble{resources: opts.ResourceFaults, v2: opts.V2},
	}
	s.ledger = newLedger(&s.opts)
	s.scratch.New = func() any { return &scratch{} }
	if err := s.replay(); err != nil {
		return nil, err
	}
	return s, nil
}

// World returns the data that the server shows.
func (s *Server) World() *world.World { return s.api.world }

// Organisation returns what the server shows besides calls.
func (s *Server) Organisation() *organisation.Organisation { return s.api.organisation }

// Now returns what the data's clock shows.
func (s *Server) Now() time.Time { return s.opts.Now() }

// Clock returns the data's clock where it can be moved; nil where it runs by itself.
func (s *Server) Clock() *ManualClock { return s.opts.Clock }

// Truth counts what the server shows now.
func (s *Server) Truth() *world.Truth { return s.api.world.Truth(s.Now()) }

// Stats returns what the server has been asked so far.
func (s *Server) Stats() *Stats { return s.ledger.snapshot() }

// DetailFetches returns how many whole answers the details of call index got.
func (s *Server) DetailFetches(index int64) int {
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	return int(s.ledger.details[index].times)
}

// Revoke makes a key unknown; Restore makes it known again. Keys that were never
// known stay so.
func (s *Server) Revoke(key string) { s.setRevoked(key, true) }

// Restore undoes Revoke.
func (s *Server) Restore(key string) { s.setRevoked(key, false) }

func (s *Server) setRevoked(key string, revoked bool) {
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	if _, known := s.ledger.revoked[key]; known {
		s.ledger.revoked[key] = revoked
	}
}

// SetResourceFaults replaces the faults of a resource (or of "all") from now on;
// none makes it whole again.
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

// SetV2 changes how the calls of v2 are served from now on. Its ExtraCalls have to be
// what they were at the start.
func (s *Server) SetV2(v V2) error {
	if err := v.check(); err != nil {
		return fmt.Errorf("set v2: %w", err)
	}
	t := &s.api.trouble
	t.mu.Lock()
	defer t.mu.Unlock()
	if v.ExtraCalls != t.v2.ExtraCalls {
		return fmt.Errorf("set v2: the number of extra calls cannot change")
	}
	t.v2, t.listed = v, 0
	return nil
}

// Do asks for an operation from inside: without key, limits, faults of requests, and
// statistics.
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

// ServeHTTP answers /v3 and /v2 as the service does, and /sandbox.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/sandbox/") || isDocument(r.URL.Path) {
		s.serveControl(w, r)
		return
	}
	x := s.scratch.Get().(*scratch)
	defer s.scratch.Put(x)
	s.serveAPI(w, r, x)
}

// answer is a response before it is sent.
type answer struct {
	status int
	header [2]string // one more header; empty for none
	kind   string    // content type; empty for JSON
	body   []byte
	view   *world.View // the call, of a detail
	object string      // path and query of an object of another resource
	end    FaultKind   // how it ends: cut, hang, huge, reset, or slow for a client that gave up; empty: well
}

func (s *Server) serveAPI(w http.ResponseWriter, r *http.Request, x *scratch) {
	e := find(r, x)
	w.Header().Set("Date", s.opts.DateNow().UTC().Format(http.TimeFormat))
	before, after := s.latency(s.begun.Add(1))
	if !sleep(r, before) {
		s.ledger.arrive(e.req, bearer(r))
		s.ledger.answered(0, 0, "")
		return
	}
	number, verdict := s.ledger.arrive(e.req, bearer(r))
	if !sleep(r, after) {
		s.ledger.answered(0, 0, "")
		return
	}
	var a answer
	switch {
	case verdict.unknown:
		w.Header().Set("WWW-Authenticate", "Bearer")
		a = failure(x, http.StatusUnauthorized, "the API key is missing or not valid", "")
	case verdict.refused:
		a = failure(x, http.StatusTooManyRequests, "rate limit exceeded", "")
		if !s.opts.NoRetryAfter {
			a.header = [2]string{"Retry-After", strconv.Itoa(int(math.Ceil(verdict.wait.Seconds())))}
		}
	default:
		e.number = number
		e.fault = s.fault(number, e)
		if asked := s.asked(e.req, e.fault); asked != "" {
			w.Header().Set(faultHeader, asked)
		}
		if slices.Contains(requestFaults, e.fault) {
			a = s.disturbed(e)
		} else {
			a = s.api.answer(e)
		}
	}
	s.send(w, r, a, e.fault)
}

// disturbed is what a request gets that goes wrong.
func (s *Server) disturbed(e *exchange) answer {
	switch e.fault {
	case Fault503HTML:
		return webAnswer(503, "503 Service Temporarily Unavailable")
	case FaultNonJSON:
		return webAnswer(200, "Please sign in")
	case FaultReset, FaultHuge, FaultHang:
		return answer{end: e.fault}
	case FaultCut:
		a := s.api.answer(e)
		a.end = FaultCut
		return a
	case FaultTruncated:
		a := s.api.answer(e)
		a.body, a.view, a.object = a.body[:len(a.body)/2], nil, ""
		return a
	case FaultSlow:
		if !sleep(e.r, s.opts.SlowFor) {
			return answer{end: FaultSlow}
		}
		return s.api.answer(e)
	}
	status, err := strconv.Atoi(string(e.fault[:3]))
	if err != nil {
		panic("sandbox: nothing is done for the fault " + e.fault)
	}
	a := failure(e.x, status, "injected fault", "")
	if retry := map[FaultKind]string{
		"429":             strconv.Itoa(1 + int(e.number%3)),
		Fault429Date:      s.opts.DateNow().Add(2 * time.Second).UTC().Format(http.TimeFormat),
		Fault429Malformed: "soon",
	}[e.fault]; retry != "" {
		a.header = [2]string{"Retry-After", retry}
	}
	return a
}

// fault decides whether and how a request goes wrong. The client may ask for it.
func (s *Server) fault(number int64, e *exchange) FaultKind {
	req := e.req
	if k := FaultKind(e.r.Header.Get(faultHeader)); slices.Contains(requestFaults, k) || slices.Contains(pageFaults, k) {
		return k
	}
	if s.opts.Inject != nil {
		if k := s.opts.Inject(number, req); k != "" {
			return k
		}
	}
	page := req.Kind == "page" || req.Kind == "list" || req.Kind == "bulk" && req.ID == ""
	return s.opts.Faults.draw(dice.Unit(dice.Hash(s.api.world.Key+4, uint64(number))), page)
}

// faultHeader is the header of a request that asks for a fault of its answer, and of an
// answer that is perhaps wrong because somebody asked for it. It says what was asked for.
const faultHeader = "Sandbox-Fault"

// asked names all that was asked to be wrong with the answer to a request.
func (s *Server) asked(req Request, fault FaultKind) string {
	var all []string
	if fault != "" {
		all = append(all, string(fault))
	}
	ofCalls := req.Kind == "page" || req.Kind == "detail" || req.Kind == "bulk"
	if ofCalls && s.opts.World.DriftRate > 0 {
		all = append(all, "drift")
	}
	if v2 := s.api.trouble.modes(false); strings.HasPrefix(req.Resource, "v2_call") && v2 != (V2{}) {
		all = append(all, "v2")
	}
	for _, d := range s.api.trouble.of(req.Resource) {
		all = append(all, string(d))
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}

// exchange is a request on its way to its answer.
type exchange struct {
	r       *http.Request
	x       *scratch
	req     Request
	op      *operation.Operation // nil where the path is of none
	allowed []string             // where the method is not one of the path's
	number  int64
	fault   FaultKind       // of the request; empty for none
	wrong   []ResourceFault // of its resource
}

// find finds what a request asks for.
func find(r *http.Request, x *scratch) *exchange {
	e := &exchange{r: r, x: x, req: Request{Kind: "other"}}
	var id string
	if e.op, id, e.allowed = operation.Match(r.Method, r.URL.Path); e.op != nil {
		e.req = Request{Kind: e.op.Kind, Resource: e.op.Resource, ID: id}
	}
	if r.Method == http.MethodGet && (e.req.Kind == "page" || e.req.Kind == "list") {
		e.req.Query = r.URL.RawQuery
	}
	x.v2 = operation.IsV2(r.URL.Path)
	return e
}

func bearer(r *http.Request) string {
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(key)
}

// latency returns how long the n-th request takes to arrive and to be answered.
func (s *Server) latency(n int64) (before, after time.Duration) {
	total := s.opts.Latency
	h := dice.Hash(s.api.world.Key+5, uint64(n))
	if s.opts.Jitter > 0 {
		total += time.Duration(dice.Unit(h) * float64(s.opts.Jitter))
	}
	before = time.Duration(dice.Unit(dice.Mix(h)) * float64(total))
	return before, total - before
}

// sleep waits, and returns false if the client gave up first.
func sleep(r *http.Request, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.Context().Done():
		return false
	}
}
