package extractcmd

import (
	"errors"
	"fmt"
	"io"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/layout"
	"callhouse/internal/sink"
)

const verifyAbout = `verify reads the whole warehouse and proves it against itself: every file's checksum, columns and
rows; that each call is there once, in its place, with all its turns and items; and that the
manifest's figures are those of the rows. It changes nothing, and may run beside a run.

Exit code 0: whole. 1: damaged; each problem is one line.`

func verifyCommand(s *settings, stderr io.Writer) *cobra.Command {
	var all bool
	var format string
	cmd := &cobra.Command{
		Use: "verify", Short: "Prove the warehouse whole", Long: verifyAbout,
		Args: noArgs, RunE: func(cmd *cobra.Command, _ []string) error {
			if err := oneOf("--format", format, "text", "json"); err != nil {
				return err
			}
			b := newBar(stderr, s.quiet)
			r, err := sink.Verify(cmd.Context(), sink.VerifyOptions{Root: s.warehouse, All: all, Progress: b.show})
			b.close()
			if errors.Is(err, layout.ErrNoWarehouse) {
				return s.noWarehouse()
			}
			if err != nil {
				return explain(err)
			}
			return tellVerified(r, format, cmd.OutOrStdout())
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().BoolVar(&all, "all", false, "the older snapshots as well")
	cmd.Flags().StringVar(&format, "format", "text", "text or json")
	return cmd
}

// tellVerified writes what was found, and makes the command's error of it.
func tellVerified(r *sink.VerifyReport, format string, stdout io.Writer) error {
	if format == "json" {
		if err := writeJSON(stdout, r); err != nil {
			return err
		}
	} else {
		writeVerified(r, stdout)
	}
	if r.Whole() {
		return nil
	}
	return cli.Fail(cli.ExitFailed, fmt.Errorf("the warehouse is damaged: %s found", plural(r.Count, "problem")),
		"extract rollback goes back to a snapshot that is whole (extract verify --all looks at all of them)")
}

func writeVerified(r *sink.VerifyReport, w io.Writer) {
	for _, p := range r.Problems {
		fmt.Fprintln(w, p)
	}
	if more := r.Count - int64(len(r.Problems)); more > 0 {
		fmt.Fprintf(w, "and %s more\n", humanize.Comma(more))
	}
	n := humanize.Comma
	verdict := "whole"
	if !r.Whole() {
		verdict = "damaged"
	}
	fmt.Fprintf(w, "%s: %s, %s (%s): %s calls, %s turns, %s items, %s runs\n", verdict, plural(int64(len(r.Snapshots)), "snapshot"),
		plural(int64(r.Files), "file"), humanize.IBytes(uint64(r.Bytes)), n(r.Calls), n(r.Turns), n(r.Items), n(r.Runs))
	if r.Journal > 0 {
		fmt.Fprintf(w, "the journal holds %s that the next run commits\n", plural(r.Journal, "record"))
	}
	if len(r.Leftovers) > 0 {
		fmt.Fprintf(w, "a crash left %s behind that the next run removes\n", plural(int64(len(r.Leftovers)), "name"))
	}
	for _, note := range r.Notes {
		fmt.Fprintln(w, note)
	}
}

// plural counts things.
func plural(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return humanize.Comma(n) + " " + thing + "s"
}
