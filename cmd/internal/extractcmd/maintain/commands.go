// Package maintain holds the commands of extract on what a warehouse holds: verify, repair,
// rollback, forget, compact, migrate, show and secrets, and import, which adds to it. They
// do not crawl: only verify --deep asks the service, and keeps its answers apart.
package maintain

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/extractcmd/settings"
)

// Run is extract run, with which a repair ends.
type Run = func(context.Context, *settings.Settings, io.Writer) error

// Commands returns the commands that work on what the warehouse holds.
func Commands(s *settings.Settings, stderr io.Writer, fetch Run) []*cobra.Command {
	return []*cobra.Command{importCommand(s, stderr), compactCommand(s, stderr), rollbackCommand(s, stderr), verifyCommand(s, stderr),
		repairCommand(s, stderr, fetch), showCommand(s), secretsCommand(s), forgetCommand(s, stderr), migrateCommand(s, stderr)}
}
