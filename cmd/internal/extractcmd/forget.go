package extractcmd

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/progress"
	"callhouse/internal/sink"
	"callhouse/internal/sink/erase"
	"callhouse/internal/words"
)

const forgetAbout = `forget erases calls for good: their rows in every snapshot that is kept, and what the journal holds of
them; with --number also the customers who have it, and with --customer-id others. A keyed hash of each id
stays behind, so that no later run brings the call or customer back.

It writes a receipt (JSON) to standard output. Keep it: forget --check RECEIPT proves at any later time that
what it says still holds. The receipt names no call, customer or number.

Queries that are running may fail; started again, they find the warehouse without the calls. Copies of the
warehouse elsewhere are not touched.`

// forgetFlags are the flags of forget.
type forgetFlags struct {
	ids, customers, numbers []string
	before                  string
	dryRun, yes             bool
	check                   string
}

func forgetCommand(s *settings, stderr io.Writer) *cobra.Command {
	var o forgetFlags
	cmd := &cobra.Command{
		Use: "forget", Short: "Erase calls for good", Long: forgetAbout,
		Example: `  extract forget --number +15550001111 --dry-run
  extract forget --call-id 0014e571-6a1e-4ac3-8f7e-3c1f6e7f2a10 > receipt.json
  extract forget --before 365d --yes > receipt.json
  extract forget --check receipt.json`,
		Args: cli.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
			if o.check != "" {
				return checkReceipt(cmd.Context(), s, o.check, cmd.InOrStdin(), cmd.OutOrStdout())
			}
			return forget(cmd.Context(), s, &o, cmd.InOrStdin(), cmd.OutOrStdout(), stderr)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringArrayVar(&o.ids, "call-id", nil, "a call to forget; may be given several times")
	f.StringArrayVar(&o.numbers, "number", nil, "forget the calls from and to this number, as the service spells it, and customers who have it; may be given several times")
	f.StringArrayVar(&o.customers, "customer-id", nil, "a customer to forget; may be given several times")
	f.StringVar(&o.before, "before", "", "forget the calls that started before: 2026-11-01, 2026-11-01T08:00:00Z, 365d")
	f.BoolVar(&o.dryRun, "dry-run", false, "say what would be erased, and change nothing")
	f.BoolVar(&o.yes, "yes", false, "do not ask")
	f.StringVar(&o.check, "check", "", "prove that a receipt holds; - reads it from standard input")
	return cmd
}

func (o *forgetFlags) selection(now time.Time) (sel erase.Selection, err error) {
	sel = erase.Selection{CallIDs: o.ids, Customers: o.customers, Numbers: o.numbers}
	for _, text := range slices.Concat(o.ids, o.customers, o.numbers) {
		if strings.TrimSpace(text) == "" {
			return sel, cli.Usage("", "--call-id, --customer-id and --number must not be empty")
		}
	}
	if sel.Before, err = cli.TimeOf("before", o.before, time.UTC, now); err != nil {
		return sel, err
	}
	if len(sel.CallIDs) == 0 && len(sel.Customers) == 0 && len(sel.Numbers) == 0 && sel.Before.IsZero() {
		return sel, cli.Usage("name them with --call-id, --customer-id, --number or --before", "which calls are to be forgotten?")
	}
	return sel, nil
}

func forget(ctx context.Context, s *settings, o *forgetFlags, stdin io.Reader, stdout, stderr io.Writer) error {
	sel, err := o.selection(time.Now())
	if err != nil {
		return err
	}
	if !o.yes && !o.dryRun && !cli.IsTerminal(stdin) {
		return cli.Usage("look with --dry-run, then run it with --yes", "forget asks before it erases, and there is no terminal to ask on")
	}
	return s.maintain(ctx, func(w *sink.Warehouse) error {
		if sel.Numbers, err = s.asMasked(w, sel.Numbers); err != nil {
			return err
		}
		plan, err := w.Forget(ctx, sel, true, nil)
		if err != nil {
			return err
		}
		printErased(stderr, plan, o.dryRun)
		if o.dryRun {
			return nil
		}
		if !o.yes && !agreed(stdin, stderr) {
			return cli.Fail(cli.ExitFailed, fmt.Errorf("nothing was erased"), "")
		}
		b := progress.NewBar(stderr, s.LogFormat, s.Quiet)
		receipt, err := w.Forget(ctx, sel, false, b.Show)
		b.Close()
		if err != nil {
			return err
		}
		return writeJSON(stdout, receipt)
	})
}

// printErased says what is erased, or would be.
func printErased(stderr io.Writer, plan *erase.Receipt, dry bool) {
	var last erase.Erased
	if n := len(plan.Erased); n > 0 {
		last = plan.Erased[n-1]
	}
	people := ""
	if last.Customers > 0 {
		people = ", " + cli.Plural(last.Customers, "customer")
	}
	verb := "erasing"
	if dry {
		verb = "would erase"
	}
	words.Fprintf(stderr, "%s %s with %s and %s%s, and what older snapshots hold of them (%s)\n", verb, cli.Plural(last.Calls, "call"),
		cli.Plural(last.Turns, "turn"), cli.Plural(last.Items, "analysis item"), people, cli.Plural(int64(len(plan.Erased)), "snapshot"))
	if missing := int64(len(plan.Calls)) - last.Calls - last.Customers; missing > 0 {
		words.Fprintf(stderr, "not in the current snapshot: %s; calls and customers with such ids are kept out from now on\n", cli.Plural(missing, "id"))
	}
}

// agreed asks whether to go on.
func agreed(stdin io.Reader, stderr io.Writer) bool {
	words.Fprintf(stderr, "this cannot be undone; go on? [y/N] ")
	answer, _ := bufio.NewReader(stdin).ReadString('\n') // what cannot be read is no yes
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}

func checkReceipt(ctx context.Context, s *settings, path string, stdin io.Reader, stdout io.Writer) error {
	if _, err := s.current(); err != nil {
		return err
	}
	in := stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return cli.Usage("--check takes the file that forget's output was written to", "read the receipt: %w", err)
		}
		defer f.Close()
		in = f
	}
	var r erase.Receipt
	if err := json.NewDecoder(in).Decode(&r); err != nil || r.RunID == "" {
		return cli.Usage("--check takes the file that forget's output was written to", "%s is no receipt of forget", path)
	}
	bad, err := erase.CheckReceipt(ctx, s.Warehouse, &r)
	if err != nil {
		return explain(err)
	}
	for _, p := range bad {
		words.Fprintln(stdout, p)
	}
	if len(bad) > 0 {
		return cli.Fail(cli.ExitFailed, fmt.Errorf("the receipt does not hold: %s", cli.Plural(int64(len(bad)), "problem")), "")
	}
	words.Fprintf(stdout, "the receipt of %s holds: none of what it names (%s) is in any snapshot or in the journal\n",
		r.ForgottenAt.Format(time.RFC3339), cli.Plural(int64(len(r.Calls)), "id"))
	return nil
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}
