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
	"slices"
	"strings"
	"time"

	"callhouse/cmd/internal/config"
)

// queryGrace is how long an interrupted query may take to exit.
const queryGrace = time.Minute

// askQuery runs a command of query with the same file, profile and warehouse, and returns the first
// line of its stderr. stdout may be nil.
func (s *settings) askQuery(ctx context.Context, stdout io.Writer, command ...string) (string, error) {
	const name = "query"
	path, err := os.Executable()
	if err == nil {
		path = filepath.Join(filepath.Dir(path), name)
		if _, err = os.Stat(path); err != nil {
			path, err = exec.LookPath(name)
		}
	}
	if err != nil {
		return "", fmt.Errorf("the program query is neither next to extract nor in PATH: %w", err)
	}
	args := append(command, "--warehouse", s.Warehouse)
	if s.File != nil {
		args = append(args, "--config", s.File.Path)
	}
	if s.Profile != "" {
		args = append(args, "--profile", s.Profile)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = slices.DeleteFunc(s.Env.Strings(), func(pair string) bool { return strings.HasPrefix(pair, config.EnvKey+"=") }) // not needed
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = queryGrace
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = stdout, &said
	err = cmd.Run()
	text, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(said.String()), name+": "), "\n")
	if err != nil && text != "" {
		err = errors.New(text)
	}
	return text, err
}
