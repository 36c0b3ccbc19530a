package extractcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
	"callhouse/internal/words"
)

const repairAbout = `repair replaces damaged files of the warehouse, and then runs extract run to fetch missing data.
A damaged day, month or resource is taken whole from an older snapshot in which it is intact, and the run brings it up
to date. Otherwise it is dropped, and the run lists and fetches it again.

Calls that the service no longer has cannot be fetched again. Forgotten calls stay forgotten.
Existing snapshots are not changed.

Recordings that are missing from their archive, or have another length than recorded, are fetched again if the
service still has them. --deep also reads them all and compares their checksums.

repair also restores a missing link current. --dry-run prints what repair would do and changes nothing.`

// repairs holds the flags of extract repair and its result.
type repairs struct {
	dry, deep bool
	lost      int64 // missing or changed recordings
}

func repairCommand(s *settings, stderr io.Writer) *cobra.Command {
	var r repairs
	cmd := &cobra.Command{
		Use: "repair", Short: "Replace damaged files and fetch their calls again", Long: repairAbout,
		Example: `  extract repair --dry-run
  extract repair --max-duration 6h`,
		Args: cli.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
			return runRepair(cmd.Context(), s, &r, cmd.OutOrStdout(), stderr)
		},
	}
	s.runFlags(cmd)
	cmd.Flags().BoolVar(&r.dry, "dry-run", false, "print the repairs, change nothing")
	cmd.Flags().BoolVar(&r.deep, "deep", false, "also compare the content of all recordings with their checksums")
	return cmd
}

func runRepair(ctx context.Context, s *settings, r *repairs, stdout, stderr io.Writer) error {
	if !r.dry {
		if _, err := s.crawlConfig(s.Now()); err != nil {
			return err // before any data is given up
		}
	}
	plan, journal, err := repairWarehouse(ctx, s, r, stderr)
	if err != nil {
		return err
	}
	out := s.text(stdout)
	writeRepair(plan, out)
	if r.dry && plan.Damaged() {
		words.Fprintln(out, s.Again("nothing was changed; extract repair makes these repairs and fetches missing data"))
	}
	if r.lost > 0 {
		words.Fprintf(out, "recordings: %s missing or changed, and due again\n", humanize.Comma(r.lost))
	}
	if r.dry || !plan.Damaged() && !journal && r.lost == 0 {
		return nil
	}
	err = run(ctx, s, stderr)
	if err != nil && cli.Code(err) != cli.ExitIncomplete && cli.Hint(err) == "" {
		err = cli.Fail(cli.Code(err), err, "the warehouse is intact again; extract run fetches missing data")
	}
	return err
}

// repairWarehouse plans the repair of the warehouse and, unless it is a dry run, carries it out. journal reports
// that a killed run left a journal, possibly damaged: the run that follows recovers its readable
// part.
func repairWarehouse(ctx context.Context, s *settings, r *repairs, stderr io.Writer) (plan *sink.RepairPlan, journal bool, err error) {
	if _, err := s.snapshot(); err != nil && !adoptable(err) {
		return nil, false, err
	}
	started := time.Now()
	opts := s.options(runID(started))
	opts.Adopt, opts.ReadOnly = true, r.dry
	b := newScreen(stderr, s.Quiet)
	err = s.openWith(opts, func(w *sink.Warehouse) error {
		plan, err = w.Repair(ctx, r.dry, func(plan *sink.RepairPlan) schema.Run {
			return schema.Run{ID: w.RunID(), StartedAt: started.UnixMilli(), EndedAt: schema.Some(time.Now().UnixMilli()),
				Outcome: schema.OutcomeRepaired, Version: cli.Version(), Commits: 1, Error: summary(plan)}
		}, b.show)
		journal = len(w.Leftover()) > 0 || len(w.Notices()) > 0
		if err != nil || w.Snapshot() == nil || r.dry && plan.Damaged() { // damaged files cannot be read
			return err
		}
		if r.lost, err = repairRecordings(ctx, w, s.Warehouse, r.deep, r.dry, started); err != nil || r.lost == 0 || r.dry {
			return err
		}
		err = w.Commit(ctx, func(_ sink.Stats, commits int64) schema.Run {
			return schema.Run{ID: w.RunID(), StartedAt: started.UnixMilli(), EndedAt: schema.Some(time.Now().UnixMilli()),
				Outcome: schema.OutcomeRepaired, Version: cli.Version(), Commits: commits, Error: summary(plan)}
		})
		return cmp.Or(err, sink.DropRecordingsVerdict(s.Warehouse))
	})
	b.close()
	var damage *layout.DamageError
	if errors.As(err, &damage) && layout.IsForgottenFile(path.Join(path.Base(path.Dir(damage.Path)), path.Base(damage.Path))) {
		err = cli.Fail(cli.ExitFailed, err, "this file records the forgotten calls: restore it from a backup, then repeat the command")
	}
	return plan, journal, err
}

// summary describes a repair in one line.
func summary(plan *sink.RepairPlan) string {
	var parts []string
	for _, p := range plan.Parts {
		parts = append(parts, p.Name+" "+verb(p))
	}
	for _, p := range plan.Rest {
		parts = append(parts, p.Path+" replaced")
	}
	return strings.Join(parts, ", ")
}

// verb describes what happens to a damaged part.
func verb(p *sink.RepairPart) string {
	if p.From > 0 {
		return fmt.Sprintf("restored from snapshot %d", p.From)
	}
	return "dropped"
}

// writeRepair prints a plan as text.
func writeRepair(plan *sink.RepairPlan, w io.Writer) {
	if !plan.Damaged() {
		words.Fprintf(w, "snapshot %d is intact: nothing to repair\n", plan.Snapshot)
		return
	}
	for _, p := range plan.Parts {
		what := "row"
		if p.Period {
			what = "call"
		}
		words.Fprintf(w, "%s: %s (%s)\n", p.Name, verb(p), cli.Plural(p.Rows, what))
		for i, problem := range p.Problems {
			if i == shownProblems {
				words.Fprintf(w, "  and %d more\n", len(p.Problems)-i)
				break
			}
			words.Fprintf(w, "  %s\n", problem)
		}
	}
	for _, p := range plan.Rest {
		words.Fprintf(w, "%s: replaced (%s)\n", p.Path, p.What)
	}
}

// shownProblems is how many problems of a part are printed.
const shownProblems = 3
