package extractcmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/sink/erase"
	"callhouse/internal/words"
)

// toLake publishes what a run committed, where the setting publish says so, and returns the run's
// error. query does it, in a process of its own: extract stays a small program.
func (n *night) toLake(ctx context.Context, err error) error {
	if code := cli.Code(err); !n.Publish || code != cli.ExitOK && code != cli.ExitIncomplete {
		return err // the next run publishes
	}
	text, failed := n.askQuery(ctx)
	switch {
	case failed == nil:
		n.log.Info("published", "what", text)
		return err
	case err != nil:
		n.log.Warn("not published", "error", failed)
		return err
	}
	return cli.Fail(cli.ExitIncomplete, fmt.Errorf("committed, but not published: %w", failed),
		"query publish iceberg does it now, and the next run in any case")
}

// forgotten has a lake cleaned of what was just forgotten, where the setting publish says so, and notes
// in the receipt how all lakes are.
func (s *settings) forgotten(ctx context.Context, r *erase.Receipt, stderr io.Writer) error {
	var failed error
	if s.Publish {
		_, failed = s.askQuery(ctx)
	}
	lakes, err := erase.LakesSince(s.Warehouse, r.Snapshot)
	if err != nil {
		return err
	}
	r.Lakes = lakes
	for _, l := range lakes {
		words.Fprintln(stderr, l.What)
	}
	if failed != nil {
		return cli.Fail(cli.ExitIncomplete, fmt.Errorf("forgotten in the warehouse, but not published: %w", failed),
			"query publish iceberg does it now, and the next run in any case")
	}
	return nil
}

// askQuery runs query publish with the same file, profile and warehouse, and returns the first line
// that it prints.
func (s *settings) askQuery(ctx context.Context) (string, error) {
	const name = "query"
	path, err := os.Executable()
	if err == nil {
		path = filepath.Join(filepath.Dir(path), name)
		if _, err = os.Stat(path); err != nil {
			path, err = exec.LookPath(name)
		}
	}
	if err != nil {
		return "", fmt.Errorf("the program query is neither beside extract nor in PATH: %w", err)
	}
	args := []string{"publish", "iceberg", "--warehouse", s.Warehouse}
	if s.File != nil {
		args = append(args, "--config", s.File.Path)
	}
	if s.Profile != "" {
		args = append(args, "--profile", s.Profile)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = s.Env.Strings()
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	var said bytes.Buffer
	cmd.Stderr = &said
	err = cmd.Run()
	text, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(said.String()), name+": "), "\n")
	if err != nil && text != "" {
		err = errors.New(text)
	}
	return text, err
}
