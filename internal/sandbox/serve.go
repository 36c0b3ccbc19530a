package sandbox

import (
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"callhouse/internal/sandbox/dice"
)

// ServeHTTP answers /v3 and /v2 like the service, and /sandbox.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/sandbox/") || isDocument(r.URL.Path) {
		s.serveControl(w, r)
		return
	}
	x := s.scratch.Get().(*scratch)
	defer s.scratch.Put(x)
	s.serveAPI(w, r, x)
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
		a = e.fail(http.StatusUnauthorized, "the API key is missing or not valid")
	case verdict.refused:
		a = e.fail(http.StatusTooManyRequests, "rate limit exceeded")
		a.header = [2]string{"Retry-After", strconv.Itoa(int(math.Ceil(verdict.wait.Seconds())))}
	default:
		e.number = number
		e.fault = s.fault(number, e)
		if faults := s.requestedFaults(e.req, e.fault); faults != "" {
			w.Header().Set(faultHeader, faults)
		}
		if isIn(requestFaults, e.fault) {
			a = s.disturbed(e)
		} else {
			a = s.api.answer(e)
		}
	}
	s.send(w, r, a, e.fault)
}

// disturbed returns the answer to a request with a fault.
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
	case FaultMarked:
		a := s.api.answer(e)
		a.body = append([]byte("\ufeff"), a.body...)
		return a
	case "204":
		return answer{status: http.StatusNoContent}
	case "302":
		return answer{status: http.StatusFound, header: [2]string{"Location", "/sign-in"}}
	case FaultSlow:
		if !sleep(e.r, 5*time.Second) {
			return answer{end: FaultSlow}
		}
		return s.api.answer(e)
	}
	status, err := strconv.Atoi(string(e.fault[:3]))
	if err != nil {
		panic("sandbox: unhandled fault " + e.fault)
	}
	a := e.fail(status, "injected fault")
	retry := retryAfter[e.fault]
	switch e.fault {
	case "405":
		a.header = [2]string{"Allow", http.MethodHead}
	case "429":
		retry = strconv.Itoa(1 + int(e.number%3))
	case Fault429Date:
		retry = s.opts.DateNow().Add(2 * time.Second).UTC().Format(http.TimeFormat)
	}
	if retry != "" {
		a.header = [2]string{"Retry-After", retry}
	}
	return a
}

// fault returns the fault of a request, if any. A client may request one.
func (s *Server) fault(number int64, e *exchange) FaultKind {
	req := e.req
	if k := FaultKind(e.r.Header.Get(faultHeader)); slices.Contains(anyFault, k) {
		return k
	}
	if s.opts.Inject != nil {
		if k := s.opts.Inject(number, req); k != "" {
			return k
		}
	}
	k := s.opts.Faults.Draw(dice.Unit(dice.Hash(s.api.world.Key+4, uint64(number))))
	if page := req.Kind == "page" || req.Kind == "list" || req.Kind == "bulk" && req.ID == ""; !page && isIn(pageFaults, k) {
		return ""
	}
	return k
}

// faultHeader is the request header that asks for a fault, and the answer header that names the
// faults requested by a client or an option.
const faultHeader = "Sandbox-Fault"

// requestedFaults returns all faults requested for an answer.
func (s *Server) requestedFaults(req Request, fault FaultKind) string {
	var all []string
	if fault != "" {
		all = append(all, string(fault))
	}
	ofCalls := req.Kind == "page" || req.Kind == "detail" || req.Kind == "bulk"
	if ofCalls && s.opts.World.DriftRate > 0 {
		all = append(all, "drift")
	}
	if ofCalls && len(s.opts.World.Faults) > 0 {
		all = append(all, "calls")
	}
	if req.Kind == "page" && s.opts.Lists != (Lists{}) {
		all = append(all, "lists")
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

func bearer(r *http.Request) string {
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(key)
}

// latency returns the delays of the n-th request before and after it is counted.
func (s *Server) latency(n int64) (before, after time.Duration) {
	total := s.opts.Latency
	h := dice.Hash(s.api.world.Key+5, uint64(n))
	if s.opts.Jitter > 0 {
		total += time.Duration(dice.Unit(h) * float64(s.opts.Jitter))
	}
	if s.opts.Tail > 0 { // a normal draw by Box and Muller
		u, v := 1-dice.Unit(dice.Hash(h, 1)), dice.Unit(dice.Hash(h, 2))
		total = time.Duration(float64(total) * math.Exp(s.opts.Tail*math.Sqrt(-2*math.Log(u))*math.Cos(2*math.Pi*v)))
	}
	switch s.opts.Counted {
	case AtArrival:
	case AtAnswer:
		before = total
	default:
		before = time.Duration(dice.Unit(dice.Mix(h)) * float64(total))
	}
	return before, total - before
}

// sleep waits, and returns false if the client gave up earlier.
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
