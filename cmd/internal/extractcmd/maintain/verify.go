package maintain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/compare"
	"callhouse/cmd/internal/extractcmd/settings"
	"callhouse/cmd/internal/progress"
	"callhouse/internal/layout"
	"callhouse/internal/sink/verify"
	"callhouse/internal/words"
)

const verifyAbout = `verify reads the whole warehouse and proves it against itself: every file's checksum, columns and
rows; that each call is there once, in its place, with all its turns and items; and that the
manifest's figures are those of the rows. It may run beside a run, and writes nothing but its
result, for status.

--deep compares it with the service as well: it lists all calls again (or those from --since on),
a request for each 100, and fetches the records of a sample, a request each, all within the
budget. It also lists the resources that --resources names and that were ever listed, and fetches
the records of a sample of each. No run can start meanwhile. What the service says is kept in a
temporary folder until the end, and nothing of it gets into the warehouse.

Exit code 0: whole, and as the service says. 1: damaged, or it lacks a call or object that it has on
record as listed, or a transcript or record is another one, or secrets that an older callhouse stored
are there in clear, which extract migrate withholds; each problem is one line. 3: calls have
changed at the service after they were settled, or objects that nobody edited, which a later run
takes in; or not all could be compared.`

// sampled is how many details are compared by default.
const sampled = "100"

// records reads the value of --deep or --sample into n: how many details are
// compared.
func records(n **int) func(string) error {
	return func(s string) error {
		many, err := strconv.Atoi(s)
		if s == "all" {
			many, err = compare.Everything, nil
		} else if many < 0 {
			err = strconv.ErrRange
		}
		if err != nil {
			return errors.New("it takes a number of calls, or all")
		}
		*n = &many
		return nil
	}
}

// verification is what verify found: in the warehouse and, with --deep, at the
// service.
type verification struct {
	*verify.Report
	Service *compare.Report `json:"service,omitempty"`
}

func verifyCommand(s *settings.Settings, stderr io.Writer) *cobra.Command {
	var all bool
	var format string
	var deep, sample *int
	cmd := &cobra.Command{
		Use: "verify", Short: "Prove the warehouse whole", Long: verifyAbout,
		Example: `  extract verify
  extract verify --all --format json
  extract verify --deep --since 30d
  extract verify --deep=all --max-duration 8h`,
		Args: cli.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case sample != nil && deep == nil:
				return cli.Usage("extract verify --deep --sample N", "--sample goes with --deep")
			case deep == nil && (s.Since != "" || s.MaxDuration != 0):
				return cli.Usage("without --deep nothing is asked of the service", "--since and --max-duration go with --deep")
			case sample != nil:
				deep = sample
			}
			return runVerify(cmd.Context(), s, deep, all, format, cmd.OutOrStdout(), stderr)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVar(&all, "all", false, "the older snapshots as well")
	cli.Choice(cmd, &format, "format", "", "text", "json")
	f.Func("deep", "compare with the service: all calls and resources, and `N|all` records of each", records(&deep))
	f.Lookup("deep").NoOptDefVal = sampled
	f.Func("sample", "with --deep: compare `N|all` records", records(&sample))
	f.StringVar(&s.Since, "since", "", "with --deep: leave calls alone that started before: 2026-11-01, 30d")
	cli.SpanVar(f, &s.MaxDuration, "max-duration", 0, "with --deep: stop asking after so long, as in 1h")
	return cmd
}

func runVerify(ctx context.Context, s *settings.Settings, deep *int, all bool, format string, stdout, stderr io.Writer) error {
	var q *questions
	if deep != nil {
		cfg, err := s.Crawl(s.Now())
		if err != nil {
			return err // before the long work
		}
		q = &questions{Settings: s, cfg: cfg, sample: *deep, stderr: stderr}
	}
	key, err := s.GivenMaskKey()
	if err != nil {
		return err
	}
	b := progress.NewBar(stderr, s.LogFormat, s.Quiet)
	r, err := verify.Warehouse(ctx, verify.Options{Root: s.Warehouse, All: all, Progress: b.Show, MaskKey: key})
	b.Close()
	if errors.Is(err, layout.ErrNoWarehouse) {
		return s.NoWarehouse()
	}
	if err != nil {
		return settings.Explain(err)
	}
	if err := verify.Save(s.Warehouse, s.GroupReadable, r, s.Now()); err != nil {
		words.Fprintf(stderr, "%v\n", err)
	}
	v := verification{Report: r}
	// No requests are spent on a damaged warehouse.
	if q != nil && r.Whole() {
		if v.Service, err = q.ask(ctx); err != nil {
			return settings.Explain(err)
		}
	}
	if format == "json" {
		if err := settings.WriteJSON(stdout, v); err != nil {
			return err
		}
	} else {
		writeVerified(r, s.Text(stdout))
		v.Service.Write(s.Text(stdout))
	}
	if !r.Whole() && !r.Damaged() {
		return cli.Fail(cli.ExitFailed, fmt.Errorf("the warehouse is whole, but it holds secrets in clear, in %s", cli.Plural(r.Count, "file")),
			"extract migrate withholds them in the current snapshot; replace them at the service: others may have read them")
	}
	if !r.Whole() {
		return cli.Fail(cli.ExitFailed, fmt.Errorf("the warehouse is damaged: %s found", cli.Plural(r.Count, "problem")),
			damageHint(r))
	}
	return v.Service.Err()
}

// damageHint says what helps against the problems of a warehouse.
func damageHint(r *verify.Report) string {
	var hints []string
	isKey := func(p verify.Problem) bool { return p.Kind == verify.MaskKeyProblem }
	if slices.ContainsFunc(r.Problems, isKey) {
		hints = append(hints, "put "+layout.MaskKeyName+" back from a backup, or name the key with --mask-key-file")
	}
	if slices.ContainsFunc(r.Problems, func(p verify.Problem) bool { return !isKey(p) }) {
		hints = append(hints, "extract repair replaces what is damaged, and fetches it again; extract verify --all says which "+
			"older snapshots are intact")
	}
	return strings.Join(hints, "; ")
}

func writeVerified(r *verify.Report, w io.Writer) {
	for _, p := range r.Problems {
		words.Fprintln(w, p)
	}
	if more := r.Count - int64(len(r.Problems)); more > 0 {
		words.Fprintf(w, "and %s more\n", humanize.Comma(more))
	}
	n := humanize.Comma
	verdict := "whole"
	if r.Damaged() {
		verdict = "damaged"
	}
	words.Fprintf(w, "%s: %s, %s (%s): %s calls, %s turns, %s items, %s runs\n", verdict, cli.Plural(int64(len(r.Snapshots)), "snapshot"),
		cli.Plural(int64(r.Files), "file"), humanize.IBytes(uint64(r.Bytes)), n(r.Calls), n(r.Turns), n(r.Items), n(r.Runs))
	if len(r.Broken) > 0 {
		words.Fprintf(w, "damaged snapshots: %s; intact: %s\n", numbers(r.Broken), numbers(without(r.Snapshots, r.Broken)))
	}
	if r.Journal > 0 {
		words.Fprintf(w, "the journal holds %s that the next run commits\n", cli.Plural(r.Journal, "record"))
	}
	if len(r.Leftovers) > 0 {
		words.Fprintf(w, "a crash left %s behind that the next run removes\n", cli.Plural(int64(len(r.Leftovers)), "name"))
	}
	for _, note := range r.Notes {
		words.Fprintln(w, note)
	}
}

// numbers lists the numbers of snapshots.
func numbers(of []int64) string {
	if len(of) == 0 {
		return "none"
	}
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(of), "[]"), " ", ", ")
}

// without returns the numbers that are not among others.
func without(all, others []int64) []int64 {
	return slices.DeleteFunc(slices.Clone(all), func(n int64) bool { return slices.Contains(others, n) })
}
