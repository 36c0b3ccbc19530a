package querycmd

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/text/currency"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/cmd/internal/querycmd/answer"
	"callhouse/internal/analytics/database"
	"callhouse/internal/analytics/question"
	"callhouse/internal/words"
)

// commonFlags adds --output and the flags of the settings, and reads the file before any command.
func (a *app) commonFlags(root *cobra.Command) {
	root.PersistentFlags().StringVarP(&a.Output, "output", "o", "", "write to `FILE` instead of stdout, completely or not at all")
	root.PersistentFlags().StringVar(&a.Decimal, "decimal", ".", "decimal `SIGN` of csv-excel: . or , (then ; separates the fields)")
	a.AddFlags(root, config.Query)
	root.PersistentFlags().Lookup("format").Usage += "; one of " + strings.Join(answer.FormatNames(), ", ")
	cli.CompleteFrom(root, "format", answer.FormatNames)
	cli.CompleteFrom(root, "tz", func() []string {
		zones, _ := database.Zones(context.Background())
		return zones
	})
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return a.configure(cmd) }
}

// configure sets the settings without a flag from the environment and the file.
func (a *app) configure(cmd *cobra.Command) error {
	for c := cmd; c != nil; c = c.Parent() {
		if c.Hidden || c.Name() == "completion" || strings.HasPrefix(c.Name(), "__complete") {
			return nil
		}
	}
	if a.freeSignals != nil { // for a command in the shell, the shell has printed this
		for _, note := range a.Env.UnknownVariables() {
			words.Fprintln(a.Stderr, "note:", note)
		}
	}
	if a.Output == "-" { // as in other programs, and in sql --file
		a.Output = ""
	}
	if err := a.Read(cmd.Flags(), config.Query|config.Publish|config.Alert); err != nil {
		return err
	}
	if cmd != cmd.Root() && cmd.Name() != "list" {
		if err := a.Whose(); err != nil {
			return err
		}
	}
	check := func() error { return a.CheckFile(os.Geteuid()) }
	if cmd.Name() == "alert" || cmd.Name() == "publish" { // which write into the warehouse
		check = func() error { return a.BecomeOwner(a.Stderr) }
	}
	if err := check(); err != nil {
		return err
	}
	if a.Currency != "" {
		unit, err := currency.ParseISO(a.Currency)
		if err != nil {
			return cli.Usage("use an ISO 4217 code, e.g. KRW or USD", "unknown currency %q (%s)", a.Currency, a.Settings.From("currency"))
		}
		a.Currency = unit.String()
	}
	a.Goals = nil
	for _, text := range strings.FieldsFunc(a.Success, func(r rune) bool { return r == ',' }) {
		goal, err := question.ParseGoal(text)
		if err != nil {
			return fmt.Errorf("success (%s): %w", a.Settings.From("success"), err)
		}
		a.Goals = append(a.Goals, goal)
	}
	// The extension of --output takes precedence over the file's format.
	if f := cmd.Flags().Lookup("format"); f != nil && !f.Changed {
		a.Usual, a.Format = a.Format, ""
	}
	return nil
}
