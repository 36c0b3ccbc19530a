package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"callhouse/internal/sandbox/operation"
)

// serveControl answers requests outside the API: without keys, limits or faults.
func (s *Server) serveControl(w http.ResponseWriter, r *http.Request) {
	var body []byte
	if isDocument(r.URL.Path) && r.Method == http.MethodGet {
		body = operation.Document(r.URL.Path == "/v2/openapi.json")
	} else {
		value, status, err := s.control(r)
		if err == nil {
			status = http.StatusInternalServerError
			body, err = json.MarshalIndent(value, "", "  ")
		}
		if err != nil {
			http.Error(w, err.Error(), status)
			return
		}
		body = append(body, '\n')
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // an error cannot be reported: the client has disconnected
}

// control returns the answer to a request, or an error with its status.
func (s *Server) control(r *http.Request) (value any, status int, err error) {
	switch r.Method + " " + r.URL.Path {
	case "GET /sandbox/truth":
		at := s.Now()
		if text := r.URL.Query().Get("at"); text != "" {
			if at, err = parseInstant(text); err != nil {
				return nil, http.StatusBadRequest, err
			}
		}
		return s.api.world.Truth(at), 0, nil
	case "GET /sandbox/stats":
		return s.Stats(), 0, nil
	case "POST /sandbox/clock":
		if err := s.moveClock(r); err != nil {
			return nil, http.StatusBadRequest, err
		}
		fallthrough
	case "GET /sandbox/clock":
		now := s.Now()
		return map[string]any{
			"now": now.UTC().Format(time.RFC3339Nano), "unix_ms": now.UnixMilli(), "manual": s.opts.Clock != nil,
		}, 0, nil
	}
	return nil, http.StatusNotFound, errors.New("available: GET /sandbox/truth and /sandbox/stats, GET and POST /sandbox/clock, " +
		"GET /v3/openapi.json and /v2/openapi.json")
}

// isDocument reports whether a path is that of an OpenAPI document. The documents are not part of
// the service's contract, and need no key.
func isDocument(path string) bool { return path == "/v3/openapi.json" || path == "/v2/openapi.json" }

// moveClock reads {"advance":"24h"} or {"set":"2026-11-19T12:00:00Z"}.
func (s *Server) moveClock(r *http.Request) error {
	if s.opts.Clock == nil {
		return fmt.Errorf("move clock: this sandbox uses a real-time clock; start it with --clock frozen")
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
