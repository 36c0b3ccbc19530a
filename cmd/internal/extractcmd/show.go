package extractcmd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/sink"
	"callhouse/internal/words"
)

const showAbout = `show prints one call as JSON, under the names of the API: the columns of all tables, and what extra
has. Nulls are left out.`

func showCommand(s *settings) *cobra.Command {
	return &cobra.Command{
		Use: "show CALL_ID", Short: "Print a call of the warehouse as JSON", Long: showAbout,
		Example: `  extract show 0014e571-6a1e-4ac3-8f7e-3c1f6e7f2a10
  extract show 0014e571-6a1e-4ac3-8f7e-3c1f6e7f2a10 | jq .call_analysis`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] == "" {
				return cli.Usage("extract show CALL_ID", "show requires the id of one call")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return show(cmd.Context(), s, args[0], cmd.OutOrStdout())
		},
	}
}

func show(ctx context.Context, s *settings, id string, stdout io.Writer) error {
	current, err := s.snapshot()
	if err != nil {
		return err
	}
	call, err := sink.Find(ctx, current, id)
	if err != nil {
		return explain(err)
	}
	if call == nil {
		return cli.Fail(cli.ExitFailed, fmt.Errorf("no call %q in snapshot %d", id, current.Manifest.Snapshot),
			"query sql 'SELECT call_id FROM calls' lists the ids")
	}
	text := call.AppendJSON(nil)
	if cli.CanDraw(stdout) { // other outputs get the exact text, in one line
		var b bytes.Buffer
		if err := json.Indent(&b, text, "", "  "); err != nil {
			return fmt.Errorf("indent the call's JSON: %w", err)
		}
		text = []byte(words.Lines(b.String()))
	}
	if _, err := stdout.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("write the call: %w", err)
	}
	return nil
}
