package extractcmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"callhouse/cmd/internal/cli"
)

// toLake publishes what a run committed, where the setting publish says so, and returns the run's
// error. query does it, in a process of its own: extract stays a small program.
func (n *night) toLake(ctx context.Context, err error) error {
	if code := cli.Code(err); !n.Publish || code != cli.ExitOK && code != cli.ExitIncomplete {
		return err // the next run publishes
	}
	failed := n.askQuery(ctx)
	switch {
	case failed == nil:
		return err
	case err != nil:
		n.log.Warn("not published", "error", failed)
		return err
	}
	return cli.Fail(cli.ExitIncomplete, fmt.Errorf("committed, but not published: %w", failed), "query publish iceberg does it now, and the next run in any case")
}

// askQuery runs query publish with this run's file, profile and warehouse.
func (n *night) askQuery(ctx context.Context) error {
	const name = "query"
	path, err := os.Executable()
	if err == nil {
		path = filepath.Join(filepath.Dir(path), name)
		if _, err = os.Stat(path); err != nil {
			path, err = exec.LookPath(name)
		}
	}
	if err != nil {
		return fmt.Errorf("the program query is neither beside extract nor in PATH: %w", err)
	}
	args := []string{"publish", "iceberg", "--warehouse", n.Warehouse}
	if n.File != nil {
		args = append(args, "--config", n.File.Path)
	}
	if n.Profile != "" {
		args = append(args, "--profile", n.Profile)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = n.Env.Strings()
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	var said bytes.Buffer
	cmd.Stderr = &said
	err = cmd.Run()
	text, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(said.String()), name+": "), "\n")
	if err == nil {
		n.log.Info("published", "what", text)
		return nil
	}
	if text == "" {
		return err
	}
	return errors.New(text)
}
