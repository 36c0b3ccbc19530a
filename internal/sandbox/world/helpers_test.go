package world

import (
	"testing"
	"time"
)

// busy is a Thursday, 18:30 in the company's zone: a busy time.
var busy = time.Date(2026, 11, 19, 9, 30, 0, 0, time.UTC)

func newWorld(t testing.TB, cfg Config) *World {
	t.Helper()
	if cfg.Origin.IsZero() {
		cfg.Origin = busy
	}
	w, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return w
}
