package extractcmd

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/progress"
	"callhouse/internal/sink"
	"callhouse/internal/words"
)

const migrateAbout = `migrate writes the files that an older callhouse made as this one makes them: with the columns that it
had not yet, filled from what was kept in extra or counted, and with the tallies of months that are one file. It asks
the service for nothing.

Nothing is lost without it: older files are read as they are, and written anew whenever a run changes something in
them. Until then user_turns is null in them, costs of more than four decimals are counted but not summed, and reports
over their months take longer. Other programs may need it: files before format version 3 have times in milliseconds,
and bounds of texts by which some programs leave out rows.`

func migrateCommand(s *settings, stderr io.Writer) *cobra.Command {
	return &cobra.Command{
		Use: "migrate", Short: "Write older files with today's columns", Long: migrateAbout,
		Example: `  extract migrate
  extract migrate --warehouse /var/lib/callhouse --quiet`,
		Args: cli.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return migrate(cmd.Context(), s, stderr) },
	}
}

func migrate(ctx context.Context, s *settings, stderr io.Writer) error {
	return s.maintain(ctx, func(w *sink.Warehouse) error {
		b := progress.NewBar(stderr, s.LogFormat, s.Quiet)
		periods, calls, err := w.Migrate(ctx, b.Show)
		b.Close()
		switch {
		case err != nil:
			return err
		case s.Quiet:
		case periods == 0:
			words.Fprintln(stderr, "nothing to migrate: all files have today's columns")
		default:
			words.Fprintf(stderr, "migrated %s of %s\n", cli.Plural(calls, "call"), cli.Plural(int64(periods), "file set"))
		}
		return nil
	})
}
