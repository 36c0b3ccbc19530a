package extractcmd

import (
	"cmp"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/config"
	"callhouse/internal/api"
	"callhouse/internal/words"
)

const configAbout = `config shows the effective settings and the source of each: a flag, an environment variable, the
configuration file, a profile of it, or the default. For the API key it shows only the source.

Flags override the selected profile, which overrides the environment, which overrides the top of the file.`

func configCommand(s *settings) *cobra.Command {
	var example bool
	cmd := &cobra.Command{
		Use: "config", Short: "Show the effective settings and their sources", Long: configAbout,
		Example: `  extract config
  extract config --profile acme
  extract config --example > callhouse.toml`,
		Args: cli.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
			return printConfig(cmd, s)
		},
	}
	// The example must work even if the file is broken.
	cmd.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if example {
			cmd.RunE = func(cmd *cobra.Command, _ []string) error {
				_, err := io.WriteString(cmd.OutOrStdout(), config.Example())
				return err
			}
			return nil
		}
		return s.configure(cmd)
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().BoolVar(&example, "example", false, "print only a commented file with all keys")
	return cmd
}

// printConfig prints the settings. It does not read the API key.
func printConfig(cmd *cobra.Command, s *settings) error {
	_, err := cli.Zone(s.TZ)
	if err := cmp.Or(s.checkBudget(), err); err != nil {
		return err
	}
	return s.print(cmd.OutOrStdout(), s.writeConfig)
}

// writeConfig prints the settings and their sources.
func (s *settings) writeConfig(out io.Writer) {
	file, notes := "no configuration file", s.Env.UnknownVariables()
	if s.File != nil {
		file = s.File.Path
		if s.Profile == "" && len(s.File.Profiles) > 0 {
			notes = append(notes, "the file has profiles, but none is selected: use --profile NAME")
		}
	}
	if s.Profile != "" {
		file = "profile " + s.Profile + " of " + file
	}
	words.Fprintln(out, file)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	key, from := "none", "nowhere"
	p, err := s.KeyPlace()
	if p.Source() != "" {
		key, from = words.Masked, p.Source()
	}
	words.Fprintf(w, "  api_key\t%s\t%s\n", key, from)
	for i := range s.Settings {
		t := &s.Settings[i]
		value := cmp.Or(t.Value, "-")
		if t.Key.Name == "base_url" && api.MayHoldSecrets(t.Value) {
			value = words.Masked
		}
		words.Fprintf(w, "  %s\t%s\t%s\n", t.Key.Name, value, t.From)
	}
	_ = w.Flush() // into memory
	if err = cmp.Or(err, s.OneService()); err != nil {
		notes = append(notes, err.Error())
	}
	for _, note := range notes {
		words.Fprintln(out, "note: "+note)
	}
}
