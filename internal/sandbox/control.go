package sandbox

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"callhouse/internal/sandbox/operation"
	"callhouse/internal/sandbox/organisation"
)

// serveControl answers what is apart from the API: no key, no limit, no fault.
func (s *Server) serveControl(w http.ResponseWriter, r *http.Request) {
	get := r.Method == http.MethodGet
	switch {
	case isDocument(r.URL.Path) && get:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(operation.Document(r.URL.Path == "/v2/openapi.json")) // the client is gone; nobody is left to tell
	case r.URL.Path == "/sandbox/truth" && get:
		at, err := instantOf(r, "at", s.Now())
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		writeJSON(w, s.api.world.Truth(at))
	case strings.HasPrefix(r.URL.Path, "/sandbox/truth/") && get:
		s.writeResource(w, r, strings.TrimPrefix(r.URL.Path, "/sandbox/truth/"), false)
	case strings.HasPrefix(r.URL.Path, "/sandbox/edits/") && get:
		s.writeResource(w, r, strings.TrimPrefix(r.URL.Path, "/sandbox/edits/"), true)
	case r.URL.Path == "/sandbox/stats" && get:
		writeJSON(w, s.Stats())
	case r.URL.Path == "/sandbox/clock" && get:
		s.writeClock(w)
	case r.URL.Path == "/sandbox/clock" && r.Method == http.MethodPost:
		if err := s.moveClock(r); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if err := s.keepClock(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		s.writeClock(w)
	default:
		http.Error(w, "there are GET /sandbox/truth, /sandbox/truth/RESOURCE, /sandbox/edits/RESOURCE and /sandbox/stats, "+
			"GET and POST /sandbox/clock, GET /v3/openapi.json and /v2/openapi.json", http.StatusNotFound)
	}
}

// isDocument reports whether a path is of an OpenAPI document. They are no part of the
// service's contract, and open to anybody.
func isDocument(path string) bool { return path == "/v3/openapi.json" || path == "/v2/openapi.json" }

func (s *Server) writeClock(w http.ResponseWriter) {
	now := s.Now()
	writeJSON(w, map[string]any{
		"now": now.UTC().Format(time.RFC3339Nano), "unix_ms": now.UnixMilli(), "manual": s.opts.Clock != nil,
	})
}

// moveClock reads {"advance":"24h"} or {"set":"2026-11-19T12:00:00Z"}.
func (s *Server) moveClock(r *http.Request) error {
	if s.opts.Clock == nil {
		return fmt.Errorf("move clock: this sandbox runs on real time; start it with --clock frozen")
	}
	var move struct{ Advance, Set string }
	d := json.NewDecoder(http.MaxBytesReader(nil, r.Body, 1024))
	d.DisallowUnknownFields()
	if err := d.Decode(&move); err != nil {
		return fmt.Errorf(`move clock: want {"advance":"24h"} or {"set":"2026-11-19T12:00:00Z"}: %w`, err)
	}
	switch {
	case move.Advance != "" && move.Set == "":
		by, err := time.ParseDuration(move.Advance)
		if err != nil {
			return fmt.Errorf("move clock: %w", err)
		}
		s.opts.Clock.Advance(by)
	case move.Set != "" && move.Advance == "":
		t, err := parseInstant(move.Set)
		if err != nil {
			return fmt.Errorf("move clock: %w", err)
		}
		s.opts.Clock.Set(t)
	default:
		return fmt.Errorf("move clock: want either advance or set")
	}
	return nil
}

// writeResource answers with the objects of a resource at an instant, or with what
// happened to them in a span of time: all of it until now, unless told otherwise.
func (s *Server) writeResource(w http.ResponseWriter, r *http.Request, name string, edits bool) {
	i := slices.IndexFunc(organisation.All, func(r *organisation.Resource) bool { return r.Name == name })
	if i < 0 {
		http.Error(w, fmt.Sprintf("no resource is called %q", name), http.StatusNotFound)
		return
	}
	var failed error
	instant := func(parameter string, usual time.Time) time.Time {
		t, err := instantOf(r, parameter, usual)
		failed = cmp.Or(failed, err)
		return t
	}
	at, after, until := instant("at", s.Now()), instant("after", time.Unix(0, 0)), instant("until", s.Now())
	switch {
	case failed != nil:
		http.Error(w, failed.Error(), http.StatusBadRequest)
	case edits:
		writeJSON(w, s.api.organisation.Edits(name, after, until))
	default:
		writeJSON(w, s.api.organisation.Truth(name, at))
	}
}

// instantOf reads a parameter that holds an instant.
func instantOf(r *http.Request, parameter string, usual time.Time) (time.Time, error) {
	if text := r.URL.Query().Get(parameter); text != "" {
		return parseInstant(text)
	}
	return usual, nil
}

// parseInstant reads RFC 3339 or unix milliseconds.
func parseInstant(text string) (time.Time, error) {
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.UnixMilli(ms), nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, fmt.Errorf("%q is neither RFC 3339 nor unix milliseconds", text)
	}
	return t, nil
}

func writeJSON(w http.ResponseWriter, v any) {
	body, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(body, '\n')) // the client is gone; nobody is left to tell
}
