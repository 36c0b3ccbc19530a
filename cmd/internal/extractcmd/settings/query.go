package settings

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// AskQuery runs query publish with the same file, profile and warehouse, and returns the first line
// that it prints.
func (s *Settings) AskQuery(ctx context.Context) (string, error) {
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
