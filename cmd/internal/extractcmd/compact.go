package extractcmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/status"
	"callhouse/internal/layout"
	"callhouse/internal/sink"
	"callhouse/internal/words"
)

const compactAbout = `compact merges the daily files of a month into one file per table. No row changes.

Runs do this by themselves for finished, settled months, a few per night. This command does it
now for all of them. It also rewrites stored telephone
numbers after a change of country, of which each run rewrites up to 1 GB.

With --redact, --redact-patterns or --redact-service on the command line it also redacts personal
data in the stored calls, and removes all older snapshots, which hold it: there is no way back, and
readers of these snapshots fail once. The lake follows with the next publish. It sends no requests
to the service of the calls.`

func compactCommand(s *settings, stderr io.Writer) *cobra.Command {
	cmd := &cobra.Command{
		Use: "compact", Short: "Merge the daily files of finished, settled months", Long: compactAbout,
		Example: `  extract compact
  extract compact --redact all`,
		Args: cli.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
			// A setting in the file is for what comes in. What is stored cannot be restored, so it takes a flag.
			redact := slices.ContainsFunc([]string{"redact", "redact-patterns", "redact-service"}, cmd.Flags().Changed)
			return compact(cmd.Context(), s, redact, stderr)
		},
	}
	return cmd
}

func compact(ctx context.Context, s *settings, redact bool, stderr io.Writer) error {
	return s.maintain(ctx, func(w *sink.Warehouse) error {
		months, waiting := ready(w.Snapshot())
		b := newScreen(stderr, s.Quiet)
		done, err := w.Compact(ctx, months, b.show)
		var normalized int64
		if err == nil {
			normalized, err = w.NormalizeAllPhones(ctx, b.show)
		}
		b.close()
		if !s.Quiet {
			if normalized > 0 {
				words.Fprintf(stderr, "rewrote the telephone numbers of %s for the country %s\n", cli.Plural(normalized, "call"),
					w.Snapshot().Manifest.Country)
			}
			for _, m := range done {
				words.Fprintf(stderr, "compacted %s: %s calls of %d days (%s)\n", m.Month, humanize.Comma(m.Calls), m.Days,
					humanize.IBytes(uint64(m.Bytes)))
			}
			if len(months) == 0 && !redact {
				words.Fprintf(stderr, "nothing to compact (%d months are not finished and settled yet)\n", waiting)
			}
		}
		if err == nil && redact {
			err = redactStored(ctx, s, w, stderr)
		}
		return err
	})
}

// ready returns the months that can be compacted, and the number of those that are not finished and settled yet.
func ready(s *layout.Snapshot) (months []string, waiting int) {
	for _, m := range sink.Months(s, time.Now()) {
		if m.Waits != "" {
			waiting++
			continue
		}
		months = append(months, m.Month)
	}
	return months, waiting
}

// redactStored redacts the stored calls.
func redactStored(ctx context.Context, s *settings, w *sink.Warehouse, stderr io.Writer) error {
	if err := s.startMask(w); err != nil || !w.Redacts() {
		return err
	}
	b := newScreen(stderr, s.Quiet)
	calls, err := w.RedactStored(ctx, b.show)
	b.close()
	if err == nil && calls == 0 && !s.Quiet {
		words.Fprintln(stderr, "nothing to redact: the same recognizers have looked through all stored calls")
		return nil
	}
	if err == nil && !s.Quiet {
		text, unchecked := status.RedactedText(status.RedactedCounts([]byte(w.Redacted())))
		found := cmp.Or(text, "nothing found")
		if unchecked > 0 {
			found += fmt.Sprintf("; the service of --redact-service did not check %s, which stay as they are: repeat the command",
				cli.Plural(unchecked, "call"))
		}
		words.Fprintf(stderr, "redacted in %s: %s\n", cli.Plural(calls, "call"), found)
	}
	return err
}
