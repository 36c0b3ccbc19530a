package extractcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/layout"
	"callhouse/internal/sink"
	"callhouse/internal/words"
)

// noWarehouse is the error of a warehouse that does not exist yet.
func (s *settings) noWarehouse() error {
	return cli.Fail(cli.ExitFailed, fmt.Errorf("no warehouse at %s yet", s.Warehouse), "run: extract run --warehouse "+s.Warehouse)
}

// current returns the committed snapshot, for commands that only read.
func (s *settings) current() (*layout.Snapshot, error) {
	snapshot, err := layout.Current(s.Warehouse)
	if errors.Is(err, layout.ErrNoWarehouse) {
		return nil, s.noWarehouse()
	}
	return snapshot, explain(err)
}

// open opens the warehouse for a command that needs one to be there.
func (s *settings) open(do func(*sink.Warehouse) error) error {
	if _, err := s.current(); err != nil {
		return err
	}
	return s.openWith(s.options(layout.RunID(time.Now(), rand.Uint32())), do)
}

func (s *settings) openWith(opts sink.Options, do func(*sink.Warehouse) error) (err error) {
	w, err := sink.Open(opts)
	if err != nil {
		return explain(err)
	}
	defer func() {
		for _, what := range w.Notices() {
			words.Fprintf(s.stderr, "%s\n", what)
		}
		if cerr := w.Close(); cerr != nil && err == nil {
			err = explain(cerr)
		}
	}()
	return explain(do(w))
}

// maintain is open for commands that need everything committed: it first takes in
// what a killed run left.
func (s *settings) maintain(ctx context.Context, do func(*sink.Warehouse) error) error {
	return s.open(func(w *sink.Warehouse) error {
		if _, err := w.Recover(ctx); err != nil {
			return err
		}
		return do(w)
	})
}

// maintenance returns the commands that work on what the warehouse holds.
func maintenance(s *settings, stderr io.Writer) []*cobra.Command {
	return []*cobra.Command{statusCommand(s), importCommand(s, stderr), compactCommand(s, stderr), rollbackCommand(s, stderr),
		verifyCommand(s, stderr), repairCommand(s, stderr), showCommand(s), secretsCommand(s), forgetCommand(s, stderr),
		migrateCommand(s, stderr)}
}
