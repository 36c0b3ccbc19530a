package extractcmd

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/crawler"
	"callhouse/internal/layout"
	"callhouse/internal/sink"
	"callhouse/internal/words"
)

const verifyAbout = `verify reads the whole warehouse and checks its consistency: the checksum, columns and rows of each
file; and that each call is stored once, in its place, with all its turns and items. Recordings must
be in their archive with the recorded length; with --deep, their content is compared with its
checksum, too. It can run concurrently with a run, and writes only its result, for status.

--deep also compares the warehouse with the service. It lists all calls again (or those from --since
on), 100 per request, within the budget, and compares their ids and statuses. Transcripts, analyses,
costs and other resources are not compared. No run can start meanwhile, and nothing is stored.

Exit codes: 0 intact and consistent with the service; 1 damaged, a recording is missing or changed, a
call listed earlier is missing, with one line per problem; 3 settled calls have another status at the
service and a later run will fetch it, or not everything could be compared.`

// verification is the result of verify: the findings in the warehouse and, with --deep, at the
// service.
type verification struct {
	*sink.VerifyReport
	Recordings *checkedRecordings `json:"recordings,omitempty"`
	Service    *deepFindings      `json:"service,omitempty"`
}

func verifyCommand(s *settings, stderr io.Writer) *cobra.Command {
	var deep bool
	var format string
	cmd := &cobra.Command{
		Use: "verify", Short: "Check the integrity of the warehouse", Long: verifyAbout,
		Example: `  extract verify
  extract verify --format json
  extract verify --deep --since 30d
  extract verify --deep --max-duration 8h`,
		Args: cli.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
			if !deep && (s.Since != "" || s.MaxDuration != 0) {
				return cli.Usage("without --deep, verify sends no requests", "--since and --max-duration require --deep")
			}
			return runVerify(cmd.Context(), s, deep, format, cmd.OutOrStdout(), stderr)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	cli.Choice(cmd, &format, "format", "", "text", "json")
	f.BoolVar(&deep, "deep", false, "also compare the ids and statuses of all calls with the service, and the content of recordings\n"+
		"with its checksum")
	f.StringVar(&s.Since, "since", "", "with --deep: skip calls that started before: 2026-11-01 (its begin in the\nzone tz), 30d")
	cli.SpanVar(f, &s.MaxDuration, "max-duration", 0, "with --deep: stop requests after this time, e.g. 1h")
	return cmd
}

func runVerify(ctx context.Context, s *settings, deep bool, format string, stdout, stderr io.Writer) error {
	var cfg crawler.Config
	var err error
	if deep {
		if cfg, err = s.crawlConfig(s.Now()); err != nil {
			return err // before the slow part
		}
	}
	opts := sink.VerifyOptions{Root: s.Warehouse}
	b := newScreen(stderr, s.Quiet)
	opts.Progress = b.show
	r, err := sink.Verify(ctx, opts)
	b.close()
	if errors.Is(err, layout.ErrNoWarehouse) {
		return s.noWarehouse()
	}
	if err != nil {
		return explain(err)
	}
	v := verification{VerifyReport: r}
	if r.Whole() {
		if v.Recordings, err = checkRecordings(ctx, s.Warehouse, deep); err != nil {
			v.Recordings, err = nil, explain(fmt.Errorf("verify the recordings: %w", err))
		}
	}
	var lost int64
	if v.Recordings != nil {
		lost = v.Recordings.Count
	}
	if err := sink.SaveVerdict(s.Warehouse, r, lost, s.Now()); err != nil {
		words.Fprintf(stderr, "%v\n", err)
	}
	if err != nil {
		return err
	}
	// No requests are spent on a damaged warehouse.
	if deep && r.Whole() {
		if v.Service, err = compareDeep(ctx, s, cfg, stderr); err != nil {
			return err
		}
	}
	if format == "json" {
		err = writeJSON(stdout, v)
	} else {
		err = s.print(stdout, func(out io.Writer) {
			writeVerified(r, out)
			writeRecordings(v.Recordings, out)
			v.Service.write(out)
		})
	}
	if err != nil && r.Whole() { // otherwise the error about the damage is more important
		return err
	}
	if !r.Whole() {
		return cli.Fail(cli.ExitFailed, fmt.Errorf("the warehouse is damaged: %s found", cli.Plural(r.Count, "problem")),
			"extract repair replaces damaged files and fetches their calls again")
	}
	if c := v.Recordings; c != nil && c.Count > 0 {
		return cli.Fail(cli.ExitFailed, fmt.Errorf("the warehouse is intact, but the archive of recordings is damaged: %s missing or changed",
			cli.Plural(c.Count, "recording")), "extract repair fetches those again that the service still has")
	}
	return v.Service.err()
}

func writeRecordings(c *checkedRecordings, w io.Writer) {
	if c == nil {
		return
	}
	writeProblems(w, c.Problems, c.Count)
	how := "length"
	if c.Hashed {
		how = "content"
	}
	words.Fprintf(w, "recordings in %s, compared by %s: %s (%s), %s missing or changed\n", c.Archive, how, humanize.Comma(c.Files),
		humanize.IBytes(uint64(c.Bytes)), humanize.Comma(c.Count))
}

// writeProblems prints the first problems, and the number of the others.
func writeProblems(w io.Writer, first []sink.Problem, count int64) {
	for _, p := range first {
		words.Fprintln(w, p)
	}
	if more := count - int64(len(first)); more > 0 {
		words.Fprintf(w, "and %s more\n", humanize.Comma(more))
	}
}

func writeVerified(r *sink.VerifyReport, w io.Writer) {
	writeProblems(w, r.Problems, r.Count)
	n := cli.Plural
	verdict := "OK"
	if !r.Whole() {
		verdict = "damaged"
	}
	words.Fprintf(w, "%s: %s (%s): %s, %s, %s, %s\n", verdict, n(int64(r.Files), "file"), humanize.IBytes(uint64(r.Bytes)),
		n(r.Calls, "call"), n(r.Turns, "turn"), n(r.Items, "item"), n(r.Runs, "run"))
	if r.Journal > 0 {
		words.Fprintf(w, "the journal holds %s that the next run commits\n", cli.Plural(r.Journal, "record"))
	}
	for _, note := range r.Notes {
		words.Fprintln(w, note)
	}
}
