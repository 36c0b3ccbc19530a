package extractcmd

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/layout"
	"callhouse/internal/recording"
	"callhouse/internal/resource"
	"callhouse/internal/sink"
	"callhouse/internal/words"
)

const forgetAbout = `forget permanently erases calls: their rows, their records in the journal, and their recordings. --number
also erases the customers who have the number, --customer-id any customer. A keyed hash of each id is kept, so that
later runs do not restore the call or customer.

--number matches all spellings of a number: +1 (201) 555-0100, 0012015550100, tel:+1-201-555-0100. A number without
a country code belongs to the country of --country.

The receipt (JSON, on stdout) says what was erased, and lists other calls and customers that mention the number or
id, e.g. in transcripts: forget does not change them. It contains none of the forgotten ids or numbers. If nothing is
stored under an id, or a recording cannot be deleted, the exit code is 3.

forget rewrites the current snapshot and removes all others: there is no rollback. Running queries may fail; run them
again. Copies of the warehouse elsewhere are not changed.`

// forgetFlags are the flags of forget.
type forgetFlags struct {
	ids, customers, numbers []string
	before                  string
	dryRun, yes             bool
}

func forgetCommand(s *settings, stderr io.Writer) *cobra.Command {
	var o forgetFlags
	cmd := &cobra.Command{
		Use: "forget", Short: "Permanently erase calls", Long: forgetAbout,
		Example: `  extract forget --number +15550001111 --dry-run
  extract forget --call-id 0014e571-6a1e-4ac3-8f7e-3c1f6e7f2a10 > receipt.json
  extract forget --number 010-1234-5678 --country KR > receipt.json
  extract forget --before 365d --yes > receipt.json`,
		Args: cli.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
			return forget(cmd.Context(), s, &o, cmd.InOrStdin(), cmd.OutOrStdout(), stderr)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringArrayVar(&o.ids, "call-id", nil, "forget this call; repeatable")
	f.StringArrayVar(&o.numbers, "number", nil, "forget calls from and to this number, in any spelling, and customers "+
		"who have it;\nrepeatable")
	f.StringArrayVar(&o.customers, "customer-id", nil, "forget this customer; repeatable")
	f.StringVar(&o.before, "before", "",
		"forget calls that started before: a date (2026-11-01, its begin in the\nzone tz), a time (2026-11-01T08:00:00Z) or an age (365d)")
	f.BoolVar(&o.dryRun, "dry-run", false, "print what would be erased, change nothing")
	f.BoolVar(&o.yes, "yes", false, "do not ask for confirmation")
	return cmd
}

func (o *forgetFlags) selection(s *settings, now time.Time) (sel sink.Selection, err error) {
	sel = sink.Selection{CallIDs: o.ids, Numbers: o.numbers, Country: s.Country}
	for _, text := range slices.Concat(o.ids, o.customers, o.numbers) {
		if strings.TrimSpace(text) == "" {
			return sel, cli.Usage("", "--call-id, --customer-id and --number must not be empty")
		}
	}
	for _, id := range o.customers {
		sel.Customers = append(sel.Customers, resource.Part(id))
	}
	if sel.Before, err = s.timeOf("before", o.before, now); err != nil {
		return sel, err
	}
	if len(sel.CallIDs) == 0 && len(sel.Customers) == 0 && len(sel.Numbers) == 0 && sel.Before.IsZero() {
		return sel, cli.Usage("select them with --call-id, --customer-id, --number or --before", "no calls selected")
	}
	return sel, nil
}

func forget(ctx context.Context, s *settings, o *forgetFlags, stdin io.Reader, stdout, stderr io.Writer) error {
	sel, err := o.selection(s, time.Now())
	if err != nil {
		return err
	}
	if !o.yes && !o.dryRun && !cli.IsTerminal(stdin) {
		return cli.Usage("check with --dry-run, then use --yes", "forget asks for confirmation, but stdin is not a terminal")
	}
	var receipt *sink.Receipt
	err = s.maintain(ctx, func(w *sink.Warehouse) error {
		if sel.Masked, err = s.asMasked(w, sel.Numbers); err != nil {
			return err
		}
		plan, err := w.Forget(ctx, sel, true, nil)
		if err != nil {
			return err
		}
		printErased(stderr, plan, o, sel.Before)
		if o.dryRun {
			return nil
		}
		if !o.yes && !confirmed(stdin, stderr) {
			return cli.Fail(cli.ExitFailed, fmt.Errorf("nothing was erased"), "")
		}
		if err := recording.Sweep(filepath.Join(s.Warehouse, layout.PartsName)); err != nil { // incomplete downloads
			return err
		}
		b := newScreen(stderr, s.Quiet)
		receipt, err = w.Forget(ctx, sel, false, b.show)
		b.close()
		return err
	})
	if err != nil || receipt == nil {
		return err
	}
	audio := deleted(receipt.Recordings, stderr)
	for _, to := range receipt.Lakes {
		words.Fprintf(stderr, "lake %s must be published again: %s\n", to, s.Again("query publish iceberg removes the forgotten calls"))
	}
	return cmp.Or(writeJSON(stdout, receipt), audio, unknown(receipt))
}

// unknown returns an error that names the unknown ids, if any.
func unknown(r *sink.Receipt) error {
	if len(r.Unknown) == 0 {
		return nil
	}
	return cli.Fail(cli.ExitIncomplete, fmt.Errorf("nothing was stored under %q", r.Unknown),
		"if it was mistyped, repeat the command with the right id")
}

// deleted reports which recordings were deleted and which were not.
func deleted(r *sink.DeletedRecordings, stderr io.Writer) error {
	if r.Files > 0 {
		words.Fprintf(stderr, "deleted %s (%s)\n", cli.Plural(r.Files, "recording"), humanize.Bytes(uint64(r.Bytes)))
	}
	if r.Left == 0 {
		return nil
	}
	why := ""
	if r.Why != nil {
		why = ": " + r.Why.Error()
	}
	return cli.Fail(cli.ExitIncomplete, fmt.Errorf("forgotten in the warehouse, but %s could not be deleted%s",
		cli.Plural(r.Left, "recording"), why), "the next run tries again; to try now, repeat the command")
}

// printErased prints what is or would be erased.
func printErased(stderr io.Writer, plan *sink.Receipt, o *forgetFlags, before time.Time) {
	last := &plan.Erased
	verb, also := "erasing", "removing"
	if o.dryRun {
		verb, also = "would erase", "would remove"
	}
	more := ""
	if last.Recordings > 0 {
		more = ", " + cli.Plural(last.Recordings, "recording")
	}
	if last.Customers > 0 {
		more += ", " + cli.Plural(last.Customers, "customer")
	}
	words.Fprintf(stderr, "%s %s with %s and %s%s\n", verb, cli.Plural(last.Calls, "call"),
		cli.Plural(last.Turns, "turn"), cli.Plural(last.Items, "analysis item"), more)
	if !before.IsZero() {
		const instant = "2006-01-02T15:04:05.999Z07:00"
		words.Fprintf(stderr, "--before is %s in %s, %s\n", before.Format(instant), before.Location(), before.UTC().Format(instant))
	}
	if plan.Removed > 0 {
		words.Fprintf(stderr, "%s all older snapshots (%s): until the next run, extract rollback has none to return to\n", also,
			humanize.Comma(plan.Removed))
	}
	for i, found := range plan.Numbers {
		if found.Calls == 0 && found.Customers == 0 {
			words.Fprintf(stderr, "%s: no calls from or to this number, and no customers with it; "+
				"to be sure, give it with + and its country code, or set --country\n", o.numbers[i])
		}
	}
	if err := unknown(plan); err != nil && o.dryRun {
		words.Fprintln(stderr, err)
	}
	if plan.Mentioned > 0 {
		by := map[string]int64{}
		for _, m := range plan.Mentions {
			by[m.Table+"."+m.Column]++
		}
		words.Fprintf(stderr, "the ids and numbers also occur in %s of other rows, which are kept; the receipt lists them: %s\n",
			cli.Plural(plan.Mentioned, "text"), cli.Counts(by))
	}
}

// confirmed asks for confirmation.
func confirmed(stdin io.Reader, stderr io.Writer) bool {
	words.Fprintf(stderr, "This cannot be undone. Continue? [y/N] ")
	answer, _ := bufio.NewReader(stdin).ReadString('\n') // a terminal gives one line; an unreadable answer means no
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}
