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

// CommitGrace bounds the last commit after an interrupt. A service manager usually waits 90 seconds
// before it kills a stopped run, and the ping needs some of them.
const CommitGrace = 75 * time.Second

// NoWarehouse returns the error for a warehouse that does not exist yet.
func (s *Settings) NoWarehouse() error {
	if err := layout.CheckRoot(s.Warehouse); err != nil {
		return Explain(err)
	}
	return cli.Fail(cli.ExitFailed, fmt.Errorf("no warehouse at %s yet", s.Warehouse),
		"run: extract run --warehouse "+words.Shell(s.Warehouse))
}

// Current returns the current snapshot, for commands that only read.
func (s *Settings) Current() (*layout.Snapshot, error) {
	snapshot, err := layout.Current(s.Warehouse)
	if errors.Is(err, layout.ErrNoWarehouse) {
		return nil, s.NoWarehouse()
	}
	return snapshot, Explain(err)
}

// OpenWith opens the warehouse, calls do, and closes it.
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

// Maintain opens the warehouse for commands that require everything to be committed: it first commits
// the records of a killed run.
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

// Adoptable reports whether a rollback would resolve the error of the current snapshot.
func Adoptable(err error) bool {
	return cli.Is[*layout.CurrentError](err) || cli.Is[*layout.DamageError](err)
}

// RunID returns the id of a run that starts at now.
func RunID(now time.Time) string { return layout.RunID(now, rand.Uint32()) }

// Remember passes the requests spent by earlier runs to the budget, and stores those of this run for
// the next one.
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
