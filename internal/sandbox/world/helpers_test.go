package world

import (
	"testing"
	"time"

	"callhouse/internal/sandbox/dice"
	"callhouse/internal/test"
)

// busy is a Thursday, 18:30 in the company's zone: a busy time.
var busy = time.Date(2026, 11, 19, 9, 30, 0, 0, time.UTC)

// everyFault is a share of each fault.
var everyFault = func() (fs Faults) {
	for _, f := range CallFaults {
		fs = append(fs, dice.Share[Fault]{Kind: f.Kind, Rate: .2})
	}
	return fs
}()

func newWorld(t testing.TB, cfg Config) *World {
	t.Helper()
	if cfg.Origin.IsZero() {
		cfg.Origin = busy
	}
	w, err := New(cfg)
	test.OK(t, err)
	return w
}
