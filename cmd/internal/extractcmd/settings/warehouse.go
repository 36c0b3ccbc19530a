package settings

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/api"
	"callhouse/internal/crawler"
	"callhouse/internal/layout"
	"callhouse/internal/sink"
	"callhouse/internal/sink/disk"
	"callhouse/internal/words"
)

// CommitGrace bounds the last commit after an interrupt. A service manager that
// stops a run usually waits 90 seconds before it kills; the ping needs some too.
const CommitGrace = 75 * time.Second

// NoWarehouse is the error of a warehouse that does not exist yet.
func (s *Settings) NoWarehouse() error {
	return cli.Fail(cli.ExitFailed, fmt.Errorf("no warehouse at %s yet", s.Warehouse), "run: extract run --warehouse "+s.Warehouse)
}

// Current returns the committed snapshot, for commands that only read.
func (s *Settings) Current() (*layout.Snapshot, error) {
	snapshot, err := layout.Current(s.Warehouse)
	if errors.Is(err, layout.ErrNoWarehouse) {
		return nil, s.NoWarehouse()
	}
	return snapshot, Explain(err)
}

// OpenWith opens the warehouse for do.
func (s *Settings) OpenWith(opts sink.Options, do func(*sink.Warehouse) error) (err error) {
	w, err := sink.Open(opts)
	if err != nil {
		return Explain(err)
	}
	defer func() {
		for _, what := range w.Notices() {
			words.Fprintf(s.Stderr, "%s\n", what)
		}
		if cerr := w.Close(); cerr != nil && err == nil {
			err = Explain(cerr)
		}
	}()
	return Explain(do(w))
}

// Maintain opens the warehouse for commands that need one with everything committed:
// it first takes in what a killed run left.
func (s *Settings) Maintain(ctx context.Context, do func(*sink.Warehouse) error) error {
	if _, err := s.Current(); err != nil {
		return err
	}
	return s.OpenWith(s.Options(RunID(time.Now())), func(w *sink.Warehouse) error {
		if _, err := w.Recover(ctx); err != nil {
			return err
		}
		return do(w)
	})
}

// Adoptable says whether a rollback would solve the problem with the current
// snapshot.
func Adoptable(err error) bool {
	return cli.Is[*layout.CurrentError](err) || cli.Is[*layout.DamageError](err)
}

// RunID names a run that starts at now.
func RunID(now time.Time) string { return layout.RunID(now, rand.Uint32()) }

// Remember gives the budget what earlier runs spent, and keeps what this run spends
// for the next one.
func Remember(cfg *crawler.Config, w *sink.Warehouse, log *slog.Logger) {
	cfg.Version = cli.Version()
	for _, sp := range w.Recall() {
		cfg.Recall = append(cfg.Recall, api.Spend(sp))
	}
	cfg.Note = func(slot int, sp api.Spend) {
		if err := w.Note(slot, disk.Spend(sp)); err != nil {
			log.Warn("cannot record a request for later runs", "error", err)
		}
	}
}
