package extractcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/words"
)

const rollbackAbout = `rollback makes an older snapshot current again. It creates a new snapshot, so numbers only increase
and a rollback can itself be rolled back. Without --to it undoes the last run and returns to the
state before it. With --to it also repairs a warehouse whose link current is missing or whose
current manifest is damaged.

Snapshots are kept for 24 hours, and at least the last three; forget removes all but one. The next run lists and fetches again
what the older snapshot lacks. Forgotten calls stay forgotten.`

func rollbackCommand(s *settings, stderr io.Writer) *cobra.Command {
	var to string
	var list bool
	cmd := &cobra.Command{
		Use: "rollback", Short: "Return to an older snapshot", Long: rollbackAbout,
		Example: `  extract rollback --list
  extract rollback
  extract rollback --to 42`,
		Args: cli.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
			if list {
				return listSnapshots(s, cmd.OutOrStdout())
			}
			number := int64(0)
			if cmd.Flags().Changed("to") {
				var err error // in decimal, also 000042, the name of the snapshot's folder
				if number, err = strconv.ParseInt(to, 10, 64); err != nil || number <= 0 {
					return cli.Usage("extract rollback --list shows the numbers", "--to requires the number of a snapshot, got %q", to)
				}
			}
			return rollback(cmd.Context(), s, number, stderr)
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&to, "to", "", "number of the snapshot to return to")
	cmd.Flags().BoolVar(&list, "list", false, "list the snapshots, change nothing")
	return cmd
}

func rollback(ctx context.Context, s *settings, to int64, stderr io.Writer) error {
	opts := s.options(runID(time.Now()))
	if _, err := s.snapshot(); err != nil {
		// Without --to, rollback starts from the current snapshot, which must therefore be readable.
		if opts.Adopt = to > 0 && adoptable(err); !opts.Adopt {
			return err
		}
	}
	return s.openWith(opts, func(w *sink.Warehouse) error {
		was := w.Snapshot().Manifest.Snapshot
		if to == was && !opts.Adopt {
			if !s.Quiet {
				words.Fprintf(stderr, "snapshot %d is the current one: nothing to do\n", to)
			}
			return nil
		}
		started := time.Now()
		target, err := w.Rollback(ctx, to, func(target *layout.Snapshot) schema.Run {
			return schema.Run{
				ID: w.RunID(), StartedAt: started.UnixMilli(), EndedAt: schema.Some(time.Now().UnixMilli()),
				Outcome: schema.OutcomeRolledBack, Version: cli.Version(), Commits: 1,
				Error: fmt.Sprintf("from snapshot %d back to snapshot %d", was, target.Manifest.Snapshot),
			}
		})
		if err != nil {
			return explainRollback(err)
		}
		if !s.Quiet {
			now := w.Snapshot().Manifest
			words.Fprintf(stderr, "snapshot %d restores snapshot %d: %s calls, committed %s; the next run continues from there\n",
				now.Snapshot, target.Manifest.Snapshot, humanize.Comma(now.Rows(schema.Calls.Name)),
				cli.Moment(target.Manifest.CommittedAt.In(s.zone())))
			if left := w.Leftover(); len(left) > 0 {
				words.Fprintf(stderr, "the journal contains records of a killed run (%s); the next run commits them\n", left[len(left)-1])
			}
		}
		return nil
	})
}

func explainRollback(err error) error {
	var missing *sink.NotRetainedError
	switch {
	case !errors.As(err, &missing):
		return err
	case missing.Snapshot == 0:
		return cli.Fail(cli.ExitFailed, err, "nothing was changed; extract rollback --list shows the snapshots")
	}
	return cli.Usage("nothing was changed; extract rollback --list shows the snapshots", "%w", err)
}

func listSnapshots(s *settings, stdout io.Writer) error {
	current, err := s.snapshot()
	if err != nil && !adoptable(err) {
		return err
	}
	all, err := sink.Retained(s.Warehouse, current)
	if err != nil {
		return explain(err)
	}
	w := tabwriter.NewWriter(stdout, 0, 8, 2, ' ', 0)
	words.Fprintf(w, "SNAPSHOT\tCOMMITTED\tRUN\tCALLS\tTURNS\t\n")
	for _, of := range all {
		m, mark := of.Manifest, ""
		if of == current {
			mark = "current"
		}
		words.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\n", m.Snapshot, cli.Moment(m.CommittedAt.In(s.zone())), m.RunID,
			humanize.Comma(m.Rows(schema.Calls.Name)), humanize.Comma(m.Rows(schema.Turns.Name)), mark)
	}
	return w.Flush()
}
