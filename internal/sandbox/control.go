package sandbox

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// serveControl answers what is apart from the API: no key, no limit, no fault.
func (s *Server) serveControl(w http.ResponseWriter, r *http.Request) {
	get := r.Method == http.MethodGet
	switch {
	case r.URL.Path == "/sandbox/truth" && get:
		at := s.Now()
		if text := r.URL.Query().Get("at"); text != "" {
			t, err := parseInstant(text)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			at = t
		}
		writeJSON(w, s.world.Truth(at))
	case r.URL.Path == "/sandbox/stats" && get:
		writeJSON(w, s.Stats())
	case r.URL.Path == "/sandbox/clock" && get:
		s.writeClock(w)
	case r.URL.Path == "/sandbox/clock" && r.Method == http.MethodPost:
		if err := s.moveClock(r); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.writeClock(w)
	default:
		http.Error(w, "there are GET /sandbox/truth, GET /sandbox/stats, and GET and POST /sandbox/clock", http.StatusNotFound)
	}
}

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
