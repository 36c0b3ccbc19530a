// Package maintain holds the commands of extract that maintain a warehouse: verify, repair, rollback,
// forget, compact, show and import. They do not crawl: only verify --deep sends
// requests to the service, and stores the responses separately.
package maintain

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/extractcmd/settings"
)

// Run is extract run, which a repair calls at its end.
type Run = func(context.Context, *settings.Settings, io.Writer) error

// Commands returns the commands that maintain a warehouse.
func Commands(s *settings.Settings, stderr io.Writer, fetch Run) []*cobra.Command {
	return []*cobra.Command{importCommand(s, stderr), compactCommand(s, stderr), rollbackCommand(s, stderr), verifyCommand(s, stderr),
		repairCommand(s, stderr, fetch), showCommand(s), forgetCommand(s, stderr)}
}
