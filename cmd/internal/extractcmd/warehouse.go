package extractcmd

import (
	"cmp"
	"context"
	"errors"
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

// commitGrace bounds the last commit after an interrupt. A service manager usually waits 90 seconds
// before it kills a stopped run.
const commitGrace = 75 * time.Second

// noWarehouse returns the error for a warehouse that does not exist yet.
func (s *settings) noWarehouse() error {
	return cmp.Or(explain(layout.CheckRoot(s.Warehouse)), s.NoWarehouse())
}

// snapshot returns the current snapshot, for commands that only read.
func (s *settings) snapshot() (*layout.Snapshot, error) {
	snapshot, err := layout.Current(s.Warehouse)
	if errors.Is(err, layout.ErrNoWarehouse) {
		return nil, s.noWarehouse()
	}
	return snapshot, explain(err)
}

// openWith opens the warehouse, calls do, and closes it.
func (s *settings) openWith(opts sink.Options, do func(*sink.Warehouse) error) (err error) {
	w, err := sink.Open(opts)
	if err != nil {
		return explain(err)
	}
	defer func() {
		for _, what := range w.Notices() {
			words.Fprintf(s.Stderr, "mended: %s\n", what)
		}
		if cerr := w.Close(); cerr != nil && err == nil {
			err = explain(cerr)
		}
	}()
	return explain(do(w))
}

// maintain opens the warehouse for commands that require everything to be committed: it first commits
// the records of a killed run.
func (s *settings) maintain(ctx context.Context, do func(*sink.Warehouse) error) error {
	if _, err := s.snapshot(); err != nil {
		return err
	}
	return s.openWith(s.options(runID(time.Now())), func(w *sink.Warehouse) error {
		if _, err := w.Recover(ctx); err != nil {
			return err
		}
		return do(w)
	})
}

// adoptable reports whether a rollback would resolve the error of the current snapshot.
func adoptable(err error) bool {
	return cli.Is[*layout.CurrentError](err) || cli.Is[*layout.DamageError](err)
}

// RunID returns the id of a run that starts at now.
func runID(now time.Time) string { return layout.RunID(now, rand.Uint32()) }

// remember passes the requests spent by earlier runs to the budget, and stores those of this run for
// the next one.
func remember(cfg *crawler.Config, w *sink.Warehouse, log *slog.Logger) {
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
