package querycmd

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/text/currency"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/internal/analytics"
	"callhouse/internal/analytics/format"
)

// configFlags adds the flags that say which file holds settings, and has it read
// before any command.
func (a *app) configFlags(root *cobra.Command) {
	f := root.PersistentFlags()
	f.StringVar(&a.configFile, "config", "", "configuration `FILE`, as extract's; "+config.EnvFile+" names it too")
	f.StringVar(&a.profile, "profile", "", "`NAME` of one of the file's profiles; "+config.EnvProfile+" names it too")
	config.Bind(f, config.Query)
	cli.CompleteFrom(root, "profile", func() []string { return config.ProfileNames(a.configFile) })
	cli.CompleteFrom(root, "format", formatNames)
	cli.CompleteFrom(root, "tz", func() []string {
		zones, _ := analytics.Zones(context.Background())
		return zones
	})
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return a.configure(cmd) }
}

// configure takes from the environment and the file what no flag says.
func (a *app) configure(cmd *cobra.Command) error {
	for c := cmd; c != nil; c = c.Parent() {
		if c.Hidden || c.Name() == "completion" || strings.HasPrefix(c.Name(), "__complete") {
			return nil
		}
	}
	file, err := config.Open(a.configFile)
	if err != nil {
		return err
	}
	var named []string
	if a.profile != "" {
		named = []string{a.profile}
	}
	if named, err = config.Choose(file, named, false); err != nil {
		return err
	}
	profile := ""
	switch {
	case len(named) > 1:
		return cli.Usage("name one with --profile", "query reads one warehouse, not those of %s", strings.Join(named, ", "))
	case len(named) == 1:
		profile = named[0]
	}
	told, err := config.Apply(cmd.Flags(), config.Query, file, profile)
	if err != nil {
		return err
	}
	if cmd != cmd.Root() && cmd.Name() != "list" && profile == "" && file != nil && len(file.Profiles) > 0 && told.From("warehouse").Source == config.FromDefault {
		return cli.Usage("name one with --profile", "%s has profiles, and none is named: %s", file.Path, strings.Join(file.Profiles, ", "))
	}
	if a.currency != "" {
		unit, err := currency.ParseISO(a.currency)
		if err != nil {
			return cli.Usage("write its ISO 4217 code, as KRW or USD", "there is no currency %q (%s)", a.currency, told.From("currency"))
		}
		a.currency = unit.String()
	}
	// The ending of --output says more than the file.
	if f := cmd.Flags().Lookup("format"); f != nil && !f.Changed {
		a.usual, a.format = a.format, ""
	}
	if a.excel {
		if a.format != "" && a.format != string(format.CSV) && a.format != string(format.CSVExcel) {
			return cli.Usage("leave out one of them", "--csv-excel and --format %s are given", a.format)
		}
		a.format = string(format.CSVExcel)
	}
	return nil
}
